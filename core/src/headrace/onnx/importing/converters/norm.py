"""ONNX nodes for: normalisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import DType, bfloat16, float16, float32, float64
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.axes import normal_axes, normal_axis
from headrace.onnx.importing.formula import at_least_float32, cast, scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _batch_normalization(node: Node) -> tuple[Tensor, ...]:
    x = node.input(0)
    if x.spec.rank < 2:
        node.invalid(f"input 0 is {x.spec}; it must have a batch and channels")
    epsilon = node.attr("epsilon", 1e-5)
    if node.opset < 7 and not node.attr("is_test", 0):
        node.refuse("is_test is 0, which means training; models made to be run have 1")
    if node.attr("training_mode", 0) if node.opset >= 14 else node.output_count > 1:
        return _train(node, epsilon)
    if node.output_count > 1:
        node.invalid("has statistics among its outputs although training_mode is 0")
    scale, bias, mean, variance = _one_dtype(node, [node.input(i) for i in (1, 2, 3, 4)])
    if node.opset < 9 and not node.attr("spatial", 1):
        # One statistic for each element of an image: as if each were a channel.
        flat = [node.one("reshape", [t], shape=(-1,)) for t in (mean, variance, scale, bias)]
        rows = node.one("reshape", [x], shape=(x.spec.shape[0], flat[0].spec.elements))
        y = node.one("normalization", [rows, *flat], epsilon=epsilon)
        return (node.one("reshape", [y], shape=x.spec.shape),)
    return node.op("normalization", [x, mean, variance, scale, bias], epsilon=epsilon)


def _train(node: Node, epsilon: float) -> tuple[Tensor, ...]:
    """Normalise by the statistics of the batch, and move the running ones towards them."""
    if node.opset < 14:
        node.refuse("more than one output means training, whose saved statistics are not defined")
    x, scale, bias, old_mean, old_variance = (node.input(i) for i in range(5))
    stats = float64 if x.spec.dtype == float64 else float32
    axes = tuple(axis for axis in range(x.spec.rank) if axis != 1)
    wide = cast(node, x, stats)
    mean = node.one("reduce_mean", [wide], axes=axes, keep_dims=True)
    centred = node.one("subtract", [wide, mean])
    squares = node.one("multiply", [centred, centred])
    variance = node.one("reduce_mean", [squares], axes=axes)
    mean = node.one("reshape", [mean], shape=variance.spec.shape)
    given = [mean, variance, cast(node, scale, stats), cast(node, bias, stats)]
    outputs = [node.one("normalization", [x, *given], epsilon=epsilon)]
    momentum = node.attr("momentum", 0.9)
    for old, new in ((old_mean, mean), (old_variance, variance)):
        kept = node.one("multiply", [cast(node, old, stats), scalar(node, momentum, mean)])
        added = node.one("multiply", [new, scalar(node, 1 - momentum, mean)])
        outputs.append(cast(node, node.one("add", [kept, added]), old.spec.dtype))
    return tuple(outputs[: node.output_count])


def _instance_normalization(node: Node) -> Tensor:
    inputs = [node.input(0), node.input(1), node.input(2)]
    return node.one("instance_norm", inputs, epsilon=node.attr("epsilon", 1e-5))


def _layer_normalization(node: Node) -> tuple[Tensor, ...]:
    x = node.input(0)
    y, *statistics = node.op(
        "layer_norm",
        [x, node.input(1), node.optional(2)],
        outputs=node.output_count,
        axis=normal_axis(node, node.attr("axis", -1), x.spec.rank),
        epsilon=node.attr("epsilon", 1e-5),
    )
    stash = _stash_dtype(node)
    return (y, *(cast(node, statistic, stash) for statistic in statistics))


def _group_normalization(node: Node) -> Tensor:
    x, scale, bias = node.input(0), node.input(1), node.input(2)
    groups = node.attr("num_groups")
    if x.spec.rank < 2:
        node.invalid(f"input 0 is {x.spec}; it must have a batch and channels")
    channels = x.spec.shape[1]
    if groups < 1 or channels % groups:
        node.invalid(f"num_groups={groups} does not divide the {channels} channels of input 0")
    if node.opset < 21:  # one scale for each group; from 21 on one for each channel
        group_of = node.constant(np.repeat(np.arange(groups), channels // groups))
        scale, bias = (node.one("gather", [t, group_of], axis=0) for t in (scale, bias))
    return node.one(
        "group_norm", [x, scale, bias], groups=groups, epsilon=node.attr("epsilon", 1e-5)
    )


def _rms_normalization(node: Node) -> Tensor:
    x = node.input(0)
    axis = normal_axis(node, node.attr("axis", -1), x.spec.rank)
    return rms(node, x, node.input(1), axis, _stash_dtype(node), node.attr("epsilon", 1e-5))


def rms(node: Node, x: Tensor, scale: Tensor, axis: int, stash: DType, epsilon: float) -> Tensor:
    """``x / sqrt(mean(x ** 2) + epsilon) * scale``, the first factor in the stash type.

    Args:
        node: the node.
        x: a float tensor; if of float64, that is the stash type.
        scale: broadcasts to ``x``.
        axis: the mean is over this axis and all after it.
        stash: dtype of the first factor.
        epsilon: keeps the divisor from 0.
    """
    if x.spec.dtype == float64:
        stash = float64
    wide = cast(node, x, stash)
    squares = node.one("multiply", [wide, wide])
    mean = node.one("reduce_mean", [squares], axes=tuple(range(axis, x.spec.rank)), keep_dims=True)
    shifted = node.one("add", [mean, scalar(node, epsilon, mean)])
    normal = node.one("divide", [wide, node.one("sqrt", [shifted])])
    return node.one("multiply", [cast(node, normal, x.spec.dtype), scale])


def _mean_variance_normalization(node: Node) -> Tensor:
    """``(x - mean) / (deviation + 1e-9)`` over the given axes."""
    x = node.input(0)
    axes = normal_axes(node, node.attr("axes", [0, 2, 3]), x.spec.rank)
    dtype = at_least_float32(x.spec.dtype)
    wide = cast(node, x, dtype)
    mean = node.one("reduce_mean", [wide], axes=axes, keep_dims=True)
    centred = node.one("subtract", [wide, mean])
    squares = node.one("multiply", [centred, centred])
    variance = node.one("reduce_mean", [squares], axes=axes, keep_dims=True)
    deviation = node.one("add", [node.one("sqrt", [variance]), scalar(node, 1e-9, variance)])
    return cast(node, node.one("divide", [centred, deviation]), x.spec.dtype)


def _lrn(node: Node) -> Tensor:
    return node.one(
        "lrn",
        [node.input(0)],
        size=node.attr("size"),
        alpha=node.attr("alpha", 1e-4),
        beta=node.attr("beta", 0.75),
        bias=node.attr("bias", 1.0),
    )


def _lp_normalization(node: Node) -> Tensor:
    """``x`` over its norm along an axis; where that is 0, so is the result."""
    x, p = node.input(0), node.attr("p", 2)
    axes = (normal_axis(node, node.attr("axis", -1), x.spec.rank),)
    if p not in (1, 2):
        node.invalid(f"p is {p}; it may be 1 or 2")
    powers = node.one("abs", [x]) if p == 1 else node.one("multiply", [x, x])
    norm = node.one("reduce_sum", [powers], axes=axes, keep_dims=True)
    if p == 2:
        norm = node.one("sqrt", [norm])
    zero, one = scalar(node, 0, x), scalar(node, 1, x)
    divisor = node.one("where", [node.one("equal", [norm, zero]), one, norm])
    return node.one("divide", [x, divisor])


def _stash_dtype(node: Node) -> DType:
    dtype = dtype_from_onnx(node.attr("stash_type", 1), str(node))
    if dtype not in (float32, float64, float16, bfloat16):
        node.invalid(f"stash_type {dtype} is no floating point type")
    return dtype


def _one_dtype(node: Node, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors in one dtype: theirs, or float32 where they differ."""
    found = {tensor.spec.dtype for tensor in tensors}
    dtype = found.pop() if len(found) == 1 else float64 if float64 in found else float32
    return [cast(node, tensor, dtype) for tensor in tensors]


CONVERTERS: Mapping[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "GroupNormalization": _group_normalization,
    "RMSNormalization": _rms_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "LRN": _lrn,
    "LpNormalization": _lp_normalization,
}
