"""Nodes of quantized models: versions, granularities, and what is told apart from what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import info, model, node

from headrace.compiler.passes.fold_late import fold_late
from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.graph import CORE_OPS
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array

X = np.array([[-1.5, 0.5, 2.5], [3.5, 100, -100]], np.float32)
CODES = np.array([[0, 1, 255], [3, 4, 5]], np.uint8)


def f(*values: Any) -> Array:
    return np.array(values, np.float32)


def u(*values: Any) -> Array:
    return np.array(values, np.uint8)


def folded(
    op: str, inputs: Sequence[Any], opset: int = 21, outputs: str = "y", **attrs: Any
) -> list[Array]:
    """The outputs of a model of one node whose inputs are all weights."""
    names = ["-" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    weights = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    infos = [info(name, None) for name in outputs.split()]
    made = model([node(op, " ".join(names), outputs, **attrs)], [], infos, weights, opset)
    for output in made.graph.output:
        output.ClearField("type")
    graph = Importer(read_model(made.SerializeToString()), Placement.of_device("near")).run({}, {})
    graph = fold_late(lambda: graph, CORE_OPS)
    return [graph.constants[tensor.name] for _, tensor in graph.outputs]


def one(op: str, inputs: Sequence[Any], opset: int = 21, **attrs: Any) -> Array:
    (value,) = folded(op, inputs, opset, **attrs)
    return value


@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23, 24, 25])
def test_without_a_zero_point_the_result_is_uint8(opset: int) -> None:
    """In every version; halves go to the even side and what is beyond stays at the limit."""
    y = one("QuantizeLinear", [X, np.float32(1)], opset)
    assert (y.dtype, y.tolist()) == (np.uint8, [[0, 0, 2], [4, 100, 0]])


def test_the_zero_point_says_the_dtype() -> None:
    """And is added after rounding."""
    y = one("QuantizeLinear", [X, np.float32(1), np.int8(5)])
    assert (y.dtype, y.tolist()) == (np.int8, [[3, 5, 7], [9, 105, -95]])


def test_output_dtype_says_it_where_there_is_no_zero_point() -> None:
    """From operator set 21 on."""
    y = one("QuantizeLinear", [X * 100, np.float32(1)], output_dtype=TensorProto.INT16)
    assert (y.dtype, y.tolist()) == (np.int16, [[-150, 50, 250], [350, 10000, -10000]])


def test_axis_is_1_unless_given() -> None:
    """One scale for each column, or with axis 0 for each row."""
    assert one("QuantizeLinear", [X, f(1, 0.5, 10)]).tolist() == [[0, 1, 0], [4, 200, 0]]
    assert one("QuantizeLinear", [X, f(0.5, 1)], axis=-2).tolist() == [[0, 1, 5], [4, 100, 0]]


def test_blocks_share_a_scale() -> None:
    """The last block of an axis may be shorter."""
    y = one("DequantizeLinear", [CODES, f([1, 10], [2, 20]), None], block_size=2)
    assert y.tolist() == [[0, 1, 2550], [6, 8, 100]]


def test_dequantizing_gives_the_dtype_of_the_scale_or_the_one_asked_for() -> None:
    """`output_dtype` is of operator set 23."""
    scale = np.float16(0.5)
    assert one("DequantizeLinear", [CODES, scale]).dtype == np.float16
    y = one("DequantizeLinear", [CODES, scale], 23, output_dtype=TensorProto.FLOAT)
    assert (y.dtype, y.tolist()) == (np.float32, [[0, 0.5, 127.5], [1.5, 2, 2.5]])


def test_dynamic_quantization_finds_scale_and_zero_point() -> None:
    """Of a range that always holds 0."""
    y, scale, zero = folded("DynamicQuantizeLinear", [f(1, 2, 5.1)], outputs="y s z")
    np.testing.assert_allclose(scale, 0.02, rtol=1e-6)
    assert (y.tolist(), zero.item()) == ([50, 100, 255], 0)


def test_dynamic_quantization_of_no_element_has_the_range_of_zero() -> None:
    """A batch of none goes through a quantized model, as through any other."""
    y, scale, zero = folded(
        "DynamicQuantizeLinear", [np.zeros((0, 3), np.float32)], outputs="y s z"
    )
    assert (y.shape, y.dtype) == ((0, 3), np.uint8)
    assert (scale.item(), zero.item()) == (0.0, 0)


def test_integer_products_take_zero_points_of_rows_and_columns() -> None:
    """A vector counts rows of A and columns of B."""
    b = np.array([[1, -2], [3, 4], [0, 1]], np.int8)
    y = one("MatMulInteger", [CODES, b, u(1, 2), np.array([1, 2], np.int8)])
    want = (CODES.astype(int) - [[1], [2]]) @ (b.astype(int) - [1, 2])
    assert (y.dtype, y.tolist()) == (np.int32, want.tolist())


def test_integer_convolution_pads_with_the_zero_point() -> None:
    """Padding stands for 0, which is the number that the zero point means."""
    x, w = u([[5, 7]]), np.array([[[2, 3]]], np.int8)
    assert one("ConvInteger", [x, w, u(5)[0]], pads=[1, 1]).tolist() == [[[0, 6, 4]]]
    assert one("ConvInteger", [x, w], pads=[1, 1]).tolist() == [[[15, 31, 14]]]


def test_quantized_products_are_scaled_back() -> None:
    """By the scales of both inputs over that of the output; ties go to the even side."""
    a, b = u([2, 4]), u([1], [3])
    scales = [np.float32(0.5), np.float32(1), np.float32(2)]
    args = [a, scales[0], u(0)[0], b, scales[1], u(0)[0], scales[2], u(9)[0]]
    assert one("QLinearMatMul", args).tolist() == [[9 + 4]]  # 14 * 0.5 / 2 = 3.5


def test_quantized_convolution_adds_its_bias_before_scaling() -> None:
    """Bias counts in the product of the scales, of which each filter may have its own."""
    x, w = u([[2, 4]]), np.array([[[1]], [[2]]], np.int8)
    zero = np.zeros(2, np.int8)
    args = [x, f(1)[0], u(0)[0], w, f(1, 0.5), zero, f(2)[0], u(0)[0], np.array([6, 8], np.int32)]
    assert one("QLinearConv", args, 10).tolist() == [[[4, 5], [3, 4]]]


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("QuantizeLinear", [X, f(1, 2)], {}, "scale is"),
        ("QuantizeLinear", [X, f(1), u(1, 2)], {}, "zero_point is"),
        ("QuantizeLinear", [X, f([1, 2], [1, 2])], {}, "block_size is not given"),
        ("QuantizeLinear", [X, f([1, 2], [1, 2])], {"block_size": 3}, "scale is"),
        ("QuantizeLinear", [X, f(1), u(1)], {"output_dtype": TensorProto.INT8}, "output_dtype"),
        ("MatMulInteger", [CODES, CODES], {}, "inner sizes differ"),
        ("MatMulInteger", [CODES, CODES.T, u(1, 2, 3)], {}, "a_zero_point"),
    ],
)
def test_what_does_not_fit_is_refused(
    op: str, inputs: list[Array], attrs: dict[str, Any], message: str
) -> None:
    """The error says which input or attribute, and what it would have to be."""
    with pytest.raises(InvalidModelError, match=message):
        one(op, inputs, **attrs)


def test_quotients_in_half_precision_are_refused() -> None:
    """They would round twice; nothing is computed in another precision than the one asked for."""
    with pytest.raises(UnsupportedModelError, match="precision is float16"):
        one("QuantizeLinear", [X, np.float32(1)], 23, precision=TensorProto.FLOAT16)
