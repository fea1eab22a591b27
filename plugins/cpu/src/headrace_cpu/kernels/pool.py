"""Pools, each one native call."""

from __future__ import annotations

from headrace.device import Launch, OpCall, dtypes
from headrace.ops.pool import pool_window
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views


class _Pool(NativeKernel):
    """What pools have in common: where their windows lie."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._window = pool_window(call)


class MaxPool(_Pool):
    """``max_pool``: x: T[n, c, *spatial], y: T[n, c, *windows], indices: int64 or not asked for.

    Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call, window = self._call, self._window
        x, y = views.input(), views.output()
        indices = views.output(1) if call.output_count > 1 else None
        geometry = (window.kernel, window.strides, window.dilations, window.pads_begin)
        column_major = call.str_attr("storage_order") == "column"
        return _native.max_pool(x, y, indices, *geometry, column_major)


class AvgPool(_Pool):
    """``avg_pool``: x: T[n, c, *spatial], y: T[n, c, *windows]. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call, window = self._call, self._window
        x, y = views.input(), views.output()
        geometry = (window.kernel, window.strides, window.dilations)
        pads = (window.pads_begin, window.pads_end)
        count_include_pad = call.flag_attr("count_include_pad")
        return _native.avg_pool(x, y, *geometry, *pads, count_include_pad)


class PoolLast(_Pool):
    """``max_pool`` or ``avg_pool`` of images whose channels are last, without indices.

    x: float32[n, *spatial, c], y: float32[n, *windows, c]. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call, w = self._call, self._window
        x, y = views.input(), views.output()
        geometry = (w.kernel, w.strides, w.dilations, w.pads_begin, w.pads_end)
        is_mean = call.op == "avg_pool"
        count_pad = is_mean and call.flag_attr("count_include_pad")
        return _native.pool_last("mean" if is_mean else "max", x, y, *geometry, count_pad)


class BytePoolLast(_Pool):
    """``max_pool`` of bytes, channels last, without indices.

    x: T[n, *spatial, c], y: T[n, *windows, c], both int8 or uint8. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        w = self._window
        geometry = (w.kernel, w.strides, w.dilations, w.pads_begin)
        return _native.max_pool_bytes(views.input(), views.output(), *geometry)


def _has_no_indices(call: OpCall) -> bool:
    return call.output_count == 1


pooled_last = SomeCalls("no indices", dtypes("float32"), _has_no_indices)
bytes_pooled_last = SomeCalls("no indices", dtypes("int8", "uint8"), _has_no_indices)
