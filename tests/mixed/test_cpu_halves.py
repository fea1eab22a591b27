"""Jobs of float16 and bfloat16 that the CPU backend computes in float32."""

import ml_dtypes
import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import headrace as flow
import headrace.typing as tp

RNG = np.random.default_rng(0)
HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def job_of(body, *arrays):
    """What a job makes on the device, and its ops."""
    with flow.Session() as session:
        kinds = [tp.Numpy.Placeholder(array.shape, dtype=array.dtype) for array in arrays]
        a, b = (*kinds, *kinds)[:2]

        @flow.global_function(session=session)
        def job(x: a, y: b) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return body(x, y)

        made = job(*arrays)
        return made, [op.op for op in session.explain("job").ops]


def halves(name, *shape):
    return RNG.standard_normal(shape).astype(np.float32).astype(HALVES[name])


@pytest.mark.parametrize("name", HALVES)
def test_a_chain_is_rounded_once(name):
    """What lies between two ops keeps the bits that a half has not."""
    x, y = halves(name, 40, 30), halves(name, 40, 30)
    made, _ = job_of(lambda a, b: (a * b + a) * b - a, x, y)
    a, b = x.astype(np.float32), y.astype(np.float32)
    assert made.dtype == x.dtype
    assert np.array_equal(made, ((a * b + a) * b - a).astype(x.dtype))


@pytest.mark.parametrize("name", HALVES)
def test_a_chain_is_one_program(name):
    """Halves are read, computed and rounded in one pass over memory."""
    x, y = halves(name, 40, 30), halves(name, 40, 30)
    _, ops = job_of(lambda a, b: flow.relu(a * b + a), x, y)
    assert [op.partition("(")[0] for op in ops] == ["cpu.elementwise"]


@pytest.mark.parametrize("name", HALVES)
def test_what_can_be_seen_is_rounded_before(name):
    """A sum that rounds to one of its terms equals it, has its floor, and casts to it."""
    dtype = HALVES[name]
    ones, little = np.ones(20, dtype), np.full(20, -1e-4, dtype)

    def body(a, b):
        low = a + b
        same = flow.cast(flow.apply_op("equal", [low, a]), "float32")
        return (
            same + flow.cast(flow.apply_op("floor", [low]), "float32") + flow.cast(low, "float32")
        )

    made, _ = job_of(body, ones, little)
    assert np.array_equal(made, np.full(20, 3, np.float32))


@pytest.mark.parametrize("name", HALVES)
def test_what_is_only_moved_stays_half(name):
    """No number is cast where none is computed."""
    x, y = halves(name, 4, 6), halves(name, 4, 6)
    made, ops = job_of(lambda a, b: flow.transpose(flow.concat([a, b], 0), (1, 0)), x, y)
    assert np.array_equal(made, np.concatenate([x, y]).T)
    assert not [op for op in ops if "cast" in op]


def net():
    """A net of convolutions, a batch norm, a pool and a product, all of it float16."""

    def weight(name, *shape):
        array = RNG.standard_normal(shape) * np.prod(shape[1:]) ** -0.5
        return numpy_helper.from_array(array.astype(np.float16), name)

    weights = [
        weight("w1", 16, 3, 3, 3), weight("b1", 16), weight("w2", 32, 16, 1, 1),
        weight("w3", 32, 1, 3, 3), weight("gamma", 32), weight("beta", 32), weight("mean", 32),
        numpy_helper.from_array(np.full(32, 1.5, np.float16), "variance"),
        weight("w4", 32, 10),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"]),
        helper.make_node("BatchNormalization", ["c2", "gamma", "beta", "mean", "variance"], ["n2"]),
        helper.make_node("Relu", ["n2"], ["r2"]),
        helper.make_node("Conv", ["r2", "w3"], ["c3"], pads=[1, 1, 1, 1], group=32),
        helper.make_node("Sigmoid", ["c3"], ["s3"]),
        helper.make_node("Mul", ["c3", "s3"], ["m3"]),
        helper.make_node("MaxPool", ["m3"], ["p3"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p3"], ["a3"]),
        helper.make_node("Flatten", ["a3"], ["f3"]),
        helper.make_node("MatMul", ["f3", "w4"], ["m4"]),
        helper.make_node("Softmax", ["m4"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, 3, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 10])],
        weights,
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=opset).SerializeToString()


def test_a_net_of_float16_is_as_onnxruntime_has_it():
    """Within a unit in the last place; convolutions take in what follows them, as in float32."""
    x = halves("float16", 2, 3, 12, 12)
    model = net()
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    (right,) = session.run(None, {"x": x})
    loaded = flow.onnx.load(model, device="cpu")
    made = loaded.run({"x": x})["y"]
    assert made.dtype == np.float16
    np.testing.assert_allclose(made.astype(np.float32), right.astype(np.float32), rtol=2**-10)
    ops = [op.op for op in loaded.explain({"x": x}).job.ops]
    assert [op.partition("(")[0] for op in ops] == [
        "transpose", "cast", "cpu.conv", "cpu.conv", "cpu.depthwise_conv", "max_pool",
        "reduce_mean", "reshape", "cpu.matmul", "softmax", "cast",
    ]  # fmt: skip
    assert "float16[1, 32, 16]" in ops[8]  # weights stay as they are


@pytest.mark.parametrize("name", HALVES)
def test_attention_is_one_op(name):
    """Also where what is not a number becomes zero: rounding makes no NaN."""
    q, k = halves(name, 2, 4, 16, 8), halves(name, 2, 4, 16, 8)

    def body(a, b):
        scores = flow.matmul(a, b, transpose_b=True)
        weights = flow.softmax(scores)
        zero = np.zeros((), HALVES[name])
        nan = flow.apply_op("is_nan", [weights])
        return flow.matmul(flow.apply_op("where", [nan, zero, weights]), b)

    made, ops = job_of(body, q, k)
    assert [op.partition("(")[0] for op in ops if "cast" not in op] == ["cpu.attention"]
    a, b = q.astype(np.float64), k.astype(np.float64)
    weights = np.exp(a @ b.swapaxes(-1, -2))
    right = weights / weights.sum(-1, keepdims=True) @ b
    np.testing.assert_allclose(made.astype(np.float64), right, rtol=2**-7, atol=1e-3)
