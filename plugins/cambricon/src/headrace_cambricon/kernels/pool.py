"""Pooling by the library's, over one or two spatial axes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from headrace.device import KernelEntry, OpCall
from headrace.ops.channels import first_shape
from headrace.ops.window import pool_window
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.conv import two_axes
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.images import BOTH_FORMATS, ImageKernel, last_shape
from headrace_cambricon.kernels.kernel import Operand, Recorder
from headrace_cambricon.kernels.match import FLOATS, Takes
from headrace_cambricon.library import opened_library

_MAX = "CNNL_POOLING_MAX"
_WITH_PADDING = "CNNL_POOLING_AVERAGE_COUNT_INCLUDE_PADDING"
_WITHOUT_PADDING = "CNNL_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING"


class Pool(ImageKernel):
    """The greatest or the mean of each window. x ``[n, *spatial, c]``; channels first turned."""

    def __init__(self, call: OpCall, mode: str) -> None:
        super().__init__(call)
        self._mode = mode

    def record(self, r: Recorder) -> None:
        x = self.image(r, 0)
        self.result(r, lambda y: self._pool(r, x, y))

    def _pool(self, r: Recorder, x: Operand, y: Operand) -> None:
        mode = number_of(self._mode)
        window = two_axes(pool_window(self.call))
        # Behind the last window there may be rows that none reads: the library leaves them out too.
        ends = [max(n, 0) for n in end_pads(self.call)]
        pads = [n for axis in range(2) for n in (window.pads_begin[axis], ends[axis])]
        shape = (*window.kernel, *pads, *window.strides)
        nan = number_of("CNNL_PROPAGATE_NAN")
        if r.has("cnnlSetPooling2dDescriptor_v2"):
            pooling = r.configured(
                "PoolingDescriptor",
                "cnnlSetPooling2dDescriptor_v2",
                mode,
                nan,
                *shape,
                *window.dilations,
                False,
            )
        else:
            pooling = r.configured(
                "PoolingDescriptor", "cnnlSetPooling2dDescriptor", mode, nan, *shape
            )
        # Widths before heights.
        size = (mode, y.shape[2], y.shape[1])
        if r.has("cnnlPoolingForward_v2"):
            both = (x.descriptor, y.descriptor)
            space = r.workspace(r.ask("cnnlGetPoolingWorkspaceSize_v2", pooling, *both))
            extra = None
            if nbytes := r.ask("cnnlGetPoolingExtraInputSize", *size):
                made = ctypes.create_string_buffer(nbytes)
                address = ctypes.addressof(made)
                r.context.stream.ask("cnnlInitPoolingExtraInput", pooling, *both, address)
                extra = r.context.constant(made.raw)
            r.add("cnnlPoolingForward_v2", pooling, None, *x.both, None, extra, *y.both, *space)
        else:
            # Some releases seem to answer in elements and not in bytes.
            space = r.workspace(4 * r.ask("cnnlGetPoolingWorkspaceSize", *size))
            r.add("cnnlPoolingForward", pooling, None, *x.both, None, *y.both, *space)


def end_pads(call: OpCall) -> tuple[int, int]:
    """End pads with which a pool without ``ceil_mode`` has as many windows; may be negative."""
    window = two_axes(pool_window(call))
    sizes = last_shape(call, call.input(0).shape)[1:3]
    counts = last_shape(call, call.outputs[0].shape)[1:3]
    first, second = (
        (counts[axis] - 1) * window.strides[axis]
        + window.extents[axis]
        - sizes[axis]
        - window.pads_begin[axis]
        for axis in range(2)
    )
    return first, second


def _is_plain(call: OpCall) -> bool:
    rank = len(first_shape(call, call.input(0).shape)) - 2
    if rank > 2 or call.output_count > 1 or not call.input(0).elements:
        return False
    window = two_axes(pool_window(call))
    library = opened_library()
    gaps = any(n > 1 for n in window.dilations)
    return not gaps or library is None or library.has("cnnlSetPooling2dDescriptor_v2")


def _counts_the_same(call: OpCall) -> bool:
    """What ``ceil_mode`` makes overhang is padding to the library, and none to the op."""
    if not _is_plain(call):
        return False
    given = two_axes(pool_window(call)).pads_end
    return all(n <= had for n, had in zip(end_pads(call), given, strict=True))


def _excludes(call: OpCall) -> bool:
    return _is_plain(call) and not call.flag_attr("count_include_pad")


def _includes(call: OpCall) -> bool:
    return call.flag_attr("count_include_pad") and _counts_the_same(call)


def pool_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for both formats of images."""
    needs = (
        "cnnlPoolingForward_v2|cnnlPoolingForward",
        "cnnlSetPooling2dDescriptor_v2|cnnlSetPooling2dDescriptor",
        *vendor.TRANSPOSE,
    )
    text = "one result, up to two spatial axes"
    of_max = Takes(FLOATS, needs, (), _is_plain, text)
    without = Takes(FLOATS, needs, (), _excludes, "padding not counted, up to two spatial axes")
    of_all = Takes(FLOATS, needs, (), _includes, "padding counted, none of it by ceil_mode")
    for data_format, priority in BOTH_FORMATS:
        formats = (data_format,)
        yield KernelEntry(tag, "max_pool", Made(Pool, (_MAX,)), of_max, priority, formats)
        yield KernelEntry(
            tag, "avg_pool", Made(Pool, (_WITHOUT_PADDING,)), without, priority, formats
        )
        yield KernelEntry(tag, "avg_pool", Made(Pool, (_WITH_PADDING,)), of_all, priority, formats)
