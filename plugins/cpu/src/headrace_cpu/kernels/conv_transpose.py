"""Transposed convolution: a matrix product, and its columns added where they belong."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from headrace.device import Launch, OpCall, dtypes
from headrace.ops.channels import channel_axis
from headrace.ops.window import conv_window, spatial_shape
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window


def windows_do_not_meet(call: OpCall) -> bool:
    """True where each element of the result is made once, of one position of x."""
    window = conv_window(call)
    return (
        (window.kernel == window.strides or set(spatial_shape(call)) == {1})
        and set(window.dilations) == {1}
        and not any(window.pads_begin + window.pads_end + call.ints_attr("output_padding"))
        and call.int_attr("groups") == 1
    )


def windows_meet_evenly(call: OpCall) -> bool:
    """True where a plain convolution makes the result, its phases side by side; see ``Phases``.

    The convolution multiplies at most ``MOST_TAPS`` times as often: kernels whose size is no
    multiple of the stride are filled up, and an image of few positions has wide borders.
    """
    window = conv_window(call)
    if set(window.dilations) != {1}:
        return False
    phases = [Phases.of(call, axis) for axis in range(len(window.kernel))]
    if any(min(phase.pad_begin, phase.pad_end) < 0 for phase in phases):
        return False
    taps = math.prod(phase.taps * phase.stride * phase.results for phase in phases)
    return taps <= MOST_TAPS * math.prod(window.kernel) * math.prod(spatial_shape(call))


MOST_TAPS = 3


class Phases(NamedTuple):
    """One axis of a transposed convolution, said as a plain one.

    With ``o + pad = stride * q + r``, ``y[o] = sum over j of w[r + stride * j] * x[q - j]``: all
    results of one phase ``r`` are a convolution of x, of ``taps`` of the kernel's elements.

    Attributes:
        stride: how many phases there are.
        taps: elements of the kernel for each, the kernel filled up.
        pad_begin, pad_end: zeros around x.
        results: of each phase.
        skip: elements before the first one that is wanted, when phases lie side by side.
        size: how many are wanted.
    """

    stride: int
    taps: int
    pad_begin: int
    pad_end: int
    results: int
    skip: int
    size: int

    @classmethod
    def of(cls, call: OpCall, axis: int) -> Phases:
        """Those of one spatial axis."""
        window, length = conv_window(call), spatial_shape(call)[axis]
        stride, pad = window.strides[axis], window.pads_begin[axis]
        taps = -(-window.kernel[axis] // stride)
        size = spatial_sizes(call)[axis]
        first, last = pad // stride, (pad + size - 1) // stride
        return cls(
            stride,
            taps,
            taps - 1 - first,
            last - (length - 1),
            last - first + 1,
            pad - stride * first,
            size,
        )


def spatial_sizes(call: OpCall) -> tuple[int, ...]:
    """The spatial shape of what is made."""
    shape = call.outputs[0].shape
    return shape[1:-1] if channel_axis(call) == len(shape) - 1 else shape[2:]


parted = SomeCalls(
    "windows that meet evenly or not at all",
    dtypes("float32"),
    lambda call: windows_do_not_meet(call) or windows_meet_evenly(call),
)
"""Transposed convolutions that are said as products or as convolutions."""


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
        window, groups = native_window(self._window), self._call.int_attr("groups")
        x, weight = views.input(), views.input(1)
        y = views.output()
        if self._columns.nbytes:
            columns = views.scratch(self._columns)
        else:  # nothing to scatter, but y must still be written
            columns = np.zeros(self._columns.shape, x.dtype)
        per_group, pixels = weight.shape[0] // groups, columns.shape[1]
        kernels = weight.reshape(groups, per_group, math.prod(weight.shape[1:])).transpose(0, 2, 1)
        grouped = columns.reshape(groups, kernels.shape[1], pixels)
        images = x.reshape(x.shape[0], groups, per_group, pixels)
        steps = [
            (image, native.col2im(columns, result, window, x.shape[2:]), result)
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
