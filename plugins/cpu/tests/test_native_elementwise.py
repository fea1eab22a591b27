"""Native elementwise loops against numpy, over any shapes that broadcast."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, mutually_broadcastable_shapes

import headrace_cpu
from headrace_cpu import _native

NUMBERS = [np.float64, np.int32, np.int64]
SPECIAL = [0.0, -0.0, 1.5, -2.5, 0.5, np.inf, -np.inf, np.nan, 1e30, -1e-30]

UNARY = {
    "relu": lambda x: np.maximum(x, 0),
    "negative": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
COMPARISONS = {
    "equal": np.equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
LOGIC = {
    "equal": np.equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BINARY_FLOATS = {"divide": np.divide, "prelu": lambda x, slope: np.where(x < 0, x * slope, x)}


def numbers(dtype, count):
    """Special values first, then others; integers wrap as they may."""
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        some = np.array([0, 1, -1, 7, limits.min, limits.max])
        return np.resize(some.astype(dtype), count)
    draw = np.random.default_rng(count).normal(0, 3, count).astype(dtype)
    draw[: len(SPECIAL)] = SPECIAL[:count]
    return draw


@pytest.mark.parametrize("op", UNARY)
def test_unary_is_what_numpy_says(op):
    """Bit for bit, also for NaN and infinities, and in place."""
    x = numbers(np.float64, 67)
    with np.errstate(all="ignore"):
        want = UNARY[op](x)
    y = np.empty_like(x)
    _native.unary(op, x, y)()
    _native.unary(op, x, x)()
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(x, want)


def test_gates_are_within_three_units_in_the_last_place():
    """sigmoid, swish and the hard ones, against a wider float."""
    x = np.linspace(-40, 40, 1001)
    wide = x.astype(np.longdouble)
    line = np.clip(wide * 0.3 + 0.4, 0, 1)
    hard = np.clip(wide * (1 / 6) + 0.5, 0, 1)
    scaled = wide * 1.25
    for op, attrs, want in (
        ("sigmoid", (), 1 / (1 + np.exp(-wide))),
        ("swish", (1.25,), wide / (1 + np.exp(-scaled))),
        ("leaky_relu", (0.25,), np.where(wide < 0, wide / 4, wide)),
        ("hard_sigmoid", (0.3, 0.4), line),
        ("hard_swish", (), wide * hard),
    ):
        y = np.empty_like(x)
        _native.unary(op, x, y, *attrs)()
        # The argument of exp is rounded first, which its result shows magnified.
        slack = 8 if op == "swish" else 3
        np.testing.assert_allclose(
            y, want, rtol=slack * np.finfo(x.dtype).eps, atol=slack * np.finfo(x.dtype).eps
        )


def test_erf_is_that_of_c():
    """On both signs, around the border of its branches, and for special values in place."""
    x = np.concatenate([np.linspace(-6, 6, 2_401), np.geomspace(1e-30, 1, 99), SPECIAL])
    expected = np.array([math.erf(v) for v in x])
    _native.unary("erf", x, x)()
    np.testing.assert_allclose(x, expected, rtol=4.5e-16)


def test_sigmoid_has_limits():
    """Far out it is 0 and 1, and NaN stays NaN."""
    x = np.array([-np.inf, -1e30, -100, 100, 1e30, np.inf, np.nan])
    y = np.empty_like(x)
    _native.unary("sigmoid", x, y)()
    np.testing.assert_allclose(y[:-1], [0, 0, 0, 1, 1, 1], atol=1e-37)
    assert np.isnan(y[-1])


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (None, 0.5), (0, None), (None, None), (2, -2)])
def test_clip_takes_its_limits_when_it_runs(low, high):
    """As numpy's maximum, then its minimum; limits may be computed after the launch was made."""
    x = numbers(np.float64, 67)
    low, high = (None if v is None else np.array(float(v)) for v in (low, high))
    want = x if low is None else np.maximum(x, low)
    want = want if high is None else np.minimum(want, high)
    y = np.empty_like(x)
    late = None if low is None else np.zeros(())
    launch = _native.clip(x, late, high, y)
    if late is not None:
        late[...] = low
    launch()
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", [*NUMBERS, np.int8, np.uint8])
@pytest.mark.parametrize("in_place", [False, True])
def test_clip_takes_any_limits(dtype, in_place):
    """Each number by each pair of limits, also the extremes, and those that cross."""
    some = np.unique(numbers(dtype, 32))
    for low in some:
        for high in some:
            x = np.resize(some, 77)
            want = np.minimum(np.maximum(x, low), high)
            y = x if in_place else np.empty_like(x)
            _native.clip(x, np.array(low), np.array(high), y)()
            np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("dtype", NUMBERS)
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=5, max_side=4, min_side=0))
@settings(max_examples=60)
def test_binary_broadcasts_as_numpy_does(dtype, shapes):
    """Any two shapes that fit, every op and dtype, bit for bit."""
    a, b = (numbers(dtype, int(np.prod(s))).reshape(s) for s in shapes.input_shapes)
    ops = BINARY | (BINARY_FLOATS if np.dtype(dtype).kind == "f" else {})
    for op, function in ops.items():
        with np.errstate(all="ignore"):
            want = function(a, b)
        y = np.empty(shapes.result_shape, dtype)
        _native.binary(op, a, b, y)()
        np.testing.assert_array_equal(y, want.astype(dtype), err_msg=op)
    for op, function in COMPARISONS.items():
        truths = np.empty(shapes.result_shape, bool)
        _native.binary(op, a, b, truths)()
        np.testing.assert_array_equal(truths, function(a, b), err_msg=op)


