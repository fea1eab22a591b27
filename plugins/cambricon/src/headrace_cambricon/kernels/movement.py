"""Ops that put elements elsewhere and change none.

The library moves elements of 1, 2, 4 and 8 bytes whatever they mean, so tensors are described by
the size of their elements: every dtype is moved, and every NaN keeps its bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from headrace.device import KernelEntry, OpCall
from headrace.dtypes import DType
from headrace.ops.axes import pad_amounts, permutation, slice_ranges
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import (
    MAX_RANK,
    Operand,
    Recorder,
    VendorKernel,
    WithWorkspace,
    between_bytes,
)
from headrace_cambricon.kernels.match import Takes

Places = NDArray[np.int32]

_BY_SIZE = {1: "uint8", 2: "float16", 4: "float32", 8: "int64"}


def bits(dtype: DType) -> str:
    """A dtype of the library with elements of the same size."""
    return _BY_SIZE[dtype.itemsize]


def moved(r: Recorder, index: int, shape: Sequence[int] | None = None) -> Operand:
    """An input as bits, in its own shape or another one of as many elements."""
    spec = r.call.input(index)
    return r.tensor(r.input(index), spec.shape if shape is None else shape, bits(spec.dtype))


def made(r: Recorder, shape: Sequence[int] | None = None) -> Operand:
    """The output as bits."""
    spec = r.call.outputs[0]
    return r.tensor(r.outputs[0], spec.shape if shape is None else shape, bits(spec.dtype))


class Transpose(WithWorkspace):
    """Axes in another order; one that moves nothing is a copy."""

    def record(self, r: Recorder) -> None:
        axes = permutation(self.call)
        if len(axes) < 2:
            r.copy(r.outputs[0], r.input(0), self.call.outputs[0].nbytes)
        else:
            vendor.transpose(r, axes, moved(r, 0), made(r))


class Concat(WithWorkspace):
    """Tensors one after another; empty ones are left out."""

    def record(self, r: Recorder) -> None:
        axis = self.call.int_attr("axis") % self.call.outputs[0].rank
        full = [n for n in range(len(self.call.inputs)) if self.call.input(n).elements]
        vendor.concat(r, axis, [moved(r, n) for n in full], made(r))


class Expand(VendorKernel):
    """A tensor repeated along axes of 1, and along new axes before its own."""

    def record(self, r: Recorder) -> None:
        x, y = self.call.input(0), self.call.outputs[0]
        shape = (1,) * (y.rank - x.rank) + x.shape
        source, target = moved(r, 0, shape), made(r)
        r.add("cnnlExpand", *source.both, *target.both)


class Tile(VendorKernel):
    """A tensor repeated as a whole along its axes."""

    def record(self, r: Recorder) -> None:
        x, repeats = self.call.input(0).shape, self.call.ints_attr("repeats")
        before = [n for dim, count in zip(x, repeats, strict=True) for n in _split(dim, count, 1)]
        after = [
            n for dim, count in zip(x, repeats, strict=True) for n in _split(dim, count, count)
        ]
        source, target = moved(r, 0, before), made(r, after)
        r.add("cnnlExpand", *source.both, *target.both)


def _split(dim: int, count: int, shown: int) -> tuple[int, ...]:
    """An axis that is repeated as two: how often, and what."""
    return (dim,) if count == 1 else (shown, dim)


def _tiles_few_axes(call: OpCall) -> bool:
    return call.input(0).rank + sum(n != 1 for n in call.ints_attr("repeats")) <= MAX_RANK


class Slice(VendorKernel):
    """Ranges of a tensor along its axes, also backwards."""

    def record(self, r: Recorder) -> None:
        begin, end, step = [], [], []
        for dim, kept in zip(self.call.input(0).shape, slice_ranges(self.call), strict=True):
            begin.append(kept.start)
            step.append(kept.step)
            # One that comes down to the first element has no end that counts from the beginning.
            end.append(kept.stop if kept.stop >= 0 else -dim - 1)
        vendor.strided_slice(r, begin, end, step, moved(r, 0), made(r))


class Pad(WithWorkspace):
    """A constant around a tensor, or, where an amount is negative, less of it.

    The constant is a tensor too: it is spread over the result, and x is copied into it.
    """

    def between_bytes(self) -> int:
        return between_bytes((1,), bits(self.call.input(0).dtype))

    def record(self, r: Recorder) -> None:
        x, y = self.call.input(0), self.call.outputs[0]
        self._spread(r)
        from_strides, to_strides = _strides(x.shape), _strides(y.shape)
        source, target, kept = 0, 0, []
        for axis, (before, after) in enumerate(pad_amounts(self.call)):
            source += max(-before, 0) * from_strides[axis]
            target += max(before, 0) * to_strides[axis]
            kept.append(x.shape[axis] + min(before, 0) + min(after, 0))
        if math.prod(kept) > 0 and min(kept, default=1) > 0:
            size, dtype = x.dtype.itemsize, bits(x.dtype)
            vendor.strided_copy(
                r,
                r.tensor(r.input(0) + source * size, kept, dtype, strides=from_strides),
                r.tensor(r.outputs[0] + target * size, kept, dtype, strides=to_strides),
            )

    def _spread(self, r: Recorder) -> None:
        dtype, shape = bits(self.call.input(0).dtype), self.call.outputs[0].shape
        one = (1,) * max(len(shape), 1)
        if self.call.has_input(1):
            source = r.tensor(r.input(1), one, dtype)
        else:
            source = r.between(one, dtype)
            r.fill(source.address, 0, self.call.input(0).dtype.itemsize)
        r.add("cnnlExpand", *source.both, *made(r).both)


class PadByIndex(WithWorkspace):
    """A tensor continued beyond its borders, axis by axis: elements gathered at known places."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._steps: list[tuple[tuple[int, int, int], Places]] = []
        shape = list(call.input(0).shape)
        for axis, amounts in enumerate(pad_amounts(call)):
            if amounts != (0, 0):
                places = padded_places(shape[axis], amounts, call.str_attr("mode"))
                self._steps.append((collapsed(shape, axis), places))
                shape[axis] = len(places)

    def between_bytes(self) -> int:
        dtype, total = bits(self.call.input(0).dtype), 0
        for index, ((before, _, after), places) in enumerate(self._steps):
            made = (before, len(places), after)
            total += between_bytes(made, "int32")
            total += between_bytes(made, dtype) if index + 1 < len(self._steps) else 0
        return total

    def record(self, r: Recorder) -> None:
        dtype, address = bits(self.call.input(0).dtype), r.input(0)
        if not self._steps:
            r.copy(r.outputs[0], address, self.call.outputs[0].nbytes)
        for index, (shape, places) in enumerate(self._steps):
            before, _, after = shape
            made = (before, len(places), after)
            known = r.context.constant(places.tobytes())
            flat, spread = r.tensor(known, (1, len(places), 1), "int32"), r.between(made, "int32")
            r.add("cnnlExpand", *flat.both, *spread.both)
            is_last = index + 1 == len(self._steps)
            y = r.tensor(r.outputs[0], made, dtype) if is_last else r.between(made, dtype)
            vendor.gather(r, 1, r.tensor(address, shape, dtype), spread, y)
            address = y.address


