"""Pools, each one native call."""

from __future__ import annotations

import math

from headrace.device import Launch, OpCall, dtypes
from headrace.dtypes import float32
from headrace.ops.window import pool_window
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window


class _Pool(NativeKernel):
    """What pools have in common: where their windows lie."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._window = pool_window(call)

    def _is_whole(self) -> bool:
        """Whether one window is the whole image, of floats: then each is a row."""
        x, window = self._call.input(0), self._window
        is_padded = any((*window.pads_begin, *window.pads_end))
        is_dense = window.kernel == window.extents == x.shape[2:]
        return x.dtype == float32 and is_dense and not is_padded


class MaxPool(_Pool):
    """``max_pool``: x: T[n, c, *spatial], y: T[n, c, *windows], indices: int64 or not asked for.

    Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call, window = self._call, native_window(self._window)
        x, y = views.input(), views.output()
        if call.output_count == 1 and self._is_whole():
            return native.fold_each_row("max", _as_rows(x), y.reshape(-1))
        indices = views.output(1) if call.output_count > 1 else None
        column_major = call.str_attr("storage_order") == "column"
        return native.max_pool(x, y, indices, window, column_major)


class AvgPool(_Pool):
    """``avg_pool``: x: T[n, c, *spatial], y: T[n, c, *windows]. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, y, window = views.input(), views.output(), native_window(self._window)
        if self._is_whole():
            return native.fold_each_row("mean", _as_rows(x), y.reshape(-1))
        count_include_pad = self._call.flag_attr("count_include_pad")
        return native.avg_pool(x, y, window, self._window.pads_end, count_include_pad)


class PoolLast(_Pool):
    """``max_pool`` or ``avg_pool`` of images whose channels are last, without indices.

    x: float32[n, *spatial, c], y: float32[n, *windows, c]. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call, window = self._call, native_window(self._window)
        x, y, pads_end = views.input(), views.output(), self._window.pads_end
        is_mean = call.op == "avg_pool"
        count_pad = is_mean and call.flag_attr("count_include_pad")
        return native.pool_last("mean" if is_mean else "max", x, y, window, pads_end, count_pad)


class BytePoolLast(_Pool):
    """``max_pool`` of bytes, channels last, without indices.

    x: T[n, *spatial, c], y: T[n, *windows, c], both int8 or uint8. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        window = native_window(self._window)
        return native.max_pool_bytes(views.input(), views.output(), window)


def _as_rows(images: Array) -> Array:
    return images.reshape(math.prod(images.shape[:2]), math.prod(images.shape[2:]))


def _has_no_indices(call: OpCall) -> bool:
    return call.output_count == 1


pooled_last = SomeCalls("no indices", dtypes("float32"), _has_no_indices)
bytes_pooled_last = SomeCalls("no indices", dtypes("int8", "uint8"), _has_no_indices)
