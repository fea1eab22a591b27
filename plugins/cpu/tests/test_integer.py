"""Products of bytes against exact sums of numpy: every dtype, zero point, size and result."""

import itertools
import math

import numpy as np
import pytest
from exact import BYTES, quantized, slow_conv, some_bytes
from geometry import convolutions
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
import headrace_cpu
from headrace.numpy_ops import evaluate
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import _native
from headrace_cpu.ops.pack_integers import PackIntegers, pack_integers


def packed(weight, groups=1, transposed=False):
    """The panels and the sums of the columns."""
    columns, depth = weight.shape if transposed else weight.shape[::-1]
    panels = np.full((groups * -(-columns // groups // 16), -(-depth // 4), 16, 4), 7, np.int8)
    sums = np.full(columns, 7, np.int32)
    _native.pack_integers(weight, panels, sums, groups, transposed)()
    return panels, sums


def wrapped(sums):
    return sums.astype(np.int64).astype(np.int32)


class Product:
    """One product of a random size and kind, computed exactly."""

    def __init__(self, rng, x, weight, columns, groups=1):
        self.rng, self.columns, self.groups = rng, columns, groups
        self.x_zero = some_bytes(rng, x.dtype, ())
        self.zeros = some_bytes(rng, weight.dtype, columns)
        self.shift = rng.integers(-(2**31), 2**31 - 1, columns, np.int32)
        self.scale = rng.uniform(1e-5, 1e-3, columns).astype(np.float32)
        self.bias = rng.standard_normal(columns, np.float32)
        self.y_scale, self.y_zero = np.float32(rng.uniform(0.01, 1)), rng.integers(0, 100)

    def weights(self, weight, transposed):
        """As the native functions take them."""
        moved = self.zeros.astype(np.int32) - (128 if weight.dtype == np.uint8 else 0)
        return _native.IntegerWeights(*packed(weight, self.groups, transposed), moved)

    def rescale(self, kind):
        """What the native functions make of sums for a ``kind`` of result."""
        integers = kind == np.int32
        is_byte = kind in BYTES
        return _native.Rescale(
            scale=None if integers else self.scale,
            x_zero=np.asarray(self.x_zero),
            shift=self.shift if integers else self.small_shift,
            y_scale=np.asarray(self.y_scale) if is_byte else None,
            y_zero=np.asarray(self.y_zero, kind) if is_byte else None,
            epilogue=_native.Epilogue(None if integers or is_byte else self.bias),
        )

    @property
    def small_shift(self):
        return self.shift // 2**12

    def want(self, exact, kind):
        if kind == np.int32:
            return wrapped(exact + self.shift)
        sums = wrapped(exact + self.small_shift).astype(np.float32) * self.scale
        if kind == np.float32:
            return sums + self.bias
        return quantized(sums, self.y_scale, self.y_zero, kind)

    def corrections(self):
        return np.zeros(self.groups * 3 * -(-self.columns // self.groups // 16) * 16, np.int32)


def compare(made, want):
    if want.dtype == np.float32:
        np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(made, want)


@pytest.mark.parametrize("kind", [np.int32, np.float32, np.int8, np.uint8])
@pytest.mark.parametrize("x_dtype", BYTES)
@pytest.mark.parametrize("weight_dtype", BYTES)
@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 13, 75, 150])
def test_a_product_of_any_size(rows, x_dtype, weight_dtype, kind):
    """Sums are exact, where instructions of bytes would saturate too; on any number of threads."""
    rng = np.random.default_rng(rows)
    widths, depths = (1, 16, 17, 33, 64, 97, 160), (0, 1, 3, 4, 9, 64, 301)
    for columns, depth in itertools.product(widths, depths):
        x = some_bytes(rng, x_dtype, (rows, depth))
        weight = some_bytes(rng, weight_dtype, (depth, columns))
        product = Product(rng, x, weight, columns)
        exact = (x.astype(np.float64) - product.x_zero) @ (weight - product.zeros.astype(float))
        made = []
        for threads, transposed in ((1, False), (3, True)):
            headrace_cpu.set_threads(threads)
            matrix = np.ascontiguousarray(weight.T) if transposed else weight
            y = np.zeros((rows, columns), kind)
            weights, rescale = product.weights(matrix, transposed), product.rescale(kind)
            _native.integer_matmul(x, weights, y, product.corrections(), rescale)()
            made.append(y)
        compare(made[0], product.want(exact, kind))
        np.testing.assert_array_equal(*made)


@settings(max_examples=120)
@given(
    geometry=convolutions([1, 3, 4, 13, 20], [1, 5, 16, 17, 70]),
    dtypes=st.tuples(st.sampled_from(BYTES), st.sampled_from(BYTES)),
    kind=st.sampled_from([np.int32, np.float32, np.int8, np.uint8]),
)
def test_a_convolution_of_any_geometry(geometry, dtypes, kind):
    """Padding reads as the zero point; results are exact on any number of threads."""
    shape, weight_shape, strides, dilations, pads, groups = geometry
    rng = np.random.default_rng(0)
    x, weight = some_bytes(rng, dtypes[0], shape), some_bytes(rng, dtypes[1], weight_shape)
    product = Product(rng, x, weight, weight_shape[0], groups)
    zeros = product.zeros.reshape(-1, *(1,) * (weight.ndim - 1)).astype(np.float64)
    exact = slow_conv(
        x.astype(np.float64) - product.x_zero, weight - zeros, strides, dilations, pads, groups
    )
    weights = product.weights(weight.reshape(weight_shape[0], math.prod(weight_shape[1:])), True)
    window = _native.Window(weight_shape[1:-1], strides, dilations, pads[: len(strides)])
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros(exact.shape, kind)
        _native.integer_conv(
            x, weights, y, product.corrections(), product.rescale(kind), window, groups
        )()
        made.append(y)
    compare(made[0], product.want(exact, kind))
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("transposed", [False, True])
@given(
    depth=st.integers(1, 40),
    columns=st.integers(1, 24) | st.integers(60, 150),
    groups=st.integers(1, 3),
    dtype=st.sampled_from(BYTES),
    turned=st.booleans(),
)
def test_a_matrix_is_packed_as_it_lies(transposed, depth, columns, groups, dtype, turned):
    """Panels and sums of columns, of rows or of columns that follow each other in memory."""
    matrix = some_bytes(np.random.default_rng(depth), dtype, (depth, groups * columns))
    weight = matrix.T if transposed else matrix
    weight = np.asfortranarray(weight) if turned else np.ascontiguousarray(weight)
    attrs = {"groups": groups, "transposed": transposed}
    call = make_call(PackIntegers, "pack", [TensorSpec.of(weight)], attrs, outputs=2)
    panels, sums = evaluate(call, [weight], pack_integers)
    moved = matrix.astype(np.int32) - (128 if dtype == np.uint8 else 0)
    wanted = np.zeros((groups, -(-columns // 16) * 16, -(-depth // 4) * 4), np.int32)
    wanted[:, :columns, :depth] = moved.T.reshape(groups, columns, depth)
    np.testing.assert_array_equal(
        panels, wanted.reshape(len(panels), 16, -1, 4).transpose(0, 2, 1, 3)
    )
    np.testing.assert_array_equal(sums, moved.sum(0))


def test_quotients_are_rounded_once():
    """Where a quotient is half way between two integers, and next to that, on every machine."""
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.001, 1, 200).astype(np.float32)
    weights, x = (
        _native.IntegerWeights(*packed(np.ones((1, 16), np.int8))),
        np.zeros((1, 1), np.int8),
    )
    for scale in scales:
        halves = (np.arange(-120, 120) + np.float32(0.5)) * scale
        near = np.concatenate([np.nextafter(halves, np.float32(s * np.inf)) for s in (-1, 1)])
        bias = np.resize(np.concatenate([halves, near]), 720).astype(np.float32).reshape(-1, 16)
        for row in bias:
            y = np.zeros((1, 16), np.int8)
            rescale = _native.Rescale(
                np.ones(1, np.float32), y_scale=np.asarray(scale), epilogue=_native.Epilogue(row)
            )
            _native.integer_matmul(x, weights, y, np.zeros(48, np.int32), rescale)()
            np.testing.assert_array_equal(y[0], quantized(row, scale, 0, np.int8))


RIGHT = {
    "x": np.zeros((2, 4), np.int8),
    "y": np.zeros((2, 17), np.int32),
    "corrections": np.zeros(96, np.int32),
}
"""What fits a matrix of 4 rows and 17 columns."""


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"x": np.zeros((2, 4), np.float32)}, TypeError, "x must be contiguous, int8 or uint8"),
        ({"y": np.zeros((2, 8), np.int32)}, ValueError, r"panels is \[2, 1, 16, 4\]"),
        ({"y": np.zeros((2, 17), np.int16)}, TypeError, "y must be contiguous, int8 or uint8"),
        ({"y": np.zeros((2, 17), np.float32)}, TypeError, "y is int32 if there is no scale"),
        ({"x_zero": np.zeros((), np.uint8)}, TypeError, "x_zero has not the dtype"),
        ({"shift": np.zeros(3, np.int32)}, ValueError, r"shift is \[3\] but must be \[17\]"),
        ({"y_scale": np.ones((), np.float32)}, TypeError, "y is bytes if there is a y_scale"),
    ],
)
def test_a_launch_says_what_does_not_fit(changes, error, said):
    """Before anything is computed."""
    weights = _native.IntegerWeights(*packed(np.zeros((4, 17), np.int8)))
    rescale = _native.Rescale(**{k: v for k, v in changes.items() if k not in RIGHT})
    arrays = {name: changes.get(name, right) for name, right in RIGHT.items()}
    with pytest.raises(error, match=said):
        _native.integer_matmul(weights=weights, rescale=rescale, **arrays)


RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((2, 9, 9, 8), np.float32)
FILTERS = RNG.integers(-128, 127, (20, 3, 3, 8), np.int8)
SCALES = RNG.uniform(0.001, 0.01, 20).astype(np.float32)
BIAS = RNG.integers(-3000, 3000, 20, np.int32)
X_SCALE, X_ZERO, Y_SCALE, Y_ZERO = (
    np.float32(0.02), np.uint8(117), np.float32(0.03), np.uint8(3),
)  # fmt: skip


HALF = np.float32(0.5)


def run(build, *inputs):
    """What a job on this backend makes of ``inputs``, and the names of its ops."""
    with flow.Session() as session:
        specs = [tp.Numpy.Placeholder(x.shape, flow.dtypes.dtype_of(x.dtype)) for x in inputs]

        @flow.global_function(session=session)
        def job(x: specs[0]) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return build(x)

        made = job(*inputs)
        return made, [op.op.split("(")[0] for op in session.explain("job").ops]


def quantized_conv(x):
    """As exporters write it: everything is quantized and dequantized around a convolution."""
    op = flow.apply_op
    x = op("dequantize", [op("quantize", [x, X_SCALE, X_ZERO]), X_SCALE, X_ZERO])
    weight = op("dequantize", [FILTERS, SCALES], axis=0)
    bias = op("dequantize", [BIAS, SCALES * X_SCALE], axis=0)
    y = op("conv", [x, weight, bias], pads=(1, 1, 1, 1), data_format="channels_last")
    y = op("quantize", [op("relu", [y]), Y_SCALE, Y_ZERO])
    return op("dequantize", [y, Y_SCALE, Y_ZERO])


def test_a_convolution_between_quantized_numbers_is_one_of_bytes():
    """With the bias in its sums and the result quantized by one factor; right to the last bit."""
    made, ops = run(quantized_conv, IMAGE)
    assert ops == ["quantize", "cpu.integer_conv", "dequantize"]
    bytes_ = quantized(IMAGE, X_SCALE, X_ZERO, np.uint8)
    sums = slow_conv(
        bytes_.astype(np.float64) - X_ZERO, FILTERS.astype(np.float64), (1, 1), (1, 1),
        (1, 1, 1, 1), 1,
    )  # fmt: skip
    floats = wrapped(sums + BIAS).astype(np.float32) * (X_SCALE * SCALES / Y_SCALE)
    want = quantized(np.maximum(floats, 0), 1, Y_ZERO, np.uint8)
    np.testing.assert_array_equal(made, (want.astype(np.float32) - Y_ZERO) * Y_SCALE)


def test_bytes_are_turned_in_the_place_of_the_numbers_they_mean():
    """What lies between ``dequantize`` and a convolution moves bytes; the product is the same."""
    first = np.ascontiguousarray(IMAGE.transpose(0, 3, 1, 2).reshape(*IMAGE.shape[::3], -1))

    def build(x):
        op = flow.apply_op
        x = op("dequantize", [op("quantize", [x, X_SCALE, X_ZERO]), X_SCALE, X_ZERO])
        shape = (IMAGE.shape[0], IMAGE.shape[3], *IMAGE.shape[1:3])
        x = op("transpose", [op("reshape", [x], shape=shape)], perm=(0, 2, 3, 1))
        weight = op("dequantize", [FILTERS, SCALES], axis=0)
        y = op("conv", [x, weight], pads=(1, 1, 1, 1), data_format="channels_last")
        return op("dequantize", [op("quantize", [y, Y_SCALE, Y_ZERO]), Y_SCALE, Y_ZERO])

    made, ops = run(build, first)
    assert ops == ["quantize", "reshape", "transpose", "cpu.integer_conv", "dequantize"]
    bytes_ = quantized(IMAGE, X_SCALE, X_ZERO, np.uint8)
    sums = slow_conv(
        bytes_.astype(np.float64) - X_ZERO, FILTERS.astype(np.float64), (1, 1), (1, 1),
        (1, 1, 1, 1), 1,
    )  # fmt: skip
    floats = wrapped(sums).astype(np.float32) * (X_SCALE * SCALES / Y_SCALE)
    want = quantized(floats, 1, Y_ZERO, np.uint8)
    np.testing.assert_array_equal(made, (want.astype(np.float32) - Y_ZERO) * Y_SCALE)


@pytest.mark.parametrize("kind", BYTES)
@pytest.mark.parametrize("x_dtype", BYTES)
@pytest.mark.parametrize("clamp", [None, (-2.5, 77.25), (0.0, np.inf)])
def test_results_that_need_a_factor_and_a_clamp(clamp, x_dtype, kind):
    """Are made in registers, and right to the last bit; ties go to the even number."""
    rng = np.random.default_rng(2)
    scales = (np.float32([0.5]), rng.uniform(1e-3, 1e-2, 70).astype(np.float32))
    for scale, rows, depth in itertools.product(scales, (1, 5, 13), (3, 4, 36)):
        columns = 70
        x, weight = some_bytes(rng, x_dtype, (rows, depth)), some_bytes(rng, np.int8, (depth, 70))
        shift = rng.integers(-4000, 4000, columns, np.int32)
        zero = np.asarray(100, kind)
        y = np.zeros((rows, columns), kind)
        weights = _native.IntegerWeights(*packed(weight))
        limits = (
            {} if clamp is None else {"activation": "clamp", "alpha": clamp[0], "beta": clamp[1]}
        )
        rescale = _native.Rescale(
            scale,
            shift=shift,
            y_scale=np.asarray(np.float32(1)),
            y_zero=zero,
            epilogue=_native.Epilogue(**limits),
        )
        _native.integer_matmul(x, weights, y, np.zeros(240, np.int32), rescale)()
        floats = (x.astype(int) @ weight.astype(int) + shift).astype(np.float32) * scale
        floats = floats if clamp is None else np.clip(floats, *np.float32(clamp))
        np.testing.assert_array_equal(y, quantized(floats, 1, 100, kind))


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_what_is_added_to_sums_is_added_in_integers(shape):
    """The product takes in floats only: a bias of its sums, which need not be floats, stays."""
    rng = np.random.default_rng(9)
    x, weight = some_bytes(rng, np.uint8, (3, 40)), some_bytes(rng, np.int8, (40, 5))
    bias = rng.integers(-(1 << 30), 1 << 30, shape, np.int32)

    def build(a):
        sums = flow.apply_op("matmul_integer", [a, weight])
        sums = flow.apply_op("relu", [flow.apply_op("add", [sums, bias])])
        return flow.apply_op("multiply", [flow.apply_op("cast", [sums], dtype=flow.float32), HALF])

    made, ops = run(build, x)
    assert "cpu.integer_matmul" in ops
    want = np.maximum(wrapped(x.astype(np.float64) @ weight.astype(np.float64) + bias), 0)
    np.testing.assert_array_equal(made, want.astype(np.float32) * HALF)