@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=20, min_side=0))
def test_logic_broadcasts_as_numpy_does(shapes):
    """Of truth values, any two shapes that fit; an input that has the result's may be it."""
    draw = np.random.default_rng(1)
    a, b = (np.array(draw.random(shape) < 0.5) for shape in shapes.input_shapes)
    for op, function in LOGIC.items():
        want, held = np.array(function(a, b)), a.copy()
        y = held if held.shape == want.shape else np.empty(want.shape, bool)
        _native.binary(op, held, b, y)()
        np.testing.assert_array_equal(y, want, err_msg=op)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "int64", "float64"])
@given(shapes=mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=20, min_side=0))
@settings(max_examples=60)
def test_where_broadcasts_as_numpy_does(dtype, shapes):
    """Any three shapes that fit, bit for bit, whatever the bits mean; any bit makes a truth."""
    draw = np.random.default_rng(1)
    is_true, a, b = (draw.integers(0, 256, (*shape, 8), np.uint8) for shape in shapes.input_shapes)
    condition = np.array(is_true[..., 0] * (is_true[..., 1] & 1)).view(bool)
    bits = f"u{np.dtype(dtype).itemsize}"
    a, b = (x.view(bits)[..., 0].copy() for x in (a, b))
    y = np.empty(shapes.result_shape, bits)
    _native.where(condition, a.view(dtype), b.view(dtype), y.view(dtype))()
    np.testing.assert_array_equal(y, np.where(condition.view(np.uint8) != 0, a, b))


@pytest.mark.parametrize("shape", [(200_000,), (5, 70_000), (5_000, 40)])
def test_parts_of_threads_are_those_of_one(shape):
    """Where one run is cut, and where there are many."""
    draw = np.random.default_rng(0)
    condition, a = draw.random(shape) < 0.5, draw.random(shape)
    b = draw.random((shape[0],) + (1,) * (len(shape) - 1))
    y, total = np.empty(shape), np.empty(shape)
    headrace_cpu.set_threads(3)
    _native.where(condition, a, b, y)()
    _native.binary("add", a, b, total)()
    np.testing.assert_array_equal(y, np.where(condition, a, b))
    np.testing.assert_array_equal(total, a + b)


