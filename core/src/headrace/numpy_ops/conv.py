"""Convolutions, in numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.data_format import either_format
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.numpy_ops.window import accumulator, taps
from headrace.op_call import OpCall
from headrace.ops.conv import Conv, ConvTranspose
from headrace.ops.window import conv_window
from headrace.tensor_spec import Array


def _conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    convolve(call, given(inputs, 0), given(inputs, 1), inputs[2], outputs[0])


def convolve(call: OpCall, x: Array, weight: Array, bias: Array | None, y: Array) -> None:
    """One matrix product for each image: the columns hold what each tap reads.

    ``call`` gives the window and the groups.
    """
    window, groups = conv_window(call), call.int_attr("groups")
    dtype = accumulator(x.dtype)
    out_channels, positions = y.shape[1], y.shape[2:]
    kernels = weight.astype(dtype, copy=False).reshape(
        groups, out_channels // groups, math.prod(weight.shape[1:])
    )
    columns = np.empty((x.shape[1], math.prod(window.kernel), *positions), dtype)
    column = _column(bias, dtype)
    for image, result in zip(x, y, strict=True):
        for index, (_, read) in enumerate(taps(image, window, positions, 0)):
            columns[:, index] = read
        product = np.matmul(
            kernels, columns.reshape(groups, kernels.shape[2], math.prod(positions))
        )
        product = product.reshape(out_channels, math.prod(positions))
        if column is not None:
            product += column
        result[...] = product.reshape(result.shape)


def _conv_transpose(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """The adjoint: one matrix product for each image, then each tap added where it belongs."""
    x, weight, y = given(inputs, 0), given(inputs, 1), outputs[0]
    window, groups = conv_window(call), call.int_attr("groups")
    dtype = accumulator(x.dtype)
    out_channels, positions = y.shape[1], x.shape[2:]
    kernels = weight.astype(dtype, copy=False).reshape(
        groups, weight.shape[0] // groups, math.prod(weight.shape[1:])
    )
    # Everything that taps reach or the output shows, before the padding is cropped off.
    reach = zip(positions, window.strides, window.extents, strict=True)
    shown = zip(window.pads_begin, y.shape[2:], strict=True)
    whole = np.empty(
        (
            out_channels,
            *(
                max((size - 1) * stride + extent, begin + length)
                for (size, stride, extent), (begin, length) in zip(reach, shown, strict=True)
            ),
        ),
        dtype,
    )
    crop = tuple(
        slice(begin, begin + length)
        for begin, length in zip(window.pads_begin, y.shape[2:], strict=True)
    )
    bias = _column(inputs[2], dtype)
    for image, result in zip(x, y, strict=True):
        pixels = image.astype(dtype, copy=False).reshape(
            groups, image.shape[0] // groups, math.prod(positions)
        )
        columns = np.matmul(kernels.transpose(0, 2, 1), pixels)
        columns = columns.reshape(out_channels, *window.kernel, *positions)
        whole[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(positions))
        for tap in itertools.product(*map(range, window.kernel)):
            places = tuple(
                slice(k * dilation, k * dilation + (size - 1) * stride + 1, stride)
                for k, dilation, size, stride in zip(
                    tap, window.dilations, positions, window.strides, strict=True
                )
            )
            whole[(slice(None), *places)] += columns[(slice(None), *tap)]
        result[...] = whole[(slice(None), *crop)]


def _column(bias: Array | None, dtype: np.dtype[Any]) -> Array | None:
    return None if bias is None else bias.astype(dtype, copy=False).reshape(-1, 1)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "conv": either_format(Conv, _conv),
    "conv_transpose": either_format(ConvTranspose, _conv_transpose),
}
