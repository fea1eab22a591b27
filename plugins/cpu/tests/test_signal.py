"""Spectra: against numpy's in double precision, on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import headrace_cpu
from headrace.tensor_spec import Array
from headrace_cpu import _native


def spectrum(
    x: Array,
    length: int,
    window: Array | None = None,
    step: int = 0,
    inverse: bool = False,
    onesided: bool = False,
) -> Array:
    """What the launch writes; the same, bit by bit, on one thread and three."""
    batch, points, parts = x.shape
    frames = (points - length) // step + 1 if step else 1
    bins = length // 2 + 1 if onesided and not inverse else length
    floats = _native.spectrum_floats(length, parts, inverse, onesided)
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full((batch, frames, bins, 1 if inverse and onesided else 2), 7, np.float32)
        scratch = np.full(floats, np.nan, np.float32)
        launch = _native.spectrum(x, window, scratch, y, length, step, inverse, onesided)
        launch()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


def drawn(*shape: int) -> Array:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def numbers(x: Array) -> Array:
    """Parts as numbers of double precision."""
    wide = x.astype(np.float64)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def assert_near(made: Array, wanted: Array) -> None:
    """As near as float32 is: the error of a number is measured in the mean of all of a row."""
    mean = np.sqrt((np.abs(wanted) ** 2).mean(-1, keepdims=True))
    assert np.abs(numbers(made) - wanted).max(initial=0) <= 2e-6 * mean.max(initial=0)


LENGTHS = [
    *range(1, 51), 60, 63, 64, 77, 80, 96, 100, 121, 128, 143, 144, 169, 192, 200, 210, 225, 240,
    250, 251, 256, 257, 320, 343, 400, 441, 480, 500, 512, 540, 600, 625, 729, 800, 882, 960, 1000,
    1001, 1024, 1102, 1155, 1200, 1331, 2048, 2187, 2197, 2310, 3125, 4096, 4097, 5000, 8191, 10000,
    16384, 30030, 44100, 65536, 65537, 83521, 100_000,
    300_007, 1 << 20,
]  # fmt: skip
"""Every small one; products of each prime that has a way of its own; primes; and such that threads
share."""


@pytest.mark.parametrize("length", LENGTHS)
def test_a_transform_of_any_length_is_near_to_that_of_double_precision(length):
    """Of complex and of real rows, forward and back, whole and from one side."""
    complex_, real = drawn(2, length, 2), drawn(2, length, 1)
    assert_near(spectrum(complex_, length)[:, 0], np.fft.fft(numbers(complex_)))
    assert_near(spectrum(complex_, length, inverse=True)[:, 0], np.fft.ifft(numbers(complex_)))
    assert_near(spectrum(real, length)[:, 0], np.fft.fft(numbers(real)))
    assert_near(spectrum(real, length, onesided=True)[:, 0], np.fft.rfft(numbers(real)))
    half = np.ascontiguousarray(complex_[:, : length // 2 + 1])
    back = spectrum(half, length, inverse=True, onesided=True)[:, 0]
    assert_near(back, np.fft.irfft(numbers(half), length))


@pytest.mark.parametrize("points", [0, 1, 9, 40])
@pytest.mark.parametrize("length", [1, 8, 15, 17, 34, 36])
@pytest.mark.parametrize("parts", [1, 2])
def test_what_is_missing_is_0_and_what_is_more_is_left_out(points, length, parts):
    """Rows that are shorter or longer than the transform."""
    x = drawn(3, points, parts)
    whole = numbers(x) if points else np.zeros((3, 1))
    assert_near(spectrum(x, length)[:, 0], np.fft.fft(whole, length))
    assert_near(
        spectrum(x, length, onesided=True)[:, 0], np.fft.fft(whole, length)[:, : length // 2 + 1]
    )
    assert_near(spectrum(x, length, inverse=True)[:, 0], np.fft.ifft(whole, length))
    back = spectrum(x, length, inverse=True, onesided=True)[:, 0]
    assert_near(back, np.fft.irfft(whole, length))


@pytest.mark.parametrize(
    ("length", "step"), [(400, 160), (512, 128), (25, 7), (1102, 441), (16, 40)]
)
@pytest.mark.parametrize("parts", [1, 2])
def test_frames_are_windowed(length, step, parts):
    """Frames that overlap, and such that lie apart."""
    x, window = drawn(2, 3000, parts), drawn(length)
    framed = np.lib.stride_tricks.sliding_window_view(numbers(x), length, axis=1)[:, ::step]
    wanted = np.fft.fft(framed * window.astype(np.float64))
    assert_near(spectrum(x, length, window, step), wanted)
    half = spectrum(x, length, None, step, onesided=True)
    assert_near(half, np.fft.fft(framed)[..., : length // 2 + 1])


def test_one_point_reaches_every_bin_with_the_same_strength():
    """A number that is not finite makes all of its row so, and no other row."""
    x = np.zeros((3, 48, 2), np.float32)
    x[1, 5] = 1, 0
    x[2, 7, 0] = np.inf
    y = spectrum(x, 48)[:, 0]
    np.testing.assert_array_equal(y[0], 0)
    np.testing.assert_allclose(np.hypot(y[1, :, 0], y[1, :, 1]), 1, rtol=1e-6)
    assert not np.isfinite(y[2]).any()


@pytest.mark.parametrize(
    ("x", "y", "how", "message"),
    [
        ((2, 8, 3), (2, 1, 8, 2), (8, 1, False, False), "3 parts"),
        ((2, 8, 2), (2, 1, 8, 2), (0, 1, False, False), "0 numbers"),
        ((2, 8, 2), (2, 1, 8, 2), (1 << 40, 1, False, False), "numbers"),
        ((2, 8, 2), (2, 1, 8, 2), (8, 1, False, True), "y"),
        ((2, 8, 1), (2, 3, 3, 2), (4, 3, False, True), "do not fit"),
        ((2, 8, 1), (2, 3, 3, 2), (4, 0, False, True), "do not fit"),
        ((2, 8), (2, 1, 8, 2), (8, 1, False, False), "three axes"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(x, y, how, message):
    """Before anything is launched."""
    arrays = (np.zeros(shape, np.float32) for shape in ((0,), y))
    with pytest.raises(ValueError, match=message):
        _native.spectrum(np.zeros(x, np.float32), None, *arrays, *how)


@pytest.mark.parametrize("length", [8, 16, 20, 32])
@pytest.mark.parametrize("onesided", [False, True])
def test_short_frames_keep_what_is_left_when_large_numbers_cancel(length, onesided):
    """Of a constant under a window, whose own rounding alone is in most bins: a vocoder divides
    these numbers by each other, so they are no zeros where they should not be."""
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)).astype(np.float32)
    x = np.full((1, 3 * length, 1), 0.1, np.float32)
    made = spectrum(x, length, window, length, onesided=onesided)
    frame = np.float64(x[0, 0, 0]) * window.astype(np.float64)
    wanted = np.fft.fft(frame)[: made.shape[2]].real
    np.testing.assert_allclose(made[0, 0, :, 0], wanted, rtol=1e-6, atol=1e-16)
