"""Transposed convolution: a matrix product, and its columns added where they belong."""

from __future__ import annotations

import math

import numpy as np

from headrace.device import Launch, OpCall, dtypes
from headrace.ops.conv import conv_window
from headrace.tensor_spec import TensorSpec
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views


def _do_not_meet(call: OpCall) -> bool:
    window = conv_window(call)
    return (
        window.kernel == window.strides
        and set(window.dilations) == {1}
        and not any(window.pads_begin + window.pads_end + call.ints_attr("output_padding"))
        and call.int_attr("groups") == 1
    )


parted = SomeCalls("windows that do not meet", dtypes("float32"), _do_not_meet)
"""Transposed convolutions that make each element of the result once."""


class ConvTranspose(NativeKernel):
    """``conv_transpose``, one image at a time, over columns in the workspace.

    x: T[n, c, *spatial], weight: T[c, m / groups, *kernel], bias: T[m] or absent,
    y: T[n, m, *out]; workspace: T[m * taps, spatial].
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._window = conv_window(call)
        rows = call.outputs[0].shape[1] * math.prod(self._window.kernel)
        pixels = math.prod(call.input(0).shape[2:])
        self._columns = TensorSpec((rows, pixels), call.input(0).dtype)

    def workspace_bytes(self) -> int:
        """The columns of one image."""
        return self._columns.nbytes

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        window, groups = self._window, self._call.int_attr("groups")
        x, weight = views.input(), views.input(1)
        y = views.output()
        if self._columns.nbytes:
            columns = views.scratch(self._columns)
        else:  # nothing to scatter, but y must still be written
            columns = np.zeros(self._columns.shape, x.dtype)
        per_group, pixels = weight.shape[0] // groups, columns.shape[1]
        kernels = weight.reshape(groups, per_group, math.prod(weight.shape[1:])).transpose(0, 2, 1)
        grouped = columns.reshape(groups, kernels.shape[1], pixels)
        geometry = (window.kernel, window.strides, window.dilations, window.pads_begin, x.shape[2:])
        images = x.reshape(x.shape[0], groups, per_group, pixels)
        steps = [
            (image, _native.col2im(columns, result, *geometry), result)
            for image, result in zip(images, y, strict=True)
        ]
        bias = views.optional(2)
        offset = None if bias is None else bias.reshape(-1, *(1,) * (y.ndim - 2))

        def run() -> None:
            with np.errstate(all="ignore"):
                for image, scatter, result in steps:
                    np.matmul(kernels, image, out=grouped)
                    scatter()
                    if offset is not None:
                        np.add(result, offset, out=result)

        return run
