"""The single ops that `ops.py` measures, of sizes that models have: one line for each.

An operand is an array that each call is given, or `Held(array)`, which the model has; None is an
input that is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.tensor_spec import Array

OPSET = 19
"""Of nodes whose case says no other."""


@dataclass(frozen=True, eq=False)
class Held:
    """An input that is a constant of the model."""

    array: Array


Operand = Array | Held | None
Operands = Sequence[Operand]


@dataclass(frozen=True, eq=False)
class Case:
    """One node.

    Attributes:
        op: as ONNX has it.
        size: what tells it from other cases of the op.
        operands: its inputs.
        attrs: its attributes.
        outputs: how many it makes.
        opset: of which version it is.
        domain: whose it is.
    """

    op: str
    size: str
    operands: Operands
    attrs: dict[str, Any]
    outputs: int = 1
    opset: int = OPSET
    domain: str = ""

    @property
    def name(self) -> str:
        """`Softmax 128x1000`."""
        return f"{self.op} {self.size}"


_RANDOM = np.random.default_rng(0)


def _floats(*shape: int, dtype: Any = np.float32) -> Array:
    return _RANDOM.standard_normal(shape).astype(dtype)


def _numbers(*numbers: float) -> Held:
    return Held(np.array(numbers, np.float32))


def _positive(*shape: int) -> Array:
    drawn: Array = np.abs(_floats(*shape)) + np.float32(0.01)
    return drawn


def _below(high: int, *shape: int, dtype: Any = np.int64) -> Array:
    return _RANDOM.integers(0, high, shape).astype(dtype)


def _bytes(*shape: int) -> Array:
    return _below(255, *shape, dtype=np.uint8)


def _some(*shape: int) -> Array:
    return _RANDOM.random(shape) > 0.5


def _held(*numbers: int) -> Held:
    return Held(np.array(numbers))


def _scalar(number: float, dtype: Any = np.float32) -> Held:
    return Held(np.array(number, dtype))


def cases() -> Iterator[Case]:
    """All of them; numbers are the same in each process."""
    for family in (_elementwise, _rows, _windows, _products, _moves, _choices, _layers, _scores):
        yield from family()


def _elementwise() -> Iterator[Case]:
    for op in ("Tanh", "Sigmoid", "Erf", "Exp", "Log", "Softplus", "Elu"):
        yield Case(op, "1x512x20x20", [_positive(1, 512, 20, 20)], {})
        yield Case(op, "1x64", [_positive(1, 64)], {})
    yield Case("Gelu", "1x512x20x20", [_floats(1, 512, 20, 20)], {}, opset=20)
    inside = np.clip(_floats(1, 64, 32, 32), -0.99, 0.99)
    for op in ("Acos", "Asin", "Atan", "Atanh", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Asinh"):
        yield Case(op, "65k", [inside], {})
    yield Case("Acosh", "65k", [_positive(65536) + 1], {})
    for op in ("Sqrt", "Reciprocal", "Floor", "Round", "Neg", "Sign", "IsNaN", "Relu", "HardSwish"):
        yield Case(op, "128x512", [_positive(128, 512)], {})
    yield Case("LeakyRelu", "1x64x56x56", [_floats(1, 64, 56, 56)], {})
    yield Case("PRelu", "1x64x56x56", [_floats(1, 64, 56, 56), Held(_floats(64, 1, 1))], {})
    yield Case("Clip", "1x64x56x56", [_floats(1, 64, 56, 56), _scalar(0), _scalar(6)], {})
    yield Case("Add", "channels", [_floats(1, 64, 56, 56), _floats(1, 64, 1, 1)], {})
    yield Case("Add", "rows", [_floats(1, 128, 768), Held(_floats(768))], {})
    yield Case("Add", "int32", [_below(9, 65536, dtype=np.int32)] * 2, {})
    yield Case("Mul", "int64 rows", [_below(9, 128, 512), _below(9, 512)], {})
    yield Case("Mul", "1x64x56x56", [_floats(1, 64, 56, 56)] * 2, {})
    yield Case("Pow", "65k", [_positive(65536), _floats(65536)], {})
    yield Case("Mod", "65k", [_floats(65536), _positive(65536)], {"fmod": 1})
    yield Case("Where", "65k", [_some(65536), _floats(65536), _floats(65536)], {})
    masked: Operands = [_some(1, 1, 128, 128), _floats(1, 12, 128, 128), _scalar(-1e9)]
    yield Case("Where", "mask of 12x128x128", masked, {})
    yield Case("Equal", "int64 128x128", [_below(9, 128, 128), _below(9, 128, 128)], {})
    yield Case("Cast", "float to int64", [_floats(1, 64, 56, 56)], {"to": 7})
    yield Case("Cast", "bytes to float", [_bytes(1, 3, 224, 224)], {"to": 1})
    yield Case("Cast", "float to half", [_floats(1, 64, 56, 56)], {"to": 10})
    yield Case("Cast", "half to float", [_floats(1, 64, 56, 56, dtype=np.float16)], {"to": 1})
    yield Case("Cast", "int64 to float", [_below(1000, 128, 512)], {"to": 1})


def _rows() -> Iterator[Case]:
    yield Case("Softmax", "128x1000", [_floats(128, 1000)], {})
    yield Case("Softmax", "12x128x128", [_floats(1, 12, 128, 128)], {})
    yield Case("Softmax", "axis 1", [_floats(1, 21, 64, 64)], {"axis": 1})
    yield Case("LogSoftmax", "128x1000", [_floats(128, 1000)], {})
    yield Case("Hardmax", "128x1000", [_floats(128, 1000)], {})
    norm: Operands = [_floats(1, 128, 768), Held(_floats(768)), Held(_floats(768))]
    yield Case("LayerNormalization", "128x768", norm, {})
    narrow: Operands = [_floats(1, 3136, 96), Held(_floats(96)), Held(_floats(96))]
    yield Case("LayerNormalization", "3136x96", narrow, {})
    yield Case("LpNormalization", "128x512", [_floats(128, 512)], {"axis": -1, "p": 2})
    image, channel = _floats(1, 64, 56, 56), Held(_floats(64))
    yield Case("InstanceNormalization", "64x56x56", [image, channel, channel], {})
    grouped: Operands = [image, channel, channel]
    yield Case("GroupNormalization", "32 of 64x56x56", grouped, {"num_groups": 32}, opset=21)
    statistics: Operands = [image, channel, channel, channel, Held(_positive(64))]
    yield Case("BatchNormalization", "64x56x56", statistics, {})
    yield Case("LRN", "64x28x28", [_floats(1, 64, 28, 28)], {"size": 5})
    for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"):
        yield Case(op, "last of 128x768", [_floats(128, 768), _held(1)], {}, opset=18)
        yield Case(op, "first of 128x768", [_floats(128, 768), _held(0)], {}, opset=18)
    yield Case("ReduceMean", "64x56x56", [image, _held(2, 3)], {}, opset=18)
    yield Case("ReduceSum", "middle of 64x56x56", [image, _held(2)], {}, opset=18)
    yield Case("ReduceMax", "channels of 64x56x56", [image, _held(1)], {}, opset=18)
    for op in ("ArgMax", "ArgMin"):
        yield Case(op, "128x1000", [_floats(128, 1000)], {"axis": -1})
    yield Case("ArgMax", "axis 1", [_floats(1, 21, 128, 128)], {"axis": 1})
    yield Case("CumSum", "128x1000", [_floats(128, 1000), _scalar(1, np.int64)], {})


def _windows() -> Iterator[Case]:
    two = {"kernel_shape": [2, 2], "strides": [2, 2]}
    three = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}
    near = {"kernel_shape": [3, 3], "pads": [1] * 4}
    for op in ("MaxPool", "AveragePool"):
        yield Case(op, "2x2 64x112x112", [_floats(1, 64, 112, 112)], two)
        yield Case(op, "3x3 by 2", [_floats(1, 64, 112, 112)], three)
        yield Case(op, "3x3 64x56x56", [_floats(1, 64, 56, 56)], near)
        cube = {"kernel_shape": [2] * 3, "strides": [2] * 3}
        yield Case(op, "2x2x2", [_floats(1, 16, 8, 28, 28)], cube)
    yield Case("MaxPool", "with indices", [_floats(1, 64, 56, 56)], two, outputs=2)
    yield Case("LpPool", "2x2 64x28x28", [_floats(1, 64, 28, 28)], {**two, "p": 2}, opset=18)
    yield Case("GlobalAveragePool", "512x7x7", [_floats(1, 512, 7, 7)], {})
    places = 4 * np.arange(64 * 28 * 28).reshape(1, 64, 28, 28)
    yield Case("MaxUnpool", "2x2 64x28x28", [_floats(1, 64, 28, 28), places], two)
    columns: Operands = [_floats(1, 64 * 9, 784), _held(28, 28), _held(3, 3)]
    yield Case("Col2Im", "3x3 64x28x28", columns, {"pads": [1] * 4})
    weight = Held(_floats(64, 64, 3, 3))
    yield Case("Conv", "3x3 64x56x56", [_floats(1, 64, 56, 56), weight], {"pads": [1] * 4})
    weight = Held(_floats(64, 1, 3, 3))
    depthwise = {"pads": [1] * 4, "group": 64}
    yield Case("Conv", "depthwise 64x56x56", [_floats(1, 64, 56, 56), weight], depthwise)
    weight = Held(_floats(64, 64, 3))
    yield Case("Conv", "of one axis", [_floats(1, 64, 400), weight], {"pads": [1, 1]})
    weight = Held(_floats(64, 64, 3, 3))
    dilated = {"pads": [2] * 4, "dilations": [2, 2]}
    yield Case("Conv", "dilated 64x28x28", [_floats(1, 64, 28, 28), weight], dilated)
    weight = Held(_floats(64, 16, 3, 3))
    four = {"pads": [1] * 4, "group": 4}
    yield Case("Conv", "4 groups of 64x28x28", [_floats(1, 64, 28, 28), weight], four)
    weight = Held(_floats(64, 32, 2, 2))
    doubled = {"strides": [2, 2]}
    yield Case("ConvTranspose", "2x2 64x28x28", [_floats(1, 64, 28, 28), weight], doubled)
    weight = Held(_floats(64, 32, 4, 4))
    doubled = {"strides": [2, 2], "pads": [1] * 4}
    yield Case("ConvTranspose", "4x4 64x28x28", [_floats(1, 64, 28, 28), weight], doubled)
    boxes = _positive(100, 4) * 4 + np.array([0, 0, 20, 20], np.float32)
    rois = [_floats(1, 256, 50, 68), boxes, np.zeros(100, np.int64)]
    taken = {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 0.25}
    yield Case("RoiAlign", "100 of 256x50x68", rois, taken)
    for mode in ("linear", "nearest", "cubic"):
        doubled_image: Operands = [_floats(1, 64, 40, 40), None, _numbers(1, 1, 2, 2)]
        yield Case("Resize", f"{mode} 64x40x40", doubled_image, {"mode": mode})
    grid = [_floats(1, 16, 64, 64), _floats(1, 64, 64, 2).clip(-1, 1)]
    yield Case("GridSample", "16x64x64", grid, {}, opset=16)


def _products() -> Iterator[Case]:
    for dtype in (np.int32, np.int64, np.float64):
        name = np.dtype(dtype).name
        for rows, depth, columns in ((64, 64, 64), (128, 256, 256)):
            pair = [_below(9, rows, depth, dtype=dtype), _below(9, depth, columns, dtype=dtype)]
            yield Case("MatMul", f"{name} {rows}x{depth}x{columns}", pair, {})
    yield Case("MatMul", "12x128x64x128", [_floats(12, 128, 64), _floats(12, 64, 128)], {})
    yield Case("Gemm", "32x512x512", [_floats(32, 512), Held(_floats(512, 512))], {})
    yield Case("Gemm", "32x512x512 anew", [_floats(32, 512), _floats(512, 512)], {})
    integers: Operands = [_bytes(32, 512), Held(_bytes(512, 512))]
    yield Case("MatMulInteger", "32x512x512", integers, {}, opset=10)
    yield Case("Det", "64x4x4", [_floats(64, 4, 4)], {})
    yield Case("Det", "3x32x32", [_floats(3, 32, 32)], {})
    pair = [_floats(12, 128, 64), _floats(12, 128, 64)]
    yield Case("Einsum", "12x128x64", pair, {"equation": "bid,bjd->bij"})


def _moves() -> Iterator[Case]:
    for perm in ((0, 2, 3, 1), (0, 3, 1, 2)):
        yield Case("Transpose", f"64x56x56 {perm}", [_floats(1, 64, 56, 56)], {"perm": perm})
    for perm in ((0, 2, 1, 3), (0, 2, 3, 1)):
        yield Case("Transpose", f"128x12x64 {perm}", [_floats(1, 128, 12, 64)], {"perm": perm})
    yield Case("Concat", "channels", [_floats(1, 64, 40, 40)] * 2, {"axis": 1})
    yield Case("Concat", "last", [_floats(1, 1000, 4), _floats(1, 1000, 80)], {"axis": -1})
    yield Case("Split", "last of 128x2304", [_floats(1, 128, 2304)], {"axis": 2}, 3, opset=13)
    bounds = [_held(0, 0), _held(80, 80), _held(2, 3), _held(2, 2)]
    yield Case("Slice", "every other", [_floats(1, 64, 80, 80), *bounds], {})
    margin = _held(0, 0, 1, 1, 0, 0, 1, 1)
    for mode in ("constant", "reflect", "edge"):
        yield Case("Pad", f"{mode} 64x56x56", [_floats(1, 64, 56, 56), margin], {"mode": mode})
    yield Case("Expand", "12x128x128", [_floats(1, 1, 128), _held(12, 128, 128)], {})
    yield Case("Tile", "64x20x20", [_floats(1, 64, 20, 20), _held(1, 1, 2, 2)], {})
    for op in ("SpaceToDepth", "DepthToSpace"):
        yield Case(op, "64x80x80", [_floats(1, 64, 80, 80)], {"blocksize": 2})
    yield Case("Gather", "128 of 1000x768", [_floats(1000, 768), _below(1000, 1, 128)], {})
    elements = [_floats(512, 512), _below(512, 512, 512)]
    yield Case("GatherElements", "512x512", elements, {"axis": -1})
    yield Case("GatherND", "500 of 1000x64", [_floats(1000, 64), _below(1000, 500, 1)], {})
    updated: Operands = [_floats(1000, 64), _below(1000, 500, 1), _floats(500, 64)]
    yield Case("ScatterND", "500 of 1000x64", updated, {})
    scattered: Operands = [_floats(512, 512), _below(512, 512, 64), _floats(512, 64)]
    yield Case("ScatterElements", "512x64", scattered, {"axis": 1})
    hot: Operands = [_below(1000, 128), _scalar(1000, np.int64), _numbers(0, 1)]
    yield Case("OneHot", "128x1000", hot, {})
    yield Case("Trilu", "12x128x128", [_floats(12, 128, 128)], {})


def _choices() -> Iterator[Case]:
    yield Case("Compress", "rows of 1000x85", [_floats(1000, 85), _some(1000)], {"axis": 0})
    yield Case("Compress", "columns", [_floats(100, 1000), _some(1000)], {"axis": 1})
    yield Case("Compress", "85k", [_floats(85000), _some(85000)], {})
    yield Case("NonZero", "300x300", [_some(300, 300)], {})
    yield Case("TopK", "5 of 1000", [_floats(128, 1000), _held(5)], {}, outputs=2)
    yield Case("TopK", "1000 of 25200", [_floats(1, 25200), _held(1000)], {}, outputs=2)
    yield Case("Unique", "1000", [_below(99, 1000)], {})
    corners = np.sort(_RANDOM.random((1, 1000, 2, 2)).astype(np.float32), axis=2)
    limits = [_held(100), _numbers(0.5), _numbers(0.3)]
    scores = _RANDOM.random((1, 1, 1000)).astype(np.float32)
    boxes: Operands = [corners.reshape(1, 1000, 4), scores, *limits]
    yield Case("NonMaxSuppression", "100 of 1000", boxes, {})


def _layers() -> Iterator[Case]:
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for hidden in (64, 256):
            rows = gates * hidden
            weights = [Held(0.1 * _floats(1, rows, 64)), Held(0.1 * _floats(1, rows, hidden))]
            operands: Operands = [_floats(50, 1, 64), *weights]
            yield Case(op, f"50 steps of {hidden}", operands, {"hidden_size": hidden})
    yield Case("DynamicQuantizeLinear", "128x768", [_floats(128, 768)], {}, outputs=3, opset=11)
    scale, zero = _scalar(0.02), _scalar(128, np.uint8)
    yield Case("QuantizeLinear", "64x56x56", [_floats(1, 64, 56, 56), scale, zero], {})
    yield Case("DequantizeLinear", "64x56x56", [_bytes(1, 64, 56, 56), scale, zero], {})
    scales, zeros = Held(_positive(64)), Held(_bytes(64))
    yield Case("QuantizeLinear", "by channel", [_floats(1, 64, 56, 56), scales, zeros], {"axis": 1})
    weight = _bytes(64, 576)
    yield Case("DequantizeLinear", "by row of 64x576", [weight, scales, zeros], {"axis": 0})
    yield Case("DFT", "512", [_floats(1, 512, 1)], {"axis": 1}, opset=17)


def _scores() -> Iterator[Case]:
    """Support vectors, of as many classes."""
    for classes, rows in ((3, 1), (3, 100), (10, 100)):
        pairs, supports, features = classes * (classes - 1) // 2, 20 * classes, 16
        attrs = {
            "classlabels_ints": list(range(classes)),
            "coefficients": _floats(supports * (classes - 1)).tolist(),
            "kernel_params": [0.1, 0.0, 3.0],
            "kernel_type": "RBF",
            "prob_a": (-_positive(pairs)).tolist(),
            "prob_b": _floats(pairs).tolist(),
            "rho": _floats(pairs).tolist(),
            "support_vectors": _floats(supports * features).tolist(),
            "vectors_per_class": [20] * classes,
        }
        yield Case(
            "SVMClassifier", f"{classes} classes of {rows}", [_floats(rows, features)], attrs,
            outputs=2, opset=1, domain="ai.onnx.ml",
        )  # fmt: skip
