"""Images whose channels are last: kernels against plain numpy in float64, on any threads."""

import itertools

import numpy as np
from exact import followed
from geometry import places, squares, windows
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native

CHANNELS = st.sampled_from([1, 3, 15, 16, 17, 24, 40, 64, 72, 130])


def on_any_threads(bind, shape, start=None):
    """What a launch that ``bind(y)`` makes writes; the same, bit by bit, on one thread and three.

    ``y`` begins as ``start``, or as NaN.
    """
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full(shape, np.nan, np.float32) if start is None else start.copy()
        bind(y)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


def reads(x, window, fill):
    """By tap, what each window reads: float64[n, *out, c]; ``fill`` in the padding."""
    _, kernel, strides, dilations, pads = window
    out = places(*window)
    around = zip(pads[: len(kernel)], pads[len(kernel) :], strict=True)
    padded = np.pad(x.astype(np.float64), ((0, 0), *around, (0, 0)), constant_values=fill)
    for tap in itertools.product(*map(range, kernel)):
        axes = zip(tap, dilations, out, strides, strict=True)
        yield padded[
            (slice(None), *(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in axes))
        ]


@settings(max_examples=240)
@given(
    window=st.one_of(windows(2), squares()),
    channels=CHANNELS,
    n=st.integers(1, 2),
    with_bias=st.booleans(),
    addend=st.sampled_from([None, "first", "last"]),
    activation=st.sampled_from(["none", "clamp", "silu"]),
)
def test_a_depthwise_convolution_of_any_geometry(
    window, channels, n, with_bias, addend, activation
):
    """Sums of taps, and what follows them, in place over the addend too."""
    spatial, kernel, strides, dilations, pads = window
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, *spatial, channels), np.float32)
    taps = rng.standard_normal((int(np.prod(kernel)), channels), np.float32)
    want = sum(read * tap for read, tap in zip(reads(x, window, 0.0), taps, strict=True))
    bias = rng.standard_normal(channels, np.float32) if with_bias else None
    more = rng.standard_normal(want.shape, np.float32) if addend else None
    want = followed(want, bias, activation, more, addend)
    where = _native.Window(kernel, strides, dilations, pads[: len(kernel)])

    def bind(y):
        place = None if more is None else y
        epilogue = _native.Epilogue(bias, place, activation, -0.5, 2.0, addend == "last")
        return _native.depthwise_conv_last(x, taps, y, where, epilogue)

    got = on_any_threads(bind, (n, *places(*window), channels), more)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


@settings(max_examples=120)
@given(window=windows(3), channels=CHANNELS, kind=st.sampled_from(["max", "mean", "padded mean"]))
def test_a_pool_of_any_geometry(window, channels, kind):
    """The largest wins, NaN over all; a mean is over what counts."""
    spatial, kernel, strides, dilations, pads = window
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, *spatial, channels), np.float32)
    if kind == "max":
        x[rng.random(x.shape) < 0.02] = np.nan
        want = np.maximum.reduce(list(reads(x, window, -np.inf)))
    else:
        counted = np.ones(x.shape)
        count = sum(reads(counted, window, 1.0 if kind == "padded mean" else 0.0))
        want = sum(reads(x, window, 0.0)) / np.maximum(count, 1)
    rank = len(kernel)
    where = _native.Window(kernel, strides, dilations, pads[:rank])
    what = "max" if kind == "max" else "mean"
    got = on_any_threads(
        lambda y: _native.pool_last(what, x, y, where, pads[rank:], kind == "padded mean"),
        (2, *places(*window), channels),
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@settings(max_examples=60)
@given(
    outer=st.integers(1, 3),
    rows=st.sampled_from([1, 2, 49, 511, 512, 513, 2000]),
    columns=CHANNELS,
    kind=st.sampled_from(["sum", "mean", "max"]),
)
def test_rows_are_folded(outer, rows, columns, kind):
    """Sums, means and largest numbers down the rows, however many."""
    x = np.random.default_rng(0).standard_normal((outer, rows, columns), np.float32)
    want = getattr(x.astype(np.float64), kind)(axis=1)
    got = on_any_threads(lambda y: _native.fold_rows(kind, x, y), (outer, columns))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4 if kind == "sum" else 1e-6)


@settings(max_examples=60)
@given(
    pixels=st.sampled_from([1, 2, 49, 1000, 9000]),
    channels=CHANNELS,
    groups=st.sampled_from([1, 2, 0]),
    mean=st.sampled_from([0.0, 1000.0]),
    in_place=st.booleans(),
)
def test_groups_of_channels_are_standardised(pixels, channels, groups, mean, in_place):
    """Each by its own statistics, also where the mean is large beside the deviation."""
    groups = groups if groups and channels % groups == 0 else channels
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((2, pixels, channels)) + mean).astype(np.float32)
    gamma, beta = rng.standard_normal((2, channels), np.float32)
    wide = x.astype(np.float64).reshape(2, pixels, groups, channels // groups)
    away = wide - wide.mean(axis=(1, 3), keepdims=True)
    deviation = np.sqrt(np.square(away).mean(axis=(1, 3), keepdims=True) + 1e-5)
    want = (away / deviation).reshape(x.shape) * gamma + beta
    got = on_any_threads(
        lambda y: _native.group_norm_last(y if in_place else x, gamma, beta, y, groups, 1e-5),
        x.shape,
        x if in_place else None,
    )
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


@given(channels=CHANNELS)
@settings(max_examples=10)
def test_channels_are_normalised_by_given_statistics(channels):
    """In place too."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 7, channels), np.float32)
    mean, gamma, beta = rng.standard_normal((3, channels), np.float32)
    variance = rng.uniform(0.5, 2, channels).astype(np.float32)
    want = (x.astype(np.float64) - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    got = on_any_threads(
        lambda y: _native.normalization_last(y, mean, variance, gamma, beta, y, 1e-3), x.shape, x
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
