"""Convolutions, channels first: a matrix product over columns, or a walk for each channel."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from headrace.device import Launch, OpCall
from headrace.ops.window import conv_window
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS, SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window

_STRIP_BYTES = 7 << 17
"""Columns that stay in the second-level cache of today's cores, with room for weights beside."""


def _reads_one_channel(call: OpCall) -> bool:
    return call.input(1).shape[1] == 1 and call.int_attr("groups") == call.input(0).shape[1]


depthwise = SomeCalls("one input channel for each output channel", FLOATS, _reads_one_channel)


class Im2colConv(NativeKernel):
    """``conv`` as matrix products over columns in the workspace, strip by strip of each image.

    x: T[n, c, *spatial], weight: T[m, c / groups, *kernel], bias: T[m] or absent,
    y: T[n, m, *windows]; workspace: T[c * taps, windows of a strip].

    The columns of a whole image may be a hundred times the image; those of a strip stay in the
    cache between being gathered and being multiplied.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._window = conv_window(call)
        self._rows = call.input(0).shape[1] * math.prod(self._window.kernel)
        self._strips = _strips(call.outputs[0].shape[2:], self._rows * call.input(0).dtype.itemsize)

    def workspace_bytes(self) -> int:
        """The columns of one strip; the first is the longest."""
        return self._rows * math.prod(self._strips[0].shape) * self._call.input(0).dtype.itemsize

    def _make(self, views: Views) -> Launch:
        call, window = self._call, self._window
        x, y = views.input(), views.output()
        weight = _by_group(call, views.input(1))
        bias = _bias(views.optional(2), weight.shape[0])
        results = y.reshape(y.shape[0], *weight.shape[:2], math.prod(y.shape[2:]))
        steps = []
        columns_of: dict[int, Array] = {}  # of the workspace; strips have two lengths at most
        for strip in self._strips:
            length = math.prod(strip.shape)
            if length not in columns_of:
                columns_of[length] = self._columns(views, length, x.dtype)
            columns = columns_of[length]
            grouped = columns.reshape(weight.shape[0], weight.shape[2], length)
            pads = tuple(
                pad - begin * stride
                for pad, begin, stride in zip(
                    window.pads_begin, strip.begin, window.strides, strict=True
                )
            )
            moved = native_window(window._replace(pads_begin=pads))
            place = slice(strip.position, strip.position + length)
            for image, result in zip(x, results, strict=True):
                gather = native.im2col(image, columns, moved, strip.shape)
                steps.append((gather, grouped, result[..., place]))

        def run() -> None:
            with np.errstate(all="ignore"):
                for gather, columns, result in steps:
                    gather()
                    np.matmul(weight, columns, out=result)
                    if bias is not None:
                        np.add(result, bias, out=result)

        return run

    def _columns(self, views: Views, length: int, dtype: np.dtype[Any]) -> Array:
        if not self.workspace_bytes():  # no input channels: sums of nothing
            return np.zeros((self._rows, length), dtype)
        return views.scratch(TensorSpec((self._rows, length), dtype))


class _Strip(NamedTuple):
    """A part of the windows: where it begins, also in all of them flattened, and its shape."""

    begin: tuple[int, ...]
    position: int
    shape: tuple[int, ...]


def _strips(windows: tuple[int, ...], column_bytes: int) -> tuple[_Strip, ...]:
    """Cut along the first axis that has more than one window: then a strip is contiguous."""
    axis = next((i for i, count in enumerate(windows) if count > 1), 0)
    inner = math.prod(windows[axis + 1 :])
    most = max(1, _STRIP_BYTES // max(1, column_bytes * inner))
    count = -(-windows[axis] // most)
    step = -(-windows[axis] // count)  # as even as it gets: no short strip at the end
    result = []
    for first in range(0, windows[axis], step):
        begin = tuple(first if i == axis else 0 for i in range(len(windows)))
        length = min(step, windows[axis] - first)
        shape = (*windows[:axis], length, *windows[axis + 1 :])
        result.append(_Strip(begin, first * inner, shape))
    return tuple(result)


class DepthwiseConv(NativeKernel):
    """``conv`` in which every output channel reads one input channel; walks the windows natively.

    x: T[n, c, *spatial], weight: T[c * k, 1, *kernel], bias: T[c * k] or absent,
    y: T[n, c * k, *windows]. Needs no workspace.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._window = conv_window(call)

    def _make(self, views: Views) -> Launch:
        x, weight, bias = views.input(), views.input(1), views.optional(2)
        window = native_window(self._window)
        return native.depthwise_conv(x, weight, bias, views.output(), window)


def _by_group(call: OpCall, weight: Array) -> Array:
    """T[groups, m / groups, c / groups * taps]."""
    groups = call.int_attr("groups")
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def _bias(bias: Array | None, groups: int) -> Array | None:
    """T[groups, m / groups, 1]: broadcasts over the windows."""
    return None if bias is None else bias.reshape(groups, bias.size // groups, 1)
