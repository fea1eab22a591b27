"""Resampled images: elements as they are, or weighted sums axis by axis; native calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headrace.device import (
    KernelEntry,
    Launch,
    OpCall,
    any_call,
    dtypes,
)
from headrace.dtypes import float32, float64
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.copy import Take
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

if TYPE_CHECKING:
    from headrace.ops.resize_taps import Taps
    from headrace_cpu.kernels.copy import Table


def _taps(call: OpCall) -> dict[int, Taps]:
    from headrace.ops.resize_taps import resize_taps  # listing kernels imports no family of ops

    return resize_taps(call)


def _sources(call: OpCall) -> Sequence[Table | None]:
    taps = _taps(call)
    axes = range(call.input(0).rank)
    return [taps[axis].sources[:, 0].astype(np.int32) if axis in taps else None for axis in axes]


def _is_copied(call: OpCall) -> bool:
    return _stays_inside(call) and (call.str_attr("mode") == "nearest" or not _taps(call))


def _is_summed(call: OpCall) -> bool:
    return _stays_inside(call) and not _is_copied(call)


def _stays_inside(call: OpCall) -> bool:
    return call.str_attr("coordinates") != "tf_crop_and_resize"


nearest = SomeCalls("nearest, not cropped", any_call, _is_copied)
_SUMMED = dtypes("float32", "float64", "int8", "uint8", "int32")
interpolated = SomeCalls("interpolated, not cropped", _SUMMED, _is_summed)


class Interpolate(NativeKernel):
    """``resize`` by weighted sums along one axis after another.

    x: T[...], y: T[sizes]; workspace: what lies between two axes, float32 of float32 and float64
    of any other dtype.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._taps = _taps(call)
        self._sums = float32 if call.input(0).dtype == float32 else float64
        shape = list(call.input(0).shape)
        self._between: list[tuple[int, ...]] = []
        for axis, taps in self._taps.items():
            shape[axis] = len(taps.sources)
            self._between.append(tuple(shape))
        self._between.pop()

    def workspace_bytes(self) -> int:
        """Each tensor between two axes."""
        return self._sums.numpy.itemsize * sum(map(math.prod, self._between))

    def _make(self, views: Views) -> Launch:
        sizes = list(map(math.prod, self._between))
        x, y = views.input(), views.output()
        if not y.size:
            return native.Sequence([])
        made = [y]
        if sizes:
            scratch = views.scratch(TensorSpec((sum(sizes),), self._sums))
            parts = np.split(scratch, np.cumsum(sizes)[:-1])
            made = [p.reshape(shape) for p, shape in zip(parts, self._between, strict=True)] + made
        launches = []
        for (axis, taps), result in zip(self._taps.items(), made, strict=True):
            outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
            launches.append(
                native.resample(
                    x.reshape(outer, x.shape[axis], inner),
                    result.reshape(outer, result.shape[axis], inner),
                    taps.sources.astype(np.int32),
                    taps.weights.astype(self._sums.numpy),
                )
            )
            x = result
        return launches[0] if len(launches) == 1 else native.Sequence(launches)


def resize_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "resize", partial(Take, tables=_sources), nearest)
    yield KernelEntry(tag, "resize", Interpolate, interpolated)
