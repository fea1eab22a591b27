"""ONNX nodes for: random numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.dtypes import DType, bool_, float32, float64, int32
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.formula import cast, scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import TensorSpec


def _normal(node: Node) -> Tensor:
    return _normal_numbers(node, *_given_form(node))


def _normal_like(node: Node) -> Tensor:
    return _normal_numbers(node, *_form_like(node))


def _normal_numbers(node: Node, shape: tuple[int, ...], dtype: DType) -> Tensor:
    numbers = _draw(node, "normal", shape, dtype)
    return _placed(node, numbers, node.attr("scale", 1.0), node.attr("mean", 0.0), dtype)


def _uniform(node: Node) -> Tensor:
    return _uniform_numbers(node, *_given_form(node))


def _uniform_like(node: Node) -> Tensor:
    return _uniform_numbers(node, *_form_like(node))


def _uniform_numbers(node: Node, shape: tuple[int, ...], dtype: DType) -> Tensor:
    low, high = node.attr("low", 0.0), node.attr("high", 1.0)
    return _placed(node, _draw(node, "uniform", shape, dtype), high - low, low, dtype)


def _given_form(node: Node) -> tuple[tuple[int, ...], DType]:
    shape = tuple(node.attr("shape"))
    if any(dim < 0 for dim in shape):
        node.invalid(f"shape is {list(shape)}")
    return shape, _dtype(node, float32)


def _form_like(node: Node) -> tuple[tuple[int, ...], DType]:
    spec = node.input(0).spec
    return spec.shape, _dtype(node, spec.dtype)


def _dtype(node: Node, default: DType) -> DType:
    dtype = dtype_from_onnx(node.attr("dtype"), str(node)) if node.has_attr("dtype") else default
    if not dtype.is_float:
        node.invalid(f"draws numbers of {dtype}; they are floats")
    return dtype


def _draw(node: Node, kind: str, shape: tuple[int, ...], dtype: DType) -> Tensor:
    """Numbers of a distribution, in float64 for float64 and in float32 for all else."""
    spec = TensorSpec(shape, float64 if dtype == float64 else float32)
    # The seed of a Dropout is a whole number.
    return node.drawn(kind, spec, float(node.attr("seed")) if node.has_attr("seed") else None)


def _placed(node: Node, x: Tensor, scale: float, mean: float, dtype: DType) -> Tensor:
    if scale != 1:
        x = with_number(node, "multiply", x, scale)
    if mean != 0:
        x = with_number(node, "add", x, mean)
    return cast(node, x, dtype)


def _bernoulli(node: Node) -> Tensor:
    """1 as often as the input says. The body that ONNX writes gives 0 as often."""
    x = node.input(0)
    numbers = _draw(node, "uniform", x.spec.shape, x.spec.dtype)
    found = node.one("less", [numbers, cast(node, x, numbers.spec.dtype)])
    dtype = x.spec.dtype
    if node.has_attr("dtype"):
        dtype = dtype_from_onnx(node.attr("dtype"), str(node))
    return cast(node, found, dtype)


def _multinomial(node: Node) -> Tensor:
    """Classes by the logarithms of their probabilities, which need not sum up to 1."""
    x, size = node.input(0), node.attr("sample_size", 1)
    if x.spec.rank != 2 or size < 1:
        node.invalid(f"input 0 is {x.spec} and sample_size {size}; [batch, classes] and 1 or more")
    batch, classes = x.spec.shape
    # The greatest of the sums is the class of a draw.
    noise = _draw(node, "gumbel", (batch, size, classes), x.spec.dtype)
    scores = cast(node, node.one("reshape", [x], shape=(batch, 1, classes)), noise.spec.dtype)
    found = node.one("argmax", [node.one("add", [noise, scores])], axis=2, keep_dims=False)
    dtype = dtype_from_onnx(node.attr("dtype"), str(node)) if node.has_attr("dtype") else int32
    return cast(node, found, dtype)


def _dropout(node: Node) -> tuple[Tensor, ...]:
    """Where nothing is trained nothing is dropped, and the mask says so."""
    x = node.input(0)
    if node.opset >= 12:
        ratio = 0.5 if node.optional(1) is None else float(node.value(1).item())
        training = node.optional(2) is not None and bool(node.value(2).item())
    else:
        ratio = node.attr("ratio", 0.5)
        training = node.opset < 7 and not node.attr("is_test", 0)
    if not training or not ratio:
        if node.output_count == 1:
            return (x,)
        dtype = bool_ if node.opset >= 10 else x.spec.dtype
        return x, node.one("fill", [], shape=x.spec.shape, value=1.0, dtype=dtype)
    if not 0 < ratio < 1:
        node.invalid(f"ratio is {ratio}; it is at least 0 and below 1")
    numbers = _draw(node, "uniform", x.spec.shape, x.spec.dtype)
    mask = node.one("greater_equal", [numbers, scalar(node, ratio, numbers)])
    grown = with_number(node, "multiply", x, 1 / (1 - ratio))
    nothing = node.constant(np.zeros((), x.spec.dtype.numpy))
    y = node.one("where", [mask, grown, nothing])
    return (y, mask if node.opset >= 10 else cast(node, mask, x.spec.dtype))[: node.output_count]


CONVERTERS: Mapping[str, Converter] = {
    "RandomNormal": _normal,
    "RandomNormalLike": _normal_like,
    "RandomUniform": _uniform,
    "RandomUniformLike": _uniform_like,
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "Dropout": _dropout,
}
