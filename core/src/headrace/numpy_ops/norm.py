"""Normalisations, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.dtypes import dtype_of
from headrace.numpy_ops.data_format import either_format
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.norm import GroupNorm, InstanceNorm, Lrn, statistics_dtype
from headrace.tensor_spec import Array


def _normalization(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    dtype = _compute_dtype(x)
    shape = [1] * x.ndim
    shape[call.int_attr("axis")] = -1
    mean, variance, gamma, beta = (given(inputs, i).astype(dtype) for i in range(1, 5))
    factor = gamma / np.sqrt(variance + dtype.type(call.float_attr("epsilon")))
    # Subtracting first keeps what is left when the mean is large: x * f - mean * f would not.
    result = np.subtract(x, mean.reshape(shape), out=y if y.dtype == dtype else None, dtype=dtype)
    result *= factor.reshape(shape)
    result += beta.reshape(shape)
    if result is not y:
        y[...] = result


def _standardize(x: Array, epsilon: float, out: Array | None) -> tuple[Array, Array, Array]:
    """``(x - mean) / sqrt(variance + epsilon)`` along the last axis, the mean, and the factor.

    The mean of squares minus the square of the mean would lose everything when the mean is large.
    Its own rounding is put right by the mean of what is left after it is taken away.
    """
    mean = np.mean(x, axis=-1, keepdims=True)
    centred = np.subtract(x, mean, out=out)
    rest = np.mean(centred, axis=-1, keepdims=True)
    centred -= rest
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    inv_std = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    centred *= inv_std
    return centred, mean + rest, inv_std


def _grouped(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array], groups: int
) -> None:
    """Each of ``groups`` runs of channels of each image by itself; scale and shift by channel."""
    x, y = given(inputs, 0), outputs[0]
    dtype = _compute_dtype(x)
    spatial = math.prod(x.shape[2:])
    rows = x.astype(dtype, copy=False).reshape(
        x.shape[0], groups, x.shape[1] // max(groups, 1) * spatial
    )
    out = y.reshape(rows.shape) if y.dtype == dtype else None
    result, _, _ = _standardize(rows, call.float_attr("epsilon"), out)
    channels = result.reshape(*x.shape[:2], spatial)
    channels *= given(inputs, 1).astype(dtype)[:, None]
    channels += given(inputs, 2).astype(dtype)[:, None]
    if out is None:
        y[...] = channels.reshape(y.shape)


def _instance_norm(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    _grouped(call, inputs, outputs, given(inputs, 0).shape[1])


def _group_norm(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    _grouped(call, inputs, outputs, call.int_attr("groups"))


def _layer_norm(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    dtype = _compute_dtype(x)
    outer = x.shape[: call.int_attr("axis") % x.ndim]
    rows = x.astype(dtype, copy=False).reshape(*outer, math.prod(x.shape[len(outer) :]))
    out = y.reshape(rows.shape) if y.dtype == dtype else None
    rows, mean, inv_std = _standardize(rows, call.float_attr("epsilon"), out)
    result = rows.reshape(x.shape)
    scale, bias = inputs[1], inputs[2]
    if scale is not None:
        result *= scale.astype(dtype, copy=False)
    if bias is not None:
        result += bias.astype(dtype, copy=False)
    if out is None:
        y[...] = result
    for statistic, wanted in zip((mean, inv_std), outputs[1:], strict=False):
        wanted[...] = statistic.reshape(wanted.shape)


def _lrn(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    size, channels = call.int_attr("size"), x.shape[1]
    values = x.astype(_compute_dtype(x), copy=False)
    padded = np.zeros((x.shape[0], channels + size - 1, *x.shape[2:]), values.dtype)
    before = (size - 1) // 2
    np.square(values, out=padded[:, before : before + channels])
    total = np.zeros_like(values)
    for offset in range(size):
        total += padded[:, offset : offset + channels]
    total *= call.float_attr("alpha") / size
    total += call.float_attr("bias")
    y[...] = values / total ** call.float_attr("beta")


def _compute_dtype(x: Array) -> np.dtype[Any]:
    return statistics_dtype(dtype_of(x.dtype)).numpy


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "normalization": _normalization,
    "instance_norm": either_format(InstanceNorm, _instance_norm),
    "group_norm": either_format(GroupNorm, _group_norm),
    "layer_norm": _layer_norm,
    "lrn": either_format(Lrn, _lrn),
}