def padded_places(length: int, amounts: tuple[int, int], mode: str) -> Places:
    """Where each element of a padded axis comes from."""
    before, after = amounts
    kept = np.arange(max(-before, 0), length - max(-after, 0), dtype=np.int32)
    around = (max(before, 0), max(after, 0))
    if mode == "reflect" and len(kept) == 1:
        mode = "edge"  # nothing beside it to mirror at
    return np.pad(kept, around, mode)  # type: ignore[call-overload, no-any-return]


def collapsed(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """How many elements lie before an axis, along it, and behind it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _is_continued(call: OpCall) -> bool:
    return not _is_constant(call)


def _is_constant(call: OpCall) -> bool:
    return call.str_attr("mode") == "constant"


class Where(WithWorkspace):
    """``a`` where the condition holds, else ``b``; with broadcasting."""

    def record(self, r: Recorder) -> None:
        vendor.select(r, r.x(0), moved(r, 1), moved(r, 2), made(r))


def movement_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for ops that move elements of any dtype."""
    for op, kind, functions, where, text in (
        ("transpose", Transpose, vendor.TRANSPOSE, None, ""),
        ("concat", Concat, vendor.CONCAT, None, ""),
        ("expand", Expand, ("cnnlExpand",), None, ""),
        ("tile", Tile, ("cnnlExpand",), _tiles_few_axes, "repeats along few axes"),
        ("slice", Slice, vendor.SLICE, None, ""),
        ("pad", Pad, ("cnnlExpand", *vendor.COPY), _is_constant, "padding with a constant"),
        ("pad", PadByIndex, ("cnnlExpand", *vendor.GATHER), _is_continued, "padding with elements"),
    ):
        yield KernelEntry(tag, op, kind, Takes((), functions, where=where, text=text))
    yield KernelEntry(tag, "where", Where, Takes(("bool",), vendor.SELECT))
