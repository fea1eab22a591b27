"""Integers bit by bit. What signs they have does not matter: they are seen by their size."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.kernel import (
    MAX_RANK,
    Operand,
    Recorder,
    WithWorkspace,
    between_bytes,
)
from headrace_cambricon.kernels.match import Takes

BY_SIZE = {1: "int8", 2: "int16", 4: "int32", 8: "int32"}
PAIR = 8  # bytes of elements that are seen as two


class Whole(WithWorkspace):
    """An op of integers seen by their size: 8 bytes are two of 4, on an axis of its own."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        size = call.input(0).dtype.itemsize
        self._dtype = BY_SIZE[size]
        self._halves = (2,) if size == PAIR else ()
        self._shape = (*call.outputs[0].shape, *self._halves)

    def _shape_of(self, index: int) -> tuple[int, ...]:
        own = (*self.call.input(index).shape, *self._halves)
        return (1,) * (len(self._shape) - len(own)) + own


class BitCompute(Whole):
    """``y = a op b`` or ``y = op a``; operands that broadcast are spread first."""

    def __init__(self, call: OpCall, op: str) -> None:
        super().__init__(call)
        self._op = op

    def between_bytes(self) -> int:
        narrow = sum(self._shape_of(index) != self._shape for index in range(len(self.call.inputs)))
        return narrow * between_bytes(self._shape, self._dtype)

    def record(self, r: Recorder) -> None:
        operands = [self._spread(r, index) for index in range(len(self.call.inputs))]
        a, b = operands[0], operands[1] if len(operands) > 1 else None
        vendor.bit_compute(r, self._op, a, b, r.tensor(r.outputs[0], self._shape, self._dtype))

    def _spread(self, r: Recorder, index: int) -> Operand:
        shape = self._shape_of(index)
        x = r.tensor(r.input(index), shape, self._dtype)
        if shape == self._shape:
            return x
        wide = r.between(self._shape, self._dtype)
        r.add("cnnlExpand", *x.both, *wide.both)
        return wide


class EqualBits(Whole):
    """True where all bits of two integers are the same, whatever they are meant as."""

    def between_bytes(self) -> int:
        return between_bytes(self._shape, "bool") if self._halves else 0

    def record(self, r: Recorder) -> None:
        a, b = (r.tensor(r.input(n), self._shape_of(n), self._dtype) for n in (0, 1))
        if not self._halves:
            vendor.logic(r, "EQ", a, b, r.tensor(r.outputs[0], self._shape, "bool"))
            return
        same = r.between(self._shape, "bool")
        vendor.logic(r, "EQ", a, b, same)
        kept = (*self._shape[:-1], 1)
        y = r.tensor(r.outputs[0], kept, "bool")
        vendor.reduce(r, "AND", [len(kept) - 1], same, y)


def _has_room(call: OpCall) -> bool:
    return call.outputs[0].rank < MAX_RANK or call.input(0).dtype.itemsize < PAIR


def bits_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for bitwise ops of every integer dtype."""
    for op, name in (
        ("bitwise_and", "CNNL_CYCLE_BAND_OP"),
        ("bitwise_or", "CNNL_CYCLE_BOR_OP"),
        ("bitwise_xor", "CNNL_CYCLE_BXOR_OP"),
        ("bitwise_not", "CNNL_BNOT_OP"),
    ):
        match = Takes((), (*vendor.BITS, "cnnlExpand"), (name,), _has_room, "of few axes")
        yield KernelEntry(tag, op, Made(BitCompute, (name,)), match)
    match = Takes(
        ("uint16", "uint32", "int64", "uint64"),
        (*vendor.LOGIC, *vendor.REDUCE),
        ("CNNL_LOGIC_OP_EQ",),
        _has_room,
        "of few axes",
    )
    yield KernelEntry(tag, "equal", EqualBits, match)
