"""Models that onnxruntime's own tools have quantized, or fused: headrace computes what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from headrace.onnx import load
from headrace.onnx.file.keys import MICROSOFT
from headrace.tensor_spec import Array

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

BATCH, STEPS, HIDDEN, HEADS = 2, 6, 16, 2


class Writer:
    """Writes a model node by node; weights are random, of one seed."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(3)
        self._nodes: list[Any] = []
        self._weights: dict[str, Array] = {}

    def op(self, op: str, *inputs: str, count: int = 1, **attrs: Any) -> Any:
        """The name of the output, or of all of them."""
        made = [f"t{len(self._nodes)}_{index}" for index in range(count)]
        self._nodes.append(helper.make_node(op, inputs, made, **attrs))
        return made[0] if count == 1 else made

    def random(self, *shape: int) -> str:
        """A weight."""
        return self.constant(self._random.uniform(-0.5, 0.5, shape).astype(np.float32))

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """A weight."""
        name = f"w{len(self._weights)}"
        self._weights[name] = np.asarray(value, dtype)
        return name

    def model(self, inputs: dict[str, tuple[int, ...]], output: str) -> ModelProto:
        """The model."""
        graph = helper.make_graph(
            self._nodes,
            "g",
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in inputs.items()
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in self._weights.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def linear(w: Writer, x: str, rows: int, columns: int) -> str:
    return str(w.op("Add", w.op("MatMul", x, w.random(rows, columns)), w.random(columns)))


def layer_norm(w: Writer, x: str) -> str:
    """Written out, as exporters wrote it before ONNX had the op."""
    centred = w.op("Sub", x, w.op("ReduceMean", x, axes=[-1], keepdims=1))
    squares = w.op("Pow", centred, w.constant(2))
    variance = w.op("ReduceMean", squares, axes=[-1], keepdims=1)
    deviation = w.op("Sqrt", w.op("Add", variance, w.constant(1e-5)))
    normal = w.op("Mul", w.op("Div", centred, deviation), w.random(HIDDEN))
    return str(w.op("Add", normal, w.random(HIDDEN)))


def heads(w: Writer, x: str, perm: list[int]) -> str:
    shape = w.constant([0, 0, HEADS, HIDDEN // HEADS], np.int64)
    return str(w.op("Transpose", w.op("Reshape", x, shape), perm=perm))


def gelu(w: Writer, x: str) -> str:
    """Written out."""
    bent = w.op("Erf", w.op("Div", x, w.constant(np.sqrt(2))))
    return str(w.op("Mul", w.op("Mul", x, w.op("Add", bent, w.constant(1))), w.constant(0.5)))


def transformer() -> ModelProto:
    """A layer as PyTorch exports it: attention, normalisations and a gelu, all written out."""
    w = Writer()
    q = heads(w, linear(w, "x", HIDDEN, HIDDEN), [0, 2, 1, 3])
    k = heads(w, linear(w, "x", HIDDEN, HIDDEN), [0, 2, 3, 1])
    v = heads(w, linear(w, "x", HIDDEN, HIDDEN), [0, 2, 1, 3])
    scores = w.op("Div", w.op("MatMul", q, k), w.constant(np.sqrt(HIDDEN // HEADS)))
    seen = w.op("MatMul", w.op("Softmax", scores, axis=-1), v)
    seen = w.op("Transpose", seen, perm=[0, 2, 1, 3])
    seen = w.op("Reshape", seen, w.constant([0, 0, HIDDEN], np.int64))
    x = layer_norm(w, w.op("Add", linear(w, seen, HIDDEN, HIDDEN), "x"))
    wide = gelu(w, linear(w, x, HIDDEN, 4 * HIDDEN))
    y = layer_norm(w, w.op("Add", linear(w, wide, 4 * HIDDEN, HIDDEN), x))
    return w.model({"x": (BATCH, STEPS, HIDDEN)}, y)


def convolutions() -> ModelProto:
    """Convolutions, of which one is added to another, with activations."""
    w = Writer()
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    a = w.op("Relu", w.op("Conv", "x", w.random(4, 3, 3, 3), w.random(4), **window))
    b = w.op("Conv", a, w.random(4, 4, 3, 3), w.random(4), **window)
    y = w.op("LeakyRelu", w.op("Add", b, a), alpha=0.1)
    y = w.op("Sigmoid", w.op("Conv", y, w.random(2, 4, 3, 3), w.random(2), **window))
    y = w.op("Concat", w.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]),
             w.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), axis=1)  # fmt: skip
    y = w.op("Mul", y, w.op("GlobalAveragePool", y))
    y = w.op("Relu", w.op("Gemm", w.op("Flatten", y), w.random(4 * 16, 5), w.random(5)))
    return w.model({"x": (1, 3, 8, 8)}, y)


def mobile() -> ModelProto:
    """As nets for small machines are: channels by themselves, then mixed, and added to before."""
    w = Writer()
    low, high = w.constant(0), w.constant(6)
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}

    def mixed(x: str, channels: int, made: int, size: int = 1, **window: Any) -> str:
        return str(w.op("Conv", x, w.random(made, channels, size, size), w.random(made), **window))

    def alone(x: str, channels: int, **window: Any) -> str:
        weights = w.random(channels, 1, 3, 3), w.random(channels)
        y = w.op("Conv", x, *weights, group=channels, **same, **window)
        return str(w.op("Clip", y, low, high))

    x = w.op("Relu", mixed("x", 3, 16, 3, strides=[2, 2], **same))
    x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = alone(str(w.op("Clip", mixed(x, 16, 70), low, high)), 70)
    x = w.op("Add", mixed(y, 70, 16), x)
    y = alone(str(w.op("Relu", mixed(x, 16, 96))), 96, strides=[2, 2])
    y = w.op("Flatten", w.op("GlobalAveragePool", mixed(y, 96, 20)))
    return w.model({"x": (1, 3, 32, 32)}, w.op("Gemm", y, w.random(20, 5), w.random(5)))


def recurrent() -> ModelProto:
    """An LSTM in both directions, and a product of what it gives."""
    w = Writer()
    weights = [w.random(2, 4 * 8, HIDDEN), w.random(2, 4 * 8, 8), w.random(2, 8 * 8)]
    y, _, _ = w.op("LSTM", "x", *weights, count=3, hidden_size=8, direction="bidirectional")
    y = w.op("Transpose", y, perm=[0, 2, 1, 3])
    y = w.op("Reshape", y, w.constant([0, 0, 16], np.int64))
    return w.model({"x": (STEPS, BATCH, HIDDEN)}, linear(w, y, 16, 8))


MODELS = {"transformer": transformer, "convolutions": convolutions, "recurrent": recurrent}


def session(source: str | bytes, **options: Any) -> Any:
    own = ort.SessionOptions()
    own.intra_op_num_threads = 1
    for name, value in options.items():
        setattr(own, name, value)
    return ort.InferenceSession(source, own, providers=["CPUExecutionProvider"])


def optimised(model: ModelProto, folder: Path) -> ModelProto:
    """A model as onnxruntime saves it at its level ``extended``."""
    path = str(folder / "optimised.onnx")
    level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    session(
        model.SerializeToString(), graph_optimization_level=level, optimized_model_filepath=path
    )
    return onnx.load(path)


def quantized(model: ModelProto, folder: Path, **options: Any) -> ModelProto:
    """A model with integer weights, as ``quantize_dynamic`` makes it.

    They have seven bits, which the tool calls a reduced range: larger ones saturate in onnxruntime
    on x86 without VNNI.
    """
    tools = pytest.importorskip("onnxruntime.quantization")
    plain, path = str(folder / "plain.onnx"), str(folder / "quantized.onnx")
    onnx.save(model, plain)
    tools.quantize_dynamic(plain, path, reduce_range=True, **options)
    return onnx.load(path)


def calibrated(
    model: ModelProto, folder: Path, form: str = "QOperator", **options: Any
) -> ModelProto:
    """A model of quantized tensors throughout, as ``quantize_static`` makes it.

    Weights as ``quantized`` says.
    """
    tools = pytest.importorskip("onnxruntime.quantization")
    plain, path = str(folder / "plain.onnx"), str(folder / "calibrated.onnx")
    onnx.save(model, plain)

    class Samples(tools.CalibrationDataReader):  # type: ignore[misc, name-defined]
        """One sample."""

        def __init__(self) -> None:
            self._left = [{"x": feed_of(model)}]

        def get_next(self) -> dict[str, Array] | None:
            return self._left.pop() if self._left else None

    how = tools.QuantFormat[form]
    tools.quantize_static(plain, path, Samples(), quant_format=how, reduce_range=True, **options)
    return onnx.load(path)


def feed_of(model: ModelProto) -> Array:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    shape = [dim.dim_value for dim in dims]
    return np.random.default_rng(4).uniform(-1, 1, shape).astype(np.float32)


def compare(device: str, model: ModelProto, x: Array, atol: float) -> None:
    """What the device makes of it, and onnxruntime of the same file."""
    (want,) = session(model.SerializeToString()).run(None, {"x": x})
    with load(model, device) as loaded:
        (got,) = loaded.run({"x": x}).values()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", MODELS)
def test_models_that_were_optimised(device: str, tmp_path: Path, name: str) -> None:
    """Every fusion that onnxruntime does of them is imported."""
    model = MODELS[name]()
    compare(device, optimised(model, tmp_path), feed_of(model), 1e-5)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_models_that_were_quantized(
    device: str, tmp_path: Path, name: str, per_channel: bool, fused: bool
) -> None:
    """Weights have one scale, or one for each column; products may be fused with theirs."""
    model = MODELS[name]()
    made = quantized(model, tmp_path, per_channel=per_channel)
    compare(device, optimised(made, tmp_path) if fused else made, feed_of(model), 0.02)


def test_a_model_of_quantized_tensors(device: str, tmp_path: Path) -> None:
    """A number that is one off, where a tie falls, is what later ones may differ by."""
    model = convolutions()
    compare(device, calibrated(model, tmp_path), feed_of(model), 0.02)


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("activations", ["QUInt8", "QInt8"])
def test_a_net_for_small_machines(
    device: str, tmp_path: Path, form: str, per_channel: bool, activations: str
) -> None:
    """Its convolutions are quantized as a whole or by channels, its tensors with a sign or not."""
    tools = pytest.importorskip("onnxruntime.quantization")
    options = {"activation_type": tools.QuantType[activations], "per_channel": per_channel}
    model = mobile()
    made = calibrated(model, tmp_path, form, weight_type=tools.QuantType.QInt8, **options)
    compare(device, made, feed_of(model), 0.06)  # two steps of the output


def test_the_tools_write_their_own_ops(tmp_path: Path) -> None:
    """Did they not, nothing here would be tested."""
    made = [optimised(make(), tmp_path) for make in MODELS.values()]
    made += [optimised(quantized(make(), tmp_path), tmp_path) for make in MODELS.values()]
    made.append(calibrated(convolutions(), tmp_path))
    ops = {node.op_type for model in made for node in model.graph.node if node.domain == MICROSOFT}
    assert ops >= {
        *("FusedConv", "FusedGemm", "FusedMatMul", "Gelu", "SkipLayerNormalization"),
        *("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"),
        *("QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid", "QLinearLeakyRelu"),
        *("QLinearAveragePool", "QLinearGlobalAveragePool", "QGemm"),
    }
