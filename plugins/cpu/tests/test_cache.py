"""Caches and attention over them: in place, with any number of threads, and what is refused."""

import numpy as np
import pytest

from headrace_cpu import _native, set_threads

RNG = np.random.default_rng(0)
BATCH, HEADS, SHARED, LENGTH, SIZE = 2, 6, 2, 37, 20


def normal(*shape):
    return RNG.standard_normal(shape, np.float32)


def test_a_cache_is_written_where_it_lies():
    """Only the new steps are written when the cache is its own past; with ``clears``, zeros too."""
    cache, x = normal(BATCH, SHARED, LENGTH, SIZE), normal(BATCH, SHARED, 3, SIZE)
    want = cache.copy()
    want[0, :, 5:8], want[1, :, 34:37] = x
    _native.cache_write(x, cache, np.array([5, 34]), cache, False)()
    np.testing.assert_array_equal(cache, want)
    want[0, :, 8:] = 0
    _native.cache_write(x, cache, np.array([5, 34]), cache, True)()
    np.testing.assert_array_equal(cache, want)


def test_a_step_outside_leaves_the_cache_as_it_was():
    """Also where another sequence of the batch could be written."""
    cache, x = normal(BATCH, SHARED, LENGTH, SIZE), normal(BATCH, SHARED, 3, SIZE)
    before = cache.copy()
    with pytest.raises(IndexError, match="3 steps after 35 are outside a cache of 37"):
        _native.cache_write(x, cache, np.array([5, 35]), cache, True)()
    np.testing.assert_array_equal(cache, before)


def attend(threads, steps):
    """With everything that an attention may have."""
    set_threads(threads)
    rng = np.random.default_rng(1)
    y = np.full((BATCH, HEADS, steps, SIZE), np.nan, np.float32)
    rows = HEADS // SHARED * steps
    floats = (48 * SIZE + 32 * LENGTH) * (rows > 8)
    kept = [rng.standard_normal((BATCH, SHARED, LENGTH, SIZE), np.float32) for _ in "kv"]
    _native.cached_attention(
        rng.standard_normal((BATCH, HEADS, steps, SIZE), np.float32),
        *kept,
        np.array([3, 11]),
        np.array([LENGTH, 20]),
        rng.standard_normal((1, HEADS, steps, LENGTH), np.float32),
        rng.standard_normal(HEADS, np.float32),
        y,
        np.empty(BATCH * SHARED * floats, np.float32),
        0.25,
        True,
        9,
        5.0,
    )()
    return y


@pytest.mark.parametrize("steps", [1, 2, 26])
def test_bits_do_not_depend_on_the_number_of_threads(steps):
    """Each head is worked on alike, whoever does."""
    one = attend(1, steps)
    assert np.isfinite(one).all()
    for threads in (2, 3):
        np.testing.assert_array_equal(attend(threads, steps), one)


def test_what_no_step_sees_does_not_count():
    """Not even if it is no number: a buffer need not be cleared before it is used."""
    q, k, v = normal(1, 2, 1, SIZE), normal(1, 1, LENGTH, SIZE), normal(1, 1, LENGTH, SIZE)

    def run():
        y, panels = np.empty((1, 2, 1, SIZE), np.float32), np.empty(0, np.float32)
        given = (q, k, v, np.array([10]), None, None, None, y, panels)
        _native.cached_attention(*given, 0.3, True, 0, 0.0)()
        return y

    want = run()
    k[:, :, 11:], v[:, :, 11:] = np.nan, np.inf
    np.testing.assert_array_equal(run(), want)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", np.zeros((1, 1, 4, 3), np.float32)),
        ("v", np.zeros((1, 1, 5, 2), np.float32)),
        ("before", np.zeros(2, np.int64)),
        ("end", np.zeros(2, np.int64)),
        ("bias", np.zeros((1, 3, 1, 4), np.float32)),
        ("bias", np.zeros((1, 1, 1, 3), np.float32)),
        ("sink", np.zeros(1, np.float32)),
        ("y", np.zeros((1, 2, 1, 3), np.float32)),
        ("panels", np.zeros(1, np.float32)),
        ("window", -1),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(name, value):
    """By name, before anything runs."""
    given = {
        "q": np.zeros((1, 2, 1, 2), np.float32),
        "k": np.zeros((1, 1, 4, 2), np.float32),
        "v": np.zeros((1, 1, 4, 2), np.float32),
        "before": np.zeros(1, np.int64),
        "end": None,
        "bias": None,
        "sink": None,
        "y": np.zeros((1, 2, 1, 2), np.float32),
        "panels": np.zeros(0, np.float32),
        "scale": 1.0,
        "causal": True,
        "window": 0,
        "softcap": 0.0,
    }
    _native.cached_attention(**given)()
    with pytest.raises(ValueError, match=name):
        _native.cached_attention(**{**given, name: value})
