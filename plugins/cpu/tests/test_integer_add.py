"""Quantized numbers that are added, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
import headrace_cpu
from headrace_cpu import _native

BYTES = [np.int8, np.uint8]


def drawn(rng, dtype, shape):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@settings(max_examples=80)
@given(
    dtypes=st.tuples(*[st.sampled_from(BYTES)] * 3),
    count=st.sampled_from([1, 15, 16, 17, 100, 70_001]),
    factors=st.sampled_from([(0.5, 1.0), (0.25, 2.0), (0.75, 0.5)]),
    clamped=st.booleans(),
)
def test_sums_are_rounded_once(dtypes, count, factors, clamped):
    """Factors with few bits make sums exact: ties go to the even number, on any thread count."""
    rng = np.random.default_rng(count)
    a, b = drawn(rng, dtypes[0], count), drawn(rng, dtypes[1], count)
    limits, zero = np.iinfo(dtypes[2]), 3
    low, high = (-2.5, 77.25) if clamped else (limits.min - zero, limits.max - zero)
    low = max(low, limits.min - zero)
    want = np.rint(np.clip(a * factors[0] + b * factors[1] - 40.5, low, high)) + zero
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros(count, dtypes[2])
        _native.integer_add(a, b, y, factors, -40.5, (low, high), zero)()
        made.append(y)
    np.testing.assert_array_equal(made[0], want.astype(dtypes[2]))
    np.testing.assert_array_equal(*made)


def test_any_factor():
    """Within a step of the exact sum, and the nearest number where that is no tie."""
    rng = np.random.default_rng(1)
    a, b = drawn(rng, np.uint8, 4096), drawn(rng, np.uint8, 4096)
    for _ in range(50):
        p, q, r = np.float32(rng.uniform(0.01, 1.5, 3) * [1, 1, -90])
        y = np.zeros(4096, np.uint8)
        _native.integer_add(a, b, y, (p, q), r, (0.0, 255.0), 0)()
        exact = np.clip(a * np.float64(p) + b * np.float64(q) + np.float64(r), 0, 255)
        assert np.abs(y - exact).max() <= 0.5001


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"b": np.zeros(4, np.uint8)}, ValueError, r"b is \[4\]"),
        ({"a": np.zeros(3, np.float32)}, TypeError, "a must be contiguous, int8 or uint8"),
        ({"limits": (0.0, 300.0)}, ValueError, "low and high, with zero added, are no bytes"),
        ({"limits": (np.nan, 255.0)}, ValueError, "low and high, with zero added, are no bytes"),
    ],
)
def test_a_launch_says_what_does_not_fit(changes, error, said):
    """Before anything is computed."""
    arguments = {
        "a": np.zeros(3, np.uint8), "b": np.zeros(3, np.uint8), "y": np.zeros(3, np.uint8),
        "factors": (1.0, 1.0), "offset": 0.0, "limits": (0.0, 255.0), "zero": 0,
    }  # fmt: skip
    with pytest.raises(error, match=said):
        _native.integer_add(**{**arguments, **changes})


A_SCALE, B_SCALE, Y_SCALE = np.float32(0.25), np.float32(0.5), np.float32(0.125)
A_ZERO, B_ZERO, Y_ZERO = np.uint8(3), np.uint8(128), np.uint8(31)


def run(build, a, b):
    """What a job on this backend makes of them, and the names of its ops."""
    with flow.Session() as session:
        specs = [tp.Numpy.Placeholder(x.shape, flow.dtypes.dtype_of(x.dtype)) for x in (a, b)]

        @flow.global_function(session=session)
        def job(x: specs[0], y: specs[1]) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return build(x, y)

        made = job(a, b)
        return made, [op.op.split("(")[0] for op in session.explain("job").ops]


@pytest.mark.parametrize("limit", [None, "relu", "clip"])
@pytest.mark.parametrize("added", ["add", "add_n"])
def test_a_sum_between_quantized_numbers_is_one_of_bytes(added, limit):
    """With what limits it; right to the last bit, since these scales are exact."""
    rng = np.random.default_rng(3)
    a, b = drawn(rng, np.uint8, (2, 40)), drawn(rng, np.uint8, (2, 40))
    low, high = {None: (-np.inf, np.inf), "relu": (0, np.inf), "clip": (-1, 6)}[limit]

    def build(x, y):
        op = flow.apply_op
        terms = [op("dequantize", [x, A_SCALE, A_ZERO]), op("dequantize", [y, B_SCALE, B_ZERO])]
        made = op(added, terms)
        if limit == "relu":
            made = op("relu", [made])
        if limit == "clip":
            made = op("clip", [made, np.float32(low), np.float32(high)])
        return op("quantize", [made, Y_SCALE, Y_ZERO])

    made, ops = run(build, a, b)
    assert ops == ["cpu.integer_add"]
    floats = (a.astype(float) - 3) * 0.25 + (b.astype(float) - 128) * 0.5
    want = np.clip(np.rint(np.clip(floats, low, high) / 0.125) + 31, 0, 255)
    np.testing.assert_array_equal(made, want)


def test_a_sum_that_is_rounded_with_its_zero_point_is_one_of_bytes():
    """As onnxruntime's own op says it; an odd zero point decides where ties fall."""
    a, b = np.arange(40, dtype=np.uint8), np.full(40, 128, np.uint8)

    def build(x, y):
        op = flow.apply_op
        terms = [op("dequantize", [x, A_SCALE, A_ZERO]), op("dequantize", [y, B_SCALE, B_ZERO])]
        made = op("divide", [op("add", terms), np.float32(0.5)])
        return op("quantize", [op("add", [made, np.float32(31)]), np.float32(1)])

    made, ops = run(build, a, b)
    assert ops == ["cpu.integer_add"]
    want = np.clip(np.rint((a.astype(float) - 3) * 0.25 / 0.5 + 31), 0, 255)
    np.testing.assert_array_equal(made, want)


