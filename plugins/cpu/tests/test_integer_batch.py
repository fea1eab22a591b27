"""Products of bytes both sides of which are computed: exact, whatever follows them."""

import itertools

import numpy as np
import pytest
from exact import BYTES, quantized, some_bytes

import headrace as flow
import headrace.typing as tp
import headrace_cpu
from headrace.device import DeviceContext, HostAllocator
from headrace.numpy_ops import evaluate
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import plugin
from headrace_cpu.kernels.integer_batch import IntegerBatchKernel
from headrace_cpu.ops.integer_batch import IntegerBatchMatmul, integer_batch_matmul


def run(build, *inputs):
    """What a job on this backend makes of two ``inputs``, and the names of its ops."""
    with flow.Session() as session:
        specs = [tp.Numpy.Placeholder(x.shape, flow.dtypes.dtype_of(x.dtype)) for x in inputs]

        @flow.global_function(session=session)
        def job(a: specs[0], b: specs[1]) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return build(a, b)

        made = job(*inputs)
        return made, [op.op.split("(")[0] for op in session.explain("job").ops]


def multiplied(a, b, zeros, turned):
    """What a job makes of two matrices that it is fed."""

    def build(a, b):
        return flow.apply_op("matmul_integer", [a, b, *zeros], transpose_b=turned)

    made, ops = run(build, a, b)
    assert ops == ["cpu.integer_batch_matmul"]
    return made


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("zeros", ["none", "one", "columns"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 5), (5, 4)), ((2, 3, 33, 70), (2, 3, 70, 21)), ((3, 1, 6, 9), (4, 9, 17)),
     ((4, 6, 300), (300, 40)), ((5, 8), (1, 2, 8, 1))],
)  # fmt: skip
def test_matrices_that_are_both_computed_are_multiplied_as_bytes(left, right, zeros, turned):
    """Each packed in the call; whichever the bytes, and whatever is subtracted from them."""
    rng = np.random.default_rng(4)
    for x_dtype, w_dtype in itertools.product(BYTES, BYTES):
        a, b = some_bytes(rng, x_dtype, left), some_bytes(rng, w_dtype, right)
        columns = right[-1] if zeros == "columns" else 1
        a_zero, b_zero = some_bytes(rng, x_dtype, 1), some_bytes(rng, w_dtype, columns)
        exact = np.matmul(a.astype(int) - int(a_zero[0]), b.astype(int) - b_zero.astype(int))
        if zeros == "none":
            a_zero = b_zero = None
            exact = np.matmul(a.astype(int), b.astype(int))
        if turned:
            b = np.ascontiguousarray(b.swapaxes(-1, -2))
            b_zero = None if b_zero is None else b_zero.reshape(-1, 1)
        made = multiplied(a, b, (a_zero, b_zero), turned)
        np.testing.assert_array_equal(made, exact.astype(np.int32))


@pytest.mark.parametrize("turned", [False, True])
def test_batches_at_the_ends_of_bytes_on_any_number_of_threads(turned):
    """Zero points as far from the numbers as they can be, also where a side is shared."""
    rng = np.random.default_rng(8)
    sizes = [((7, 33, 66), (7, 66, 70)), ((2, 3, 1, 40), (3, 40, 130)), ((5, 4, 9), (1, 9, 17))]
    for (left, right), x_dtype, w_dtype in itertools.product(sizes, BYTES, BYTES):
        ends = [np.iinfo(dtype) for dtype in (x_dtype, w_dtype)]
        a, b = (
            rng.choice([end.min, end.max], shape).astype(end.dtype)
            for end, shape in zip(ends, (left, right), strict=True)
        )
        zeros = np.array([ends[0].max], x_dtype), np.array([ends[1].min], w_dtype)
        want = np.matmul(a.astype(int) - int(zeros[0][0]), b.astype(int) - int(zeros[1][0]))
        b = np.ascontiguousarray(b.swapaxes(-1, -2)) if turned else b
        for threads in (1, 3):
            headrace_cpu.set_threads(threads)
            np.testing.assert_array_equal(multiplied(a, b, zeros, turned), want)


A_SCALE, B_SCALE, Y_SCALE = np.float32(0.02), np.float32(0.031), np.float32(0.9)
A_SHAPE, B_SHAPE = (2, 3, 7, 20), (2, 3, 20, 18)


