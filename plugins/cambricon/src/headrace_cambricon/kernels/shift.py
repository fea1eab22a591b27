"""Bits moved by places: products with powers of two, and quotients that are rounded down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.indices import known, number
from headrace_cambricon.kernels.kernel import Operand, Recorder, WithWorkspace, between_bytes
from headrace_cambricon.kernels.match import Takes


class Shift(WithWorkspace):
    """An int32 whose bits move; by a count outside ``0..places-1``, the fill alone is left."""

    def __init__(self, call: OpCall, places: int) -> None:
        super().__init__(call)
        self._places = places

    def between_bytes(self) -> int:
        x, count, y = (spec.shape for spec in (*map(self.call.input, (0, 1)), self.call.outputs[0]))
        of_count = 3 * between_bytes(count, "bool") + 2 * between_bytes(count, "int32")
        of_x = between_bytes(x, "bool") + between_bytes(x, "int32")
        return of_count + of_x + between_bytes(y, "int32")

    def record(self, r: Recorder) -> None:
        x, count, y = r.x(0), r.x(1), r.y()
        below, beyond, outside = (r.between(count.shape, "bool") for _ in range(3))
        vendor.logic(r, "LT", count, number(r, 0), below)
        vendor.logic(r, "GE", count, number(r, self._places), beyond)
        vendor.logic(r, "OR", below, beyond, outside)
        inside = r.between(count.shape, "int32")
        vendor.select(r, outside, number(r, 0), count, inside)
        moved = r.between(y.shape, "int32")
        self.move(r, x, self._power(r, inside), moved)
        vendor.select(r, outside, self.fill(r, x), moved, y)

    def _power(self, r: Recorder, count: Operand) -> Operand:
        powers = known(r, (1 << np.arange(self._places, dtype=np.int64)).astype(np.int32))
        chosen, flat = r.between(count.shape, "int32"), (math.prod(count.shape),)
        index, y = (r.tensor(t.address, flat, "int32") for t in (count, chosen))
        vendor.gather(r, 0, powers, index, y)
        return chosen

    def move(self, r: Recorder, x: Operand, power: Operand, y: Operand) -> None:
        """By a count that is inside."""
        raise NotImplementedError

    def fill(self, r: Recorder, x: Operand) -> Operand:
        """What comes in at the other end."""
        raise NotImplementedError


class LeftShift(Shift):
    """Zeros come in; the last power of two is the sign."""

    def move(self, r: Recorder, x: Operand, power: Operand, y: Operand) -> None:
        vendor.op_tensor(r, "CNNL_OP_TENSOR_MUL", x, power, y)

    def fill(self, r: Recorder, x: Operand) -> Operand:
        return number(r, 0)


class RightShift(Shift):
    """The sign comes in."""

    def move(self, r: Recorder, x: Operand, power: Operand, y: Operand) -> None:
        vendor.floor_divide(r, x, power, y)

    def fill(self, r: Recorder, x: Operand) -> Operand:
        negative, sign = r.between(x.shape, "bool"), r.between(x.shape, "int32")
        vendor.logic(r, "LT", x, number(r, 0), negative)
        vendor.select(r, negative, number(r, -1), number(r, 0), sign)
        return sign


def shift_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for both directions."""
    functions = (*vendor.LOGIC, *vendor.SELECT, *vendor.GATHER)
    enums = tuple(f"CNNL_LOGIC_OP_{op}" for op in ("LT", "GE", "OR"))
    for way, kind, places, needs, more in (
        ("left", LeftShift, 32, vendor.OP_TENSOR, ("CNNL_OP_TENSOR_MUL",)),
        ("right", RightShift, 31, vendor.FLOOR_DIVIDE, ()),
    ):
        match = Takes(("int32",), (*functions, *needs), (*enums, *more), _moves(way), way)
        yield KernelEntry(tag, "bit_shift", Made(kind, (places,)), match)


def _moves(way: str) -> Callable[[OpCall], bool]:
    return lambda call: call.str_attr("direction") == way
