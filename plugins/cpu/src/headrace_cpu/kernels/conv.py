"""Convolutions: a matrix product over columns, over pixels as they lie, or a walk per channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.device import Buffer, DeviceContext, Kernel, Launch, OpCall, dtypes
from headrace.ops.conv import conv_window
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.kernels.arrays import array_of, optional_array

_FLOATS = dtypes("float32", "float64")


@dataclass(frozen=True, slots=True)
class _Calls:
    """Convolutions of float32 or float64 for which ``holds``."""

    name: str
    holds: Callable[[OpCall], bool]

    def __call__(self, call: OpCall) -> bool:
        return _FLOATS(call) and self.holds(call)

    def __str__(self) -> str:
        return f"{self.name}, {_FLOATS}"


def _reads_pixels_as_they_lie(call: OpCall) -> bool:
    window = conv_window(call)
    return set(window.kernel + window.strides) == {1} and not any(
        window.pads_begin + window.pads_end
    )


def _reads_one_channel(call: OpCall) -> bool:
    return call.input(1).shape[1] == 1 and call.int_attr("groups") == call.input(0).shape[1]


pointwise = _Calls("1x1, stride 1, no padding", _reads_pixels_as_they_lie)
depthwise = _Calls("one input channel for each output channel", _reads_one_channel)


class PointwiseConv(Kernel):
    """``conv`` whose columns are the image itself: one matrix product for each image and group.

    x: T[n, c, *spatial], weight: T[m, c / groups, 1...], bias: T[m] or absent,
    y: T[n, m, *spatial].
    Needs no workspace.
    """

    def __init__(self, call: OpCall) -> None:
        self._call = call

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views; the launch is a matrix product and the bias."""
        call = self._call
        x, y = array_of(inputs[0], call.inputs[0]), array_of(outputs[0], call.outputs[0])
        weight = _by_group(call, array_of(inputs[1], call.inputs[1]))
        pixels = math.prod(x.shape[2:])
        groups, per_group, channels = weight.shape
        columns = x.reshape(x.shape[0], groups, channels, pixels)
        result = y.reshape(x.shape[0], groups, per_group, pixels)
        bias = _bias(optional_array(inputs, call.inputs, 2), groups)
        if groups == 1 and x.shape[0] == 1:  # spares numpy its loop over a batch of one
            weight, columns, result = weight[0], columns[0, 0], result[0, 0]
            bias = None if bias is None else bias[0]

        def run() -> None:
            with np.errstate(all="ignore"):
                np.matmul(weight, columns, out=result)
                if bias is not None:
                    np.add(result, bias, out=result)

        return run


class Im2colConv(Kernel):
    """``conv`` as a matrix product, one image at a time, over columns in the workspace.

    x: T[n, c, *spatial], weight: T[m, c / groups, *kernel], bias: T[m] or absent,
    y: T[n, m, *windows]; workspace: T[c * taps, windows].
    """

    def __init__(self, call: OpCall) -> None:
        self._call = call
        self._window = conv_window(call)
        taps, windows = math.prod(self._window.kernel), math.prod(call.outputs[0].shape[2:])
        self._columns = TensorSpec((call.input(0).shape[1] * taps, windows), call.input(0).dtype)

    def workspace_bytes(self) -> int:
        """The columns of one image."""
        return self._columns.nbytes

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views; the launch gathers and multiplies image by image."""
        from headrace_cpu import _native

        call, window = self._call, self._window
        x, y = array_of(inputs[0], call.inputs[0]), array_of(outputs[0], call.outputs[0])
        weight = _by_group(call, array_of(inputs[1], call.inputs[1]))
        bias = _bias(optional_array(inputs, call.inputs, 2), weight.shape[0])
        if self._columns.nbytes:
            columns = array_of(workspace, self._columns)
        else:  # no input channels: sums of nothing
            columns = np.zeros(self._columns.shape, x.dtype)
        grouped = columns.reshape(weight.shape[0], weight.shape[2], columns.shape[1])
        results = y.reshape(y.shape[0], *weight.shape[:2], columns.shape[1])
        images = tuple(zip(x, results, strict=True))
        geometry = (window.kernel, window.strides, window.dilations, window.pads_begin, y.shape[2:])

        def run() -> None:
            with np.errstate(all="ignore"):
                for image, result in images:
                    _native.im2col(image, columns, *geometry)
                    np.matmul(weight, grouped, out=result)
                    if bias is not None:
                        np.add(result, bias, out=result)

        return run


class DepthwiseConv(Kernel):
    """``conv`` in which every output channel reads one input channel; walks the windows natively.

    x: T[n, c, *spatial], weight: T[c * k, 1, *kernel], bias: T[c * k] or absent,
    y: T[n, c * k, *windows]. Needs no workspace.
    """

    def __init__(self, call: OpCall) -> None:
        self._call = call
        self._window = conv_window(call)

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        """Make the views; the launch is one native call."""
        from headrace_cpu import _native

        call, window = self._call, self._window
        x, weight = (array_of(inputs[i], call.inputs[i]) for i in range(2))
        bias = optional_array(inputs, call.inputs, 2)
        y = array_of(outputs[0], call.outputs[0])

        def run() -> None:
            _native.depthwise_conv(
                x, weight, bias, y, window.strides, window.dilations, window.pads_begin
            )

        return run


def _by_group(call: OpCall, weight: Array) -> Array:
    """T[groups, m / groups, c / groups * taps]."""
    groups = call.int_attr("groups")
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


def _bias(bias: Array | None, groups: int) -> Array | None:
    """T[groups, m / groups, 1]: broadcasts over the windows."""
    return None if bias is None else bias.reshape(groups, bias.size // groups, 1)