def test_integers_of_32_bits_are_divided_exactly():
    """Also the extremes, by numbers of any size; nothing is divided by 0 and what wraps around."""
    draw = np.random.default_rng(0)
    limits = np.iinfo(np.int32)
    a = draw.integers(limits.min, limits.max, 3001, np.int32, endpoint=True)
    b = draw.integers(limits.min, limits.max, 3001, np.int32, endpoint=True)
    b >>= np.arange(3001, dtype=np.int32) % 32
    a[::7], a[1::7] = limits.min, limits.max
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    quotient = np.abs(wide_a) // np.maximum(np.abs(wide_b), 1) * np.sign(wide_a) * np.sign(wide_b)
    y = np.zeros_like(a)
    _native.binary("divide", a, b, y)()
    np.testing.assert_array_equal(y, quotient.astype(np.int32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bytes_are_divided_exactly(dtype):
    """All of them by all of them."""
    all_bytes = np.arange(256).astype(dtype)
    a, b = all_bytes.reshape(256, 1), all_bytes
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    quotient = np.abs(wide_a) // np.maximum(np.abs(wide_b), 1) * np.sign(wide_a) * np.sign(wide_b)
    y = np.zeros((256, 256), dtype)
    _native.binary("divide", a, b, y)()
    np.testing.assert_array_equal(y, quotient.astype(dtype))


def test_integers_are_divided_towards_zero():
    """By zero it gives 0, and the least number by -1 itself."""
    for dtype in (np.int32, np.int64):
        least = np.iinfo(dtype).min
        a = np.array([7, -7, 7, -7, 0, 5, least, least, 6], dtype)
        b = np.array([2, 2, -2, -2, 3, 0, -1, 1, 7], dtype)
        y = np.empty_like(a)
        _native.binary("divide", a, b, y)()
        np.testing.assert_array_equal(y, [3, -3, -3, 3, 0, 0, least, least, 0])


@pytest.mark.parametrize(("op", "function"), [("mod", np.mod), ("fmod", np.fmod)])
def test_remainders_are_those_of_numpy(op, function):
    """Bit for bit, of quotients of any size, whole ones too, and of what is not finite."""
    draw = np.random.default_rng(0)
    a, b = (draw.normal(0, 1, 20_000) * 10.0 ** draw.integers(-20, 20, 20_000) for _ in range(2))
    small = np.repeat(np.array([*SPECIAL, 3, -3, 0.1, 7, 1e-45]), 15)
    whole = draw.integers(1, 1000, 5000) * draw.choice([0.1, 0.3, 1 / 3, 7.0], 5000)
    a = np.concatenate([a, small, whole, whole]).astype(np.float32)
    step = draw.choice([0.1, 0.3, 1 / 3, 7.0], 5000)
    b = np.concatenate([b, np.tile(small[::15], 15), step, -step]).astype(np.float32)
    with np.errstate(all="ignore"):
        want = function(a, b)
    y = np.empty_like(a)
    _native.binary(op, a, b, y)()
    np.testing.assert_array_equal(y.view(np.int32)[want == want], want.view(np.int32)[want == want])
    np.testing.assert_array_equal(np.isnan(y), np.isnan(want))


@given(x=arrays(np.float64, (3, 4), elements=st.floats(-9, 9)))
@settings(max_examples=20)
def test_binary_works_in_place(x):
    """The output may be either input, or both."""
    other = np.arange(12.0).reshape(3, 4)
    left, right, both = x.copy(), x.copy(), x.copy()
    _native.binary("subtract", left, other, left)()
    _native.binary("subtract", other, right, right)()
    _native.binary("add", both, both, both)()
    np.testing.assert_array_equal(left, x - other)
    np.testing.assert_array_equal(right, other - x)
    np.testing.assert_array_equal(both, x + x)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_numbers_go_on_by_equal_steps(dtype):
    """Integers wrap around; floats do not drift; start and step are read when it runs."""
    count = 70_000
    start, step, y = np.array(7, dtype), np.array([3], dtype), np.empty(count, dtype)
    launch = _native.arange(start, step, y)
    exact = np.dtype(dtype).kind == "i"
    first, by = (np.iinfo(dtype).max - 5, 2) if exact else (0.1, 0.3)
    start[...], step[...] = first, by
    launch()
    if exact:
        bits = 8 * start.itemsize
        wide = [(first + i * by + (1 << bits - 1)) % (1 << bits) for i in range(count)]
        right = (np.array(wide, object) - (1 << bits - 1)).astype(dtype)
    else:
        right = start.astype(np.float64) + np.arange(count) * step.astype(np.float64)
    np.testing.assert_array_equal(y, right.astype(dtype))


def test_a_sequence_runs_its_launches_in_order():
    """Each reads what the one before wrote; it may run again."""
    x, y = np.array([1.0, -2.0]), np.empty(2)
    steps = [_native.unary("negative", x, y), _native.binary("add", x, y, x)]
    run = _native.Sequence(steps)
    del steps
    run()
    np.testing.assert_array_equal(x, [0, 0])
    x[:] = 3
    run()
    np.testing.assert_array_equal(y, [-3, -3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: _native.unary("tanh", x, x), "no elementwise kernel .* 'tanh'"),
        (lambda x: _native.binary("prelu", *[np.zeros(3, np.int32)] * 3), "'prelu'"),
        (lambda x: _native.unary("relu", x, np.empty(2)), r"y is \[2\] but must be \[3\]"),
        (lambda x: _native.binary("add", x, np.empty(2), x), r"\[3\] and \[2\] do not fit"),
        (lambda x: _native.binary("add", x, x, np.empty((1, 3))), r"y is \[1, 3\]"),
        (lambda x: _native.clip(x, np.zeros(2), None, x), r"low is \[2\]"),
        (lambda x: _native.where(x > 0, x, np.zeros(3, "i8"), x), "a is of float64 and b of int64"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(make, message):
    """When the launch is made, naming the op and the two sides."""
    with pytest.raises(ValueError, match=message):
        make(np.zeros(3))