def both(rng, a_dtype, b_dtype):
    """Bytes of two batches, and their zero points."""
    shapes = (a_dtype, A_SHAPE), (b_dtype, B_SHAPE)
    a, b = (some_bytes(rng, dtype, shape) for dtype, shape in shapes)
    return a, b, np.array(3, a_dtype), np.array(np.iinfo(b_dtype).min, b_dtype)


def sums_of(a, b, a_zero, b_zero):
    return np.matmul(a.astype(int) - int(a_zero), b.astype(int) - int(b_zero))


def dequantized(x, scale, zero):
    return flow.apply_op("dequantize", [x, scale, zero])


@pytest.mark.parametrize("made_dtype", BYTES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_between_quantized_numbers_is_one_of_bytes(turned, made_dtype):
    """Quantized by one factor; rows that are columns of what was computed are read as they lie."""
    for dtypes in itertools.product(BYTES, BYTES):
        a, b, a_zero, b_zero = both(np.random.default_rng(1), *dtypes)
        zero = np.array(5, made_dtype)

        def build(x, y, a_zero=a_zero, b_zero=b_zero, zero=zero):
            op = flow.apply_op
            right = dequantized(y, B_SCALE, b_zero)
            right = op("transpose", [right], perm=(0, 1, 3, 2)) if turned else right
            y = op("matmul", [dequantized(x, A_SCALE, a_zero), right])
            return op("quantize", [y, Y_SCALE, zero], dtype=flow.dtypes.dtype_of(made_dtype))

        given = np.ascontiguousarray(b.swapaxes(-1, -2)) if turned else b
        made, ops = run(build, a, given)
        assert ops == ["cpu.integer_batch_matmul"]
        factor = A_SCALE * B_SCALE / Y_SCALE
        floats = sums_of(a, b, a_zero, b_zero).astype(np.float32) * factor
        np.testing.assert_array_equal(made, quantized(floats, 1, 5, made_dtype))


def test_bytes_are_moved_in_the_place_of_the_numbers_they_mean():
    """Heads are taken apart before they are multiplied, on both sides."""
    a, b, a_zero, b_zero = both(np.random.default_rng(2), np.uint8, np.int8)
    rows, columns = (np.ascontiguousarray(x.transpose(0, 2, 1, 3)) for x in (a, b.swapaxes(2, 3)))

    def build(x, y):
        op = flow.apply_op
        x = op("transpose", [dequantized(x, A_SCALE, a_zero)], perm=(0, 2, 1, 3))
        y = op("transpose", [dequantized(y, B_SCALE, b_zero)], perm=(0, 2, 3, 1))
        return op("matmul", [x, y])

    made, ops = run(build, rows, columns)
    assert ops == ["transpose", "transpose", "cpu.integer_batch_matmul"]
    want = sums_of(a, b, a_zero, b_zero) * float(A_SCALE * B_SCALE)
    np.testing.assert_allclose(made, want, rtol=1e-6)


@pytest.mark.parametrize("is_constant", [False, True])
def test_sums_that_need_more_than_32_bits_are_summed_in_floats(is_constant):
    """Where models say that they are of floats, which do not wrap around."""
    a, b = np.full((1, 40000), 255, np.uint8), np.full((40000, 17), 255, np.uint8)

    def build(x, y):
        right = b if is_constant else y
        sides = dequantized(x, A_SCALE, np.uint8(0)), dequantized(right, B_SCALE, np.uint8(0))
        return flow.apply_op("matmul", [*sides])

    made, _ = run(build, a, b)
    want = np.full((1, 17), 40000 * 255.0**2 * float(A_SCALE) * float(B_SCALE))
    np.testing.assert_allclose(made, want, rtol=1e-5)


def test_sums_that_are_scaled_by_what_is_computed_are_one_product():
    """As models write them whose numbers are quantized while they run; then all that follows."""
    a, b, a_zero, b_zero = both(np.random.default_rng(3), np.uint8, np.uint8)
    scale = np.float32([0.001])
    more = np.float32(0.5)

    def build(x, y):
        op = flow.apply_op
        sums = op("cast", [op("matmul_integer", [x, y, a_zero, b_zero])], dtype=flow.float32)
        return op("relu", [op("add", [op("multiply", [sums, scale]), op("identity", [more])])])

    made, ops = run(build, a, b)
    assert ops[0] == "cpu.integer_batch_matmul"
    assert "cast" not in ops
    sums = sums_of(a, b, a_zero, b_zero).astype(np.float32)
    np.testing.assert_allclose(made, np.maximum(sums * scale + more, 0), rtol=1e-6)


@pytest.mark.parametrize("is_fused", [False, True])
def test_scores_of_an_attention_in_floats_stay_floats(is_fused):
    """It is one op; where they are quantized before the softmax, it is none, and they are bytes."""
    a, b, a_zero, b_zero = both(np.random.default_rng(4), np.uint8, np.uint8)

    def build(x, y):
        op = flow.apply_op
        y = op("matmul", [dequantized(x, A_SCALE, a_zero), dequantized(y, B_SCALE, b_zero)])
        if not is_fused:
            y = dequantized(op("quantize", [y, Y_SCALE, np.uint8(5)]), Y_SCALE, np.uint8(5))
        return op("softmax", [op("multiply", [y, np.float32(0.1)])], axis=-1)

    made, ops = run(build, a, b)
    assert ("cpu.integer_batch_matmul" in ops) != is_fused
    y = sums_of(a, b, a_zero, b_zero).astype(np.float32) * (A_SCALE * B_SCALE)
    if not is_fused:
        y = (quantized(y, Y_SCALE, 5, np.uint8).astype(np.float32) - 5) * Y_SCALE
    grown = np.exp(0.1 * (y - y.max(-1, keepdims=True)))
    np.testing.assert_allclose(made, grown / grown.sum(-1, keepdims=True), rtol=1e-3, atol=1e-6)


def launched(call, arrays):
    """What the kernel makes of a call."""
    device = plugin._open(0)
    allocator = HostAllocator(device)
    inputs = [None if array is None else allocator.allocate(array.nbytes) for array in arrays]
    for buffer, array in zip(inputs, arrays, strict=True):
        if array is not None:
            buffer.array(TensorSpec.of(array))[...] = array
    output = allocator.allocate(call.outputs[0].nbytes)
    kernel = IntegerBatchKernel(call)
    workspace = allocator.allocate(kernel.workspace_bytes())
    kernel.bind(DeviceContext(device, 0), inputs, [output], workspace)()
    return output.array(call.outputs[0])


@pytest.mark.parametrize("follows", ["sums", "bias", "addend", "bytes"])
def test_the_kernel_makes_what_the_op_says(follows):
    """Also with an addend, which lies as the result does."""
    rng = np.random.default_rng(5)
    for (left, right), turned in itertools.product(
        [((2, 3, 5, 9), (3, 9, 17)), ((4, 6, 9), (1, 9, 17)), ((0, 5, 9), (9, 17)),
         ((2, 5, 0), (2, 0, 17))],
        [False, True],
    ):  # fmt: skip
        a, b = some_bytes(rng, np.int8, left), some_bytes(rng, np.uint8, right)
        b = np.ascontiguousarray(b.swapaxes(-1, -2)) if turned else b
        rows = (*np.broadcast_shapes(left[:-2], right[:-2]), left[-2], 17)
        inputs = [a, b, *[None] * 9]
        attrs = {"columns": 17, "transpose_b": turned}
        inputs[6], inputs[7] = np.array([-7], np.int8), some_bytes(rng, np.uint8, 17)
        if follows != "sums":
            attrs |= {"dtype": flow.float32, "activation": "clamp", "alpha": -3.0, "beta": 8.0}
            inputs[5] = rng.uniform(1e-4, 1e-3, 17).astype(np.float32)
        if follows == "bias":
            inputs[2] = rng.standard_normal(17, np.float32)
        if follows == "addend":
            inputs[3] = rng.standard_normal(rows, np.float32)
        if follows == "bytes":
            attrs["dtype"] = flow.dtypes.dtype_of(np.dtype(np.int8))
            inputs[9], inputs[10] = np.array([0.05], np.float32), np.array([4], np.int8)
        specs = [None if x is None else TensorSpec.of(x) for x in inputs]
        call = make_call(IntegerBatchMatmul, "y", specs, attrs)
        (want,) = evaluate(call, inputs, integer_batch_matmul)
        made = launched(call, inputs)
        np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-6)
