"""Quantized models whose weights are as large as those of real ones: exact, in every shape.

Weights of a page and more are read, folded and packed when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from headrace.onnx import load
from headrace.tensor_spec import Array

RNG = np.random.default_rng(0)
X_ZERO, Y_ZERO, Y_SCALE = 131, 120, np.float32(64)


def signed(*shape: int) -> Array:
    return RNG.integers(-127, 128, shape).astype(np.int8)


MATRIX, KERNELS, TAPS = signed(160, 192), signed(48, 32, 3, 3), signed(512, 1, 3, 3)
ONE = np.float32(1)


class Case(NamedTuple):
    """A product of bytes.

    Attributes:
        nodes: what makes y of x; ``w`` is the weight.
        weight: int8.
        row: the shape of one of the batch.
        sums: the exact sums, int64, of x without its zero point.
    """

    nodes: list[onnx.NodeProto]
    weight: Array
    row: tuple[int, ...]
    sums: Callable[[Array], Array]


def products(x: Array) -> Array:
    return x @ MATRIX.astype(np.int64)


def convolved(x: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    made: Array = np.einsum("nchwij,mcij->nmhw", windows, KERNELS.astype(np.int64))
    return made


def convolved_by_channel(x: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    made: Array = np.einsum("nchwij,cij->nchw", windows, TAPS[:, 0].astype(np.int64))
    return made


def rescaled(op: str, **attrs: Any) -> list[onnx.NodeProto]:
    """An op between numbers that are dequantized before and quantized after it."""
    return [
        helper.make_node("DequantizeLinear", ["x", "one", "x_zero"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", "one", "w_zero"], ["b"]),
        helper.make_node(op, ["a", "b"], ["c"], **attrs),
        helper.make_node("QuantizeLinear", ["c", "y_scale", "y_zero"], ["y"]),
    ]


LINEAR = ["x", "one", "x_zero", "w", "one", "w_zero", "y_scale", "y_zero"]
SUMS = {
    "MatMulInteger": Case(
        [helper.make_node("MatMulInteger", ["x", "w", "x_zero"], ["y"])], MATRIX, (160,), products
    ),
    "ConvInteger": Case(
        [helper.make_node("ConvInteger", ["x", "w", "x_zero"], ["y"])],
        KERNELS,
        (32, 9, 7),
        convolved,
    ),
}
BYTES = {
    "QLinearMatMul": Case(
        [helper.make_node("QLinearMatMul", LINEAR, ["y"])], MATRIX, (160,), products
    ),
    "QLinearConv": Case(
        [helper.make_node("QLinearConv", LINEAR, ["y"])], KERNELS, (32, 9, 7), convolved
    ),
    "MatMul": Case(rescaled("MatMul"), MATRIX, (160,), products),
    "Conv": Case(rescaled("Conv"), KERNELS, (32, 9, 7), convolved),
    "Conv by channel": Case(rescaled("Conv", group=512), TAPS, (512, 6, 5), convolved_by_channel),
}


def model(case: Case) -> ModelProto:
    """The model, for any batch."""
    weights = {
        "w": case.weight,
        "one": ONE,
        "x_zero": np.uint8(X_ZERO),
        "w_zero": np.int8(0),
        "y_scale": Y_SCALE,
        "y_zero": np.uint8(Y_ZERO),
    }
    graph = helper.make_graph(
        case.nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, ["n", *case.row])],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def requantized(sums: Array) -> Array:
    """Halves go to the even side."""
    made: Array = np.clip(np.rint(sums / np.float64(Y_SCALE)) + Y_ZERO, 0, 255)
    return made


@pytest.mark.parametrize("name", [*SUMS, *BYTES])
@pytest.mark.parametrize("from_file", [False, True])
def test_a_product_of_bytes_is_exact(
    name: str, from_file: bool, device: str, tmp_path: Path
) -> None:
    """For the first batch and for others; from a file, and from memory."""
    case = SUMS.get(name) or BYTES[name]
    made = model(case)
    path = tmp_path / "m.onnx"
    onnx.save(made, path)
    with load(path if from_file else made.SerializeToString(), device) as loaded:
        for batch in (3, 1, 5):
            x = RNG.integers(0, 256, (batch, *case.row)).astype(np.uint8)
            sums = case.sums(x.astype(np.int64) - X_ZERO)
            wanted = sums if name in SUMS else requantized(sums)
            np.testing.assert_array_equal(loaded.run({"x": x})["y"], wanted)