def test_a_sum_that_somebody_else_reads_stays_a_sum_of_floats():
    """What a caller is to have is made."""
    a, b = np.arange(40, dtype=np.uint8), np.full(40, 128, np.uint8)

    def build(x, y):
        op = flow.apply_op
        terms = [op("dequantize", [x, A_SCALE, A_ZERO]), op("dequantize", [y, B_SCALE, B_ZERO])]
        made = op("add", terms)
        bytes_ = op("dequantize", [op("quantize", [made, Y_SCALE, Y_ZERO]), Y_SCALE, Y_ZERO])
        return op("add", [made, bytes_])

    _, ops = run(build, a, b)
    assert "cpu.integer_add" not in ops


@pytest.mark.parametrize("kind", ["max_pool", "max_pool of another scale"])
def test_the_largest_of_quantized_numbers_is_one_of_bytes(kind):
    """Where the bytes mean the same before and after; elsewhere they are read and written."""
    rng = np.random.default_rng(4)
    a = drawn(rng, np.uint8, (1, 6, 6, 8))
    y_scale = A_SCALE if kind == "max_pool" else np.float32(0.5)

    def build(x, _):
        op = flow.apply_op
        window = {"kernel": (2, 2), "strides": (2, 2), "data_format": "channels_last"}
        made = op("max_pool", [op("dequantize", [x, A_SCALE, A_ZERO])], **window)
        return op("quantize", [made, y_scale, A_ZERO])

    made, ops = run(build, a, a)
    most = a.reshape(1, 3, 2, 3, 2, 8).max(axis=(2, 4))
    if kind == "max_pool":
        assert ops == ["max_pool"]
        np.testing.assert_array_equal(made, most)
    else:
        assert ops == ["dequantize", "max_pool", "quantize"]
        np.testing.assert_array_equal(made, np.rint((most.astype(float) - 3) / 2) + 3)
