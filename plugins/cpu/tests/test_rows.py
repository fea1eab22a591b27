"""Rows that lie one after another, and batches of products: against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace.testing.case import Case
from headrace.testing.run import run_op
from headrace_cpu import _native

RNG = np.random.default_rng(0)
LENGTHS = st.sampled_from([1, 2, 7, 15, 16, 17, 31, 32, 49, 100, 2048, 2049, 5000])


def drawn(*shape, shift=0.0):
    return (RNG.standard_normal(shape) + shift).astype(np.float32)


def softmax_in_float64(x, axis, logarithm):
    less = x.astype(np.float64) - x.max(axis, keepdims=True)
    total = np.exp(less).sum(axis, keepdims=True)
    return less - np.log(total) if logarithm else np.exp(less) / total


@settings(max_examples=30)
@given(st.integers(1, 40), LENGTHS, st.booleans())
def test_softmax(rows, length, logarithm):
    """In place too; large numbers do not overflow."""
    x = drawn(rows, length, shift=300)
    y = np.empty_like(x)
    _native.softmax(x, y, logarithm)()
    right = softmax_in_float64(x, 1, logarithm)
    np.testing.assert_allclose(y, right, rtol=2e-6, atol=1e-6 if logarithm else 0)
    _native.softmax(x, x, logarithm)()
    assert np.array_equal(x, y)


@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("length", range(1, 34))
def test_softmax_of_short_rows_is_theirs_alone(length, logarithm):
    """A row gives the same bits whichever others lie beside it, and nothing beyond is written."""
    x = drawn(35, length)
    y = np.full((36, length), 77, np.float32)
    _native.softmax(x, y[:35], logarithm)()
    np.testing.assert_allclose(
        y[:35], softmax_in_float64(x, 1, logarithm), rtol=2e-6, atol=1e-6 if logarithm else 0
    )
    assert (y[35] == 77).all()
    for first, last in ((0, 1), (3, 20), (34, 35)):
        part = np.empty((last - first, length), np.float32)
        _native.softmax(x[first:last], part, logarithm)()
        assert np.array_equal(part, y[first:last])


@pytest.mark.parametrize("masked", [-np.inf, -3e38, -1e9, -175, -140, -111, -110, -104])
@pytest.mark.parametrize("length", [5, 49, 64])
def test_softmax_of_what_is_masked_out(length, masked):
    """A share that no float is small enough for is 0; the others are as if it were not there."""
    x = drawn(7, length)
    x[:, ::3] = masked
    x[:, 1] = 0
    y = np.empty_like(x)
    _native.softmax(x, y, False)()
    right = softmax_in_float64(x, 1, False)
    np.testing.assert_allclose(y, right, rtol=2e-6, atol=2.0**-149)
    assert masked > -104 or not y[:, ::3].any()


@settings(max_examples=30)
@given(st.integers(1, 3), st.sampled_from([1, 2, 17]), st.integers(1, 40), st.booleans())
def test_softmax_of_columns(matrices, length, columns, logarithm):
    """Of as many columns as a vector has, or fewer, in place too."""
    x = drawn(matrices, length, columns, shift=300)
    y = np.empty_like(x)
    _native.softmax_columns(x, y, logarithm)()
    right = softmax_in_float64(x, 1, logarithm)
    np.testing.assert_allclose(y, right, rtol=2e-6, atol=1e-6 if logarithm else 0)
    _native.softmax_columns(x, x, logarithm)()
    assert np.array_equal(x, y)


def test_softmax_of_what_is_no_number():
    """A row with a NaN is one of NaNs; an infinity that is masked out has no weight."""
    x = np.array([[1, np.nan, 2], [1, -np.inf, 1], [0, 0, 0]], np.float32)
    y, down = np.empty_like(x), np.empty((1, 3, 3), np.float32)
    _native.softmax(x, y, False)()
    _native.softmax_columns(np.ascontiguousarray(x.T)[None], down, False)()
    np.testing.assert_array_equal(down[0].T, y)
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1], [0.5, 0, 0.5])


@settings(max_examples=30)
@given(st.integers(1, 5), LENGTHS, st.booleans(), st.sampled_from([0.0, 1e4]))
def test_layer_norm(rows, length, scaled, shift):
    """With scale and bias and without, far from zero too."""
    x = drawn(rows, length, shift=shift)
    scale, bias = (drawn(length), drawn(length)) if scaled else (None, None)
    y = np.empty_like(x)
    _native.layer_norm(x, scale, bias, y, 1e-5)()
    wide = x.astype(np.float64)
    right = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    if scaled:
        right = right * scale + bias
    np.testing.assert_allclose(y, right, rtol=1e-4, atol=2e-5)


@settings(max_examples=30)
@given(st.integers(1, 5), LENGTHS, st.sampled_from(["sum", "mean", "max", "min"]), st.booleans())
def test_folds(rows, length, kind, has_nan):
    """Extremes of a row with a NaN are one, wherever it lies."""
    x = drawn(rows, length, shift=1)
    if has_nan:
        x[0, length // 2] = np.nan
    y = np.empty(rows, np.float32)
    _native.fold_each_row(kind, x, y)()
    right = getattr(np, kind)(x.astype(np.float64), axis=1)
    np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 15, 16])
@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod"])
def test_folds_of_rows_shorter_than_a_vector(length, kind):
    """Also of infinities alone, and with a NaN at each place."""
    x = np.random.default_rng(length).standard_normal((length + 19, length)).astype(np.float32)
    x[-2:] = [[np.inf], [-np.inf]]
    np.fill_diagonal(x, np.nan)
    y = np.empty(len(x), np.float32)
    _native.fold_each_row(kind, x, y)()
    right = getattr(np, kind)(x.astype(np.float64), axis=1)
    np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-6)


@settings(max_examples=30)
@given(st.integers(1, 5), LENGTHS, st.sampled_from([np.nan, np.inf, 0, 1]))
def test_products_of_rows(rows, length, one):
    """Whatever the one number is that differs; the others are near 1 or -1."""
    draw = np.random.default_rng(length)
    x = np.exp2(draw.uniform(-1, 1, (rows, length)) * 32 / (32 + length)).astype(np.float32)
    x[draw.random(x.shape) < 0.5] *= -1
    x[0, length // 2] = one
    y = np.empty(rows, np.float32)
    _native.fold_each_row("prod", x, y)()
    np.testing.assert_allclose(y, np.prod(x.astype(np.float64), axis=1), rtol=2e-7 * length)


@settings(max_examples=30)
@given(*[st.sampled_from([1, 2, 6, 16, 17, 33])] * 3, st.booleans(), st.integers(1, 3))
def test_batches_of_products(rows, depth, columns, transposed, batch):
    """Each product reads the matrices that it is told to."""
    a, b = drawn(batch, rows, depth), drawn(2, depth, columns)
    laid = np.ascontiguousarray(b.transpose(0, 2, 1)) if transposed else b
    panels = np.full((2, -(-columns // 16), depth, 16), np.nan, np.float32)
    y = np.empty((batch, rows, columns), np.float32)
    places = [index % 2 for index in range(batch)]
    _native.batch_matmul(a, laid, panels, y, list(range(batch)), places, transposed)()
    np.testing.assert_allclose(y, a @ b[places], rtol=1e-5, atol=1e-5)


@settings(max_examples=60)
@given(
    st.integers(1, 7), st.sampled_from([1, 2, 15, 16, 17, 64, 70, 511, 513, 2000]),
    st.sampled_from([1, 3, 16, 17, 63, 64, 65, 130, 1000]), st.booleans(),
)  # fmt: skip
def test_few_rows_meet_matrices_as_they_lie(rows, depth, columns, transposed):
    """Equal bits on one thread and on three; nothing beside the matrices is read."""
    a, b = drawn(2, rows, depth), drawn(1, depth, columns)
    laid = np.ascontiguousarray(b.transpose(0, 2, 1)) if transposed else b
    found = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full((2, rows, columns), np.nan, np.float32)
        _native.few_row_matmul(a, laid, y, [0, 1], [0, 0], transposed)()
        found.append(y)
    np.testing.assert_array_equal(*found)
    right = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found[0], right, rtol=1e-5, atol=2e-6 * np.sqrt(depth))


@settings(max_examples=60)
@given(
    st.integers(1, 9), st.integers(0, 20), st.sampled_from([1, 3, 7, 8, 15, 16, 17, 40]),
    st.sampled_from([np.int32, np.int64]), st.integers(0, 3),
)  # fmt: skip
def test_batches_of_products_of_integers(rows, depth, columns, dtype, batch):
    """Sums wrap around; matrices are used again and again; nothing beyond the result is written."""
    limits = np.iinfo(dtype)
    a, b = (
        RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        for shape in ((2, rows, depth), (3, depth, columns))
    )
    made = np.full((batch + 1, rows, columns), 99, dtype)
    places = [i % 2 for i in range(batch)], [2 - i % 3 for i in range(batch)]
    _native.integer_batch_matmul(a, b, made[:batch], *places)()
    bits = 8 * np.dtype(dtype).itemsize
    for i, (left, right) in enumerate(zip(*places, strict=True)):
        exact = a[left].astype(object) @ b[right].astype(object) if depth else np.zeros((1, 1), int)
        wrapped = (exact + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        np.testing.assert_array_equal(
            made[i], np.broadcast_to(wrapped.astype(dtype), made[i].shape)
        )
    assert (made[batch] == 99).all()


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_products_of_integers_run_natively(dtype):
    """With batches that repeat; without a sign too."""
    a = RNG.integers(0, 2**31, (2, 1, 5, 7)).astype(dtype)
    b = RNG.integers(0, 2**31, (3, 7, 20)).astype(dtype)
    case = Case("batches", "matmul", (a, b))
    (made,) = run_op("cpu", case)
    wanted = a.astype(object) @ b.astype(object) % 2 ** (8 * a.itemsize)
    np.testing.assert_array_equal(made, wanted.astype(np.uint64).astype(dtype))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(((70,), b) for b in [(70,), (70, 9), (3, 70, 9), (3, 70, 1)]),
        *((a, (70,)) for a in [(1, 70), (33, 70), (2, 3, 5, 70)]),
    ],
)
def test_products_of_vectors_run_natively(a, b):
    """On either side or both, of batches and of matrices that are turned too."""
    left, right = drawn(*a), drawn(*b)
    wanted = left.astype(np.float64) @ right
    cases = [Case("vectors", "matmul", (left, right))]
    if right.ndim > 1:
        turned = right.swapaxes(-1, -2).copy()
        cases.append(Case("turned", "matmul", (left, turned), {"transpose_b": True}))
    for case in cases:
        (made,) = run_op("cpu", case)
        np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-4)


def test_sizes_that_do_not_fit_are_refused():
    """Before anything runs."""
    x = drawn(2, 3)
    with pytest.raises(ValueError, match="y is"):
        _native.softmax(x, drawn(3, 2), False)
    with pytest.raises(ValueError, match="scale is"):
        _native.layer_norm(x, drawn(2), None, x, 1e-5)
    with pytest.raises(ValueError, match="no kind"):
        _native.fold_each_row("median", x, drawn(2))
    with pytest.raises(ValueError, match="numbers below 1"):
        _native.batch_matmul(
            drawn(1, 2, 3), drawn(1, 3, 4), drawn(1, 1, 3, 16), drawn(1, 2, 4), [0], [1], False
        )
    with pytest.raises(ValueError, match="b is"):
        _native.few_row_matmul(drawn(1, 2, 3), drawn(1, 4, 4), drawn(1, 2, 4), [0], [0], False)
