"""Products with weights of few bits: numbers against plain sums, and how models come to them."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import headrace as flow
import headrace_cpu
from headrace_cpu import _native

RNG = np.random.default_rng(0)


def packed(matrix):
    """A matrix [columns, depth] in panels."""
    panels = np.full((-(-matrix.shape[0] // 16), matrix.shape[1], 16), 77, matrix.dtype)
    _native.pack(matrix, panels, 1, True)()
    return panels


def stored(columns, depth, bits, size, *, zeros):
    """Bytes, scales and zero points of a matrix at random, all [columns, ...]."""
    blocks = -(-depth // size)
    matrix = RNG.integers(0, 256, (columns, blocks * size * bits // 8), np.uint8)
    scales = RNG.choice(np.array([0.25, 0.5, 1, 2], np.float32), (columns, blocks))
    points = RNG.integers(0, 1 << bits, (columns, blocks), np.uint8) if zeros else None
    return matrix, scales, points


def matrix_of(matrix, scales, points, depth, bits, size):
    """What the bytes stand for, float64[depth, columns]."""
    numbers = np.zeros((depth, len(matrix)))
    for k in range(depth):
        byte, place = divmod(k * bits, 8)
        number = (matrix[:, byte].astype(int) >> place) % (1 << bits)
        zero = 1 << bits - 1 if points is None else points[:, k // size].astype(int)
        numbers[k] = (number - zero) * scales[:, k // size].astype(np.float64)
    return numbers


def memory_for(x, size):
    """In which x is rounded."""
    return np.full(len(x) * -(-x.shape[1] // size) * (size + 8), 77, np.uint8)


def rounded_by(x, size):
    """Numbers as multiples of the largest of their block by 127, float64; ties are where products
    with the inverse in float32 have them."""
    made = np.zeros(x.shape)
    for begin in range(0, x.shape[1], size):
        block = x[:, begin : begin + size]
        largest = np.abs(block).max(1, keepdims=True)
        inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
        made[:, begin : begin + size] = np.rint(block * inverse) * (largest.astype(float) / 127)
    return made


def product(x, weights, y, bits, size, bias=None, addend=None, activation="none", *, last=False,
            rounds=False):  # fmt: skip
    """The launch."""
    matrix, scales, points = weights
    zeros = None if points is None else packed(points)
    given = _native.BlockWeights(packed(matrix.view(np.uint32)), packed(scales), zeros, bits, size)
    memory = memory_for(x, size) if rounds else None
    epilogue = _native.Epilogue(bias, addend, activation, -0.5, 2.0, last)
    return _native.block_matmul(x, given, memory, y, epilogue)


SIZES = [(0, 16), (1, 16), (61, 32), (64, 16), (131, 48)]


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 23])
@pytest.mark.parametrize("columns", [1, 33, 150])
def test_a_product_of_any_size(rows, columns, rounds):
    """Numbers whose sums are exact in any order; nothing beside y is written."""
    for (depth, size), bits, zeros in itertools.product(SIZES, (2, 4, 8), (False, True)):
        weights = stored(columns, depth, bits, size, zeros=zeros)
        x = RNG.integers(-4, 5, (rows, depth)).astype(np.float32)
        if rounds:  # nothing is lost of them, and steps are whole
            x[:, ::size] = 127
        around = np.full(rows * columns + 64, 7, np.float32)
        y = around[32:-32].reshape(rows, columns)
        product(x, weights, y, bits, size, rounds=rounds)()
        want = x @ matrix_of(*weights, depth, bits, size)
        np.testing.assert_array_equal(y, want, err_msg=f"{depth=} {size=} {bits=} {zeros=}")
        assert (around[:32] == 7).all()
        assert (around[-32:] == 7).all()


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_it_is_the_same_on_any_number_of_threads(rows, bits, rounds):
    """Every bit of it, and near the sum in float64."""
    depth, columns, size = 1000, 700, 32
    weights = stored(columns, depth, bits, size, zeros=True)
    x = RNG.standard_normal((rows, depth), np.float32)
    made = []
    for threads in (1, 2, 3):
        headrace_cpu.set_threads(threads)
        made.append(np.full((rows, columns), np.nan, np.float32))
        product(x, weights, made[-1], bits, size, rounds=rounds)()
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    matrix = matrix_of(*weights, depth, bits, size)
    bound = np.abs(x).astype(np.float64) @ np.abs(matrix)
    want = (rounded_by(x, size) if rounds else x) @ matrix
    assert (np.abs(made[0] - want) <= 1e-5 * bound + 1e-6).all()


def test_rounding_keeps_what_is_no_number_and_what_is_nothing():
    """A NaN stays one, an infinity is no number that is small, and a block of zeros is zero."""
    weights = stored(16, 64, 4, 32, zeros=False)
    x = np.zeros((4, 64), np.float32)
    x[1, 40], x[2, 3], x[3, 5] = np.nan, np.inf, 1e-40
    y = np.full((4, 16), 7, np.float32)
    product(x, weights, y, 4, 32, rounds=True)()
    assert not y[0].any()
    assert np.isnan(y[1]).all()
    assert not np.isfinite(y[2]).any()
    assert (np.abs(y[3]) < 1e-30).all()


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("last", [False, True])
def test_what_follows_it(rows, last, rounds):
    """A bias, an addend whose memory is that of the result, and an activation."""
    depth, columns = 64, 50
    weights = stored(columns, depth, 4, 32, zeros=False)
    x = RNG.standard_normal((rows, depth), np.float32)
    bias = RNG.standard_normal(columns, np.float32)
    y = RNG.standard_normal((rows, columns), np.float32)
    left = rounded_by(x, 32) if rounds else x
    sums = left @ matrix_of(*weights, depth, 4, 32) + bias
    want = sums / (1 + np.exp(-sums)) + y if last else (sums + y) / (1 + np.exp(-sums - y))
    product(x, weights, y, 4, 32, bias, y, "silu", last=last, rounds=rounds)()
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-4)


def test_what_does_not_fit_is_refused():
    """Bits that there are not, a block that ends within a word, panels of another size."""
    matrix, scales, points = stored(16, 64, 4, 32, zeros=True)
    x, y = np.zeros((1, 64), np.float32), np.zeros((1, 16), np.float32)
    for bits, size in ((3, 32), (4, 0), (4, 4)):
        with pytest.raises(ValueError, match="whole words"):
            product(x, (matrix, scales, points), y, bits, size)
    with pytest.raises(ValueError, match="panels is"):
        product(x, (matrix[:, 4:].copy(), scales, points), y, 4, 32)
    with pytest.raises(ValueError, match="scales is"):
        product(x, (matrix, scales[:, 1:], points), y, 4, 32)
    with pytest.raises(ValueError, match="zeros is"):
        product(x, (matrix, scales, points[:, 1:]), y, 4, 32)
    given = _native.BlockWeights(packed(matrix.view(np.uint32)), packed(scales), None, 4, 32)
    with pytest.raises(ValueError, match="rounded is"):
        _native.block_matmul(x, given, memory_for(x, 32)[1:], y)


KINDS = {
    "float32": (np.dtype(np.float32), TensorProto.FLOAT),
    "float16": (np.dtype(np.float16), TensorProto.FLOAT16),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), TensorProto.BFLOAT16),
}


def model_of(weights, kind, depth, bits, size, level):
    """A MatMulNBits of ``x`` [2, 3, depth] with a bias of ones, and a Relu."""
    dtype, element = KINDS[kind]
    matrix, scales, points = weights
    columns, blocks = scales.shape
    initializers = [
        numpy_helper.from_array(matrix.reshape(columns, blocks, -1), "B"),
        helper.make_tensor("scales", element, [scales.size], scales.reshape(-1).astype(dtype)),
        helper.make_tensor("bias", element, [columns], np.ones(columns, dtype)),
    ]
    if points is not None:
        held = -(-blocks * bits // 8) * 8 // bits
        rows = np.pad(points, ((0, 0), (0, held - blocks))).reshape(columns, -1, 8 // bits)
        shared = (rows << np.arange(0, 8, bits, dtype=np.uint8)).sum(-1).astype(np.uint8)
        initializers.append(numpy_helper.from_array(shared.reshape(-1), "zeros"))
    names = ["x", "B", "scales", "" if points is None else "zeros", "", "bias"]
    attrs = {"K": depth, "N": columns, "bits": bits, "block_size": size, "accuracy_level": level}
    nodes = [
        helper.make_node("MatMulNBits", names, ["s"], domain="com.microsoft", **attrs),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    value = helper.make_tensor_value_info("x", element, [2, 3, depth])
    made = helper.make_tensor_value_info("y", element, None)
    graph = helper.make_graph(nodes, "g", [value], [made], initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "all alike", "each"])
def test_models_keep_weights_as_they_are_stored(kind, bits, zeros):
    """A MatMulNBits is one op with its bias and activation, and its panels are words of bits."""
    dtype, depth, columns, size = KINDS[kind][0], 80, 40, 32
    weights = stored(columns, depth, bits, size, zeros=zeros != "none")
    if zeros == "all alike":
        weights[2][:] = 1 << bits - 1
    x = RNG.integers(-2, 3, (2, 3, depth)).astype(dtype)
    with flow.onnx.load(model_of(weights, kind, depth, bits, size, 0), device="cpu") as loaded:
        y = loaded.run({"x": x})["y"]
        ops = [op.op for op in loaded.explain({"x": x}).job.ops]
    want = x.astype(np.float64) @ matrix_of(*weights, depth, bits, size) + 1
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, np.maximum(want, 0).astype(np.float32).astype(dtype))
    (op,) = [op for op in ops if "cast" not in op]
    assert op.startswith("cpu.block_matmul")
    assert f"uint32[3, {weights[0].shape[1] // 4}, 16]" in op


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("level", [0, 1, 4])
def test_a_model_says_whether_what_is_multiplied_may_be_rounded(bits, level):
    """At the accuracy level of bytes it is, by blocks; onnxruntime rounds the same numbers."""
    depth, columns, size = 96, 40, 32
    weights = stored(columns, depth, bits, size, zeros=True)
    x = RNG.standard_normal((2, 3, depth)).astype(np.float32)
    model = model_of(weights, "float32", depth, bits, size, level)
    with flow.onnx.load(model, device="cpu") as loaded:
        y = loaded.run({"x": x})["y"]
    rows = x.reshape(6, depth)
    left = rounded_by(rows, size) if level == 4 else rows
    want = np.maximum(left @ matrix_of(*weights, depth, bits, size) + 1, 0)
    np.testing.assert_allclose(y.reshape(6, columns), want, rtol=1e-5, atol=1e-3)
