"""Depthwise convolutions of bytes against exact sums of numpy: every dtype, geometry and result."""

import itertools

import numpy as np
import pytest
from exact import BYTES, quantized, slow_conv, some_bytes
from geometry import windows
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
import headrace_cpu
from headrace_cpu import _native


def packed(weight):
    """weight: [c, *kernel], as the native function reads it, and the sums of its channels.

    Fewer channels that divide 64 fill a block.
    """
    channels, taps = weight.shape[0], int(np.prod(weight.shape[1:]))
    flat = weight.reshape(channels, taps).astype(np.int32)
    flat = flat - 128 if weight.dtype == np.uint8 else flat
    panels = np.zeros((-(-channels // 64), -(-taps // 4), 256), np.int8)
    filled = 64 if channels < 64 and 64 % channels == 0 else channels
    for c, t in itertools.product(range(filled), range(taps)):
        inside = c % 64
        quad = inside % 16 // 4 * 16 + inside // 16 * 4 + inside % 4
        panels[c // 64, t // 4, quad * 4 + t % 4] = flat[c % channels, t]
    return panels, flat.sum(axis=1).astype(np.int32)


CHANNELS = [2, 5, 15, 16, 17, 31, 32, 48, 63, 64, 65, 96, 144, 200]
EPILOGUES = ["int32", "float", "bytes", "clamped bytes", "everything"]


def finished(epilogue, sums, scale, dtype, rng):
    """What numpy makes of sums, and the arguments by which the kernel is asked for the same."""
    follows = _native.Epilogue(None, None, "none", 0.0, 0.0, False)
    if epilogue == "int32":
        return sums, None, None, None, follows
    want = sums.astype(np.float32) * scale
    if epilogue == "float":
        return want, scale, None, None, follows
    y_scale, y_zero = np.float32(1), np.asarray(17, dtype)
    if epilogue == "clamped bytes":
        want = np.clip(want, np.float32(-3.25), np.float32(40.5))
        follows = _native.Epilogue(None, None, "clamp", -3.25, 40.5, False)
    if epilogue == "everything":
        y_scale = np.float32(0.37)
        bias = rng.integers(-8, 9, sums.shape[-1]).astype(np.float32)
        addend = rng.integers(-8, 9, sums.shape).astype(np.float32)
        want = want + bias
        want = np.where(want < 0, want * np.float32(0.25), want) + addend
        follows = _native.Epilogue(bias, addend, "leaky", 0.25, 0.0, True)
    return quantized(want, y_scale, y_zero, dtype), scale, np.asarray(y_scale), y_zero, follows


@settings(max_examples=200)
@given(
    window=windows(2, 5, (12, 12)),
    n=st.integers(1, 2),
    channels=st.sampled_from(CHANNELS),
    dtypes=st.tuples(st.sampled_from(BYTES), st.sampled_from(BYTES), st.sampled_from(BYTES)),
    epilogue=st.sampled_from(EPILOGUES),
    with_zeros=st.booleans(),
    one_scale=st.booleans(),
)
def test_a_convolution_of_any_geometry(
    window, n, channels, dtypes, epilogue, with_zeros, one_scale
):
    """Padding reads as the zero point; sums are exact, and the bits those of any thread count."""
    spatial, kernel, strides, dilations, pads = window
    shape, rng = (n, *spatial, channels), np.random.default_rng(0)
    x, weight = some_bytes(rng, dtypes[0], shape), some_bytes(rng, dtypes[1], (channels, *kernel))
    x_zero = some_bytes(rng, dtypes[0], ())
    zeros = some_bytes(rng, dtypes[1], channels) if with_zeros else np.zeros(channels, dtypes[1])
    moved = zeros.astype(np.int32) - (128 if dtypes[1] == np.uint8 else 0)
    shift = rng.integers(-(2**19), 2**19, channels, np.int32)
    sums = slow_conv(
        x.astype(np.float64) - x_zero,
        (weight - zeros.astype(np.float64).reshape(-1, *[1] * len(kernel)))[..., None],
        strides, dilations, pads, channels,
    ).astype(np.int64).astype(np.int32) + shift  # fmt: skip
    scale = rng.uniform(1e-4, 1e-3, 1 if one_scale else channels).astype(np.float32)
    want, scale, y_scale, y_zero, follows = finished(epilogue, sums, scale, dtypes[2], rng)
    weights = _native.IntegerWeights(*packed(weight), moved if moved.any() else None)
    rescale = _native.Rescale(scale, np.asarray(x_zero), shift, y_scale, y_zero, follows)
    place = _native.Window(kernel, strides, dilations, pads[: len(kernel)])
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros(want.shape, want.dtype)
        prepared = np.zeros(4 * -(-channels // 64) * 64, np.int32)
        _native.integer_depthwise_conv(x, weights, y, prepared, rescale, place)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    if want.dtype == np.float32:
        np.testing.assert_allclose(made[0], want, rtol=1e-6, atol=1e-6)
    elif epilogue == "everything":  # sums of floats may be rounded once or twice
        np.testing.assert_allclose(made[0].astype(int), want.astype(int), atol=1)
        assert (made[0] != want).mean() < 0.01
    else:
        np.testing.assert_array_equal(made[0], want)


def times(x, factor, y):
    """Into y, bytes: each element of x, with taps of one, by a factor that follows."""
    weights = _native.IntegerWeights(*packed(np.ones((x.shape[-1], 1, 1), np.int8)))
    rescale = _native.Rescale(np.float32([factor]), y_scale=np.asarray(np.float32(1)))
    window = _native.Window((1, 1), (1, 1), (1, 1), (0, 0))
    _native.integer_depthwise_conv(x, weights, y, np.zeros(256, np.int32), rescale, window)()


def test_ties_go_to_the_even_number():
    """Where a factor and a clamp are all that follows, results are rounded once, in registers."""
    x = np.arange(-60, 60, dtype=np.int8).reshape(1, 2, 60, 1).repeat(64, axis=-1)
    y = np.zeros(x.shape, np.int8)
    times(x, 0.5, y)
    np.testing.assert_array_equal(y, np.rint(x * 0.5).astype(np.int8))


@pytest.mark.parametrize("factor", [np.inf, np.nan])
def test_a_factor_that_is_no_number_gives_what_quantize_gives(factor):
    """The ends of the byte for infinities, and zero for what is not a number."""
    x = np.int8([-3, 0, 5]).reshape(1, 1, 3, 1).repeat(2, axis=-1)
    y = np.full(x.shape, 7, np.int8)
    times(x, factor, y)
    want = [-128, 0, 127] if factor == np.inf else [0, 0, 0]
    np.testing.assert_array_equal(y[0, 0, :, 0], want)


NARROW = _native.IntegerWeights(np.zeros((1, 2, 256), np.int8), np.zeros(3, np.int32))
"""Weights of up to eight taps."""


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"x": np.zeros((1, 4, 4, 3), np.float32)}, TypeError, "must be contiguous, int8 or uint8"),
        ({"weights": NARROW}, ValueError, r"panels is \[1, 2, 256\]"),
        (
            {"y": np.zeros((1, 2, 2, 4), np.int32)},
            ValueError,
            r"y is \[1, 2, 2, 4\] but x is \[1, 4, 4, 3\]",
        ),
        ({"prepared": np.zeros(3, np.int32)}, ValueError, r"prepared is \[3\]"),
    ],
)
def test_a_launch_says_what_does_not_fit(changes, error, said):
    """Before anything is computed."""
    arguments = {
        "x": np.zeros((1, 4, 4, 3), np.int8),
        "weights": _native.IntegerWeights(*packed(np.zeros((3, 3, 3), np.int8))),
        "y": np.zeros((1, 2, 2, 3), np.int32),
        "prepared": np.zeros(256, np.int32),
        "rescale": _native.Rescale(),
        "window": _native.Window((3, 3), (1, 1), (1, 1), (0, 0)),
    }
    with pytest.raises(error, match=said):
        _native.integer_depthwise_conv(**{**arguments, **changes})


RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((1, 9, 9, 80), np.float32)
TAPS = RNG.integers(-128, 127, (80, 3, 3, 1), np.int8)
SCALES = RNG.uniform(0.001, 0.01, 80).astype(np.float32)
BIAS = RNG.integers(-3000, 3000, 80, np.int32)
X_SCALE, X_ZERO, Y_SCALE, Y_ZERO = (
    np.float32(0.02), np.uint8(117), np.float32(0.03), np.uint8(3),
)  # fmt: skip


def test_a_convolution_between_quantized_numbers_is_one_of_bytes():
    """As exporters write it: everything is quantized and dequantized around a convolution."""
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(IMAGE.shape, flow.float32)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                op = flow.apply_op
                x = op("dequantize", [op("quantize", [x, X_SCALE, X_ZERO]), X_SCALE, X_ZERO])
                weight = op("dequantize", [TAPS, SCALES], axis=0)
                bias = op("dequantize", [BIAS, SCALES * X_SCALE], axis=0)
                window = {"pads": (1, 1, 1, 1), "groups": 80, "data_format": "channels_last"}
                y = op("conv", [x, weight, bias], **window)
                y = op("quantize", [op("relu", [y]), Y_SCALE, Y_ZERO])
                return op("dequantize", [y, Y_SCALE, Y_ZERO])

        made = job(IMAGE)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops == ["quantize", "cpu.integer_depthwise_conv", "dequantize"]
    bytes_ = quantized(IMAGE, X_SCALE, X_ZERO, np.uint8)
    sums = slow_conv(
        bytes_.astype(np.float64) - X_ZERO, TAPS, (1, 1), (1, 1), (1, 1, 1, 1), len(TAPS)
    )  # fmt: skip
    floats = (sums + BIAS).astype(np.float32) * (X_SCALE * SCALES / Y_SCALE)
    want = quantized(np.maximum(floats, 0), 1, Y_ZERO, np.uint8).astype(int)
    got = np.rint(made / Y_SCALE).astype(int) + Y_ZERO
    np.testing.assert_array_equal(got, want)
