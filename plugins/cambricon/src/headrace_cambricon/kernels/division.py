"""Quotients and remainders of int32.

The library rounds quotients down. What it makes of a division by zero is not documented, so it is
never asked to divide by zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.indices import number
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import Takes


class IntegerDivision(WithWorkspace):
    """What both ops share: a divisor that is not zero, and where rounding down is too low."""

    def between_bytes(self) -> int:
        a, b, y = (spec.shape for spec in (*map(self.call.input, (0, 1)), self.call.outputs[0]))
        of_b = between_bytes(b, "bool") + between_bytes(b, "int32")
        where = between_bytes(a, "bool") + 4 * between_bytes(y, "bool")
        return of_b + where + 4 * between_bytes(y, "int32")

    def record(self, r: Recorder) -> None:
        a, b, shape = r.x(0), r.x(1), r.y().shape
        by_zero, divisor = r.between(b.shape, "bool"), r.between(b.shape, "int32")
        vendor.logic(r, "EQ", b, number(r, 0), by_zero)
        vendor.select(r, by_zero, number(r, 1), b, divisor)
        result = self.divide(r, a, divisor, shape)
        vendor.select(r, by_zero, number(r, 0), result, r.y())

    def divide(self, r: Recorder, a: Operand, b: Operand, shape: tuple[int, ...]) -> Operand:
        """The result by a divisor that is not zero."""
        raise NotImplementedError

    def remainder(self, r: Recorder, a: Operand, b: Operand, shape: tuple[int, ...]) -> Operand:
        """Of the quotient that is rounded down."""
        rest = r.between(shape, "int32")
        vendor.binary(r, "FloorMod", a, b, rest)
        return rest

    def too_low(self, r: Recorder, a: Operand, rest: Operand) -> Operand:
        """Where the quotient that is rounded down is not the one that is cut towards zero."""
        shape = rest.shape
        below = r.between(a.shape, "bool")
        rest_below, differ, some, both = (r.between(shape, "bool") for _ in range(4))
        vendor.logic(r, "LT", a, number(r, 0), below)
        vendor.logic(r, "LT", rest, number(r, 0), rest_below)
        vendor.logic(r, "XOR", below, rest_below, differ)
        vendor.logic(r, "NE", rest, number(r, 0), some)
        vendor.logic(r, "AND", differ, some, both)
        return both


class IntegerQuotient(IntegerDivision):
    """``a / b``, cut towards zero; 0 by zero."""

    def divide(self, r: Recorder, a: Operand, b: Operand, shape: tuple[int, ...]) -> Operand:
        more = r.between(shape, "int32")
        vendor.cast(r, self.too_low(r, a, self.remainder(r, a, b, shape)), more)
        down, cut = r.between(shape, "int32"), r.between(shape, "int32")
        vendor.floor_divide(r, a, b, down)
        vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", down, more, cut)
        return cut


class IntegerRemainder(IntegerDivision):
    """The remainder, with the sign of ``b`` or, with ``fmod``, that of ``a``; 0 by zero."""

    def divide(self, r: Recorder, a: Operand, b: Operand, shape: tuple[int, ...]) -> Operand:
        rest = self.remainder(r, a, b, shape)
        if not self.call.flag_attr("fmod"):
            return rest
        less, chosen = r.between(shape, "int32"), r.between(shape, "int32")
        vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", rest, b, less, -1)
        vendor.select(r, self.too_low(r, a, rest), less, rest, chosen)
        return chosen


def division_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for ``divide`` and ``mod`` of integers."""
    functions = (*vendor.OP_TENSOR, *vendor.LOGIC, *vendor.SELECT, "cnnlFloorMod")
    enums = tuple(f"CNNL_LOGIC_OP_{op}" for op in ("EQ", "NE", "LT", "XOR", "AND"))
    quotient = (*functions, *vendor.FLOOR_DIVIDE, "cnnlCastDataType")
    match = Takes(("int32",), quotient, (*enums, "CNNL_CAST_BOOL_TO_INT32"))
    yield KernelEntry(tag, "divide", IntegerQuotient, match)
    yield KernelEntry(tag, "mod", IntegerRemainder, Takes(("int32",), functions, enums))
