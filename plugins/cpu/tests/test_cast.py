"""Changes of dtype, against numpy's, or written out where that leaves it open."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import headrace_cpu
from headrace_cpu import _native

INTEGERS = ("int8", "uint8", "int32", "int64")
FLOATS = ("float32", "float64")
EDGES = [
    0, -0.0, 0.5, -0.5, 0.99, -0.99, 1, -1, 1.5, -1.5, 127, 127.9, 128, -128, -128.9, -129, 255,
    256, 2147483520, 2147483647, 2147483648, -2147483648, -2147483904, 2.0**62, 2.0**63,
    -(2.0**63), 1e30, -1e30, math.inf, -math.inf, math.nan,
]  # fmt: skip


def cast(x, dtype):
    """What the launch writes; the same on one thread and three."""
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.empty(x.shape, dtype)
        _native.cast(x, y)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_a_float_is_cut_towards_zero_and_kept_within_the_range(source, target):
    """NaN is 0; enough elements for registers, a rest and several threads; by turns and in runs."""
    edges = np.array(EDGES, source)
    limits = np.iinfo(target)
    wanted = []
    for value in np.array(EDGES, source).tolist():
        if math.isnan(value):
            wanted.append(0)
        elif math.isinf(value):
            wanted.append(limits.max if value > 0 else limits.min)
        else:
            wanted.append(min(max(int(value), limits.min), limits.max))
    whole = np.array(wanted, target)
    np.testing.assert_array_equal(cast(np.resize(edges, 70_001), target), np.resize(whole, 70_001))
    np.testing.assert_array_equal(cast(np.repeat(edges, 130), target), np.repeat(whole, 130))


@pytest.mark.parametrize("source", ["bool", *INTEGERS])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS])
def test_an_integer_keeps_its_low_bits_or_is_rounded_once(source, target):
    """As numpy has it."""
    bits = np.random.default_rng(0).integers(0, 256, 8 * 1003, np.uint8)
    x = bits % 2 == 0 if source == "bool" else bits.view(source)
    np.testing.assert_array_equal(cast(x, target), x.astype(target))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", ["bool", *FLOATS])
def test_a_float_is_rounded_and_is_true_unless_it_is_zero(source, target):
    """As numpy has it; what is too large becomes infinite."""
    x = np.array([*EDGES, 1e300, 1e-300, 1 / 3], source if source == "float64" else "float64")
    with np.errstate(over="ignore"):
        x = x.astype(source)
        wanted = x.astype(target)
    np.testing.assert_array_equal(cast(x, target), wanted)


@pytest.mark.parametrize("source", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("target", ["bool", *INTEGERS, *FLOATS])
def test_a_half_is_cast_as_the_float_that_it_is(source, target):
    """All of them, and fewer than a register of them."""
    halves = np.arange(65536, dtype=np.uint16).view(source)
    for x in (halves, halves[15_000:15_007].copy(), halves[31_700:31_803].copy()):
        np.testing.assert_array_equal(cast(x, target), cast(x.astype(np.float32), target))


def test_nothing_is_cast_to_a_half():
    """What is not float32 would be rounded twice."""
    with pytest.raises(ValueError, match="y cannot be of float16"):
        _native.cast(np.zeros(3, np.float64), np.zeros(3, np.float16))


def test_what_is_no_number_of_these_is_refused():
    """By its name, and shapes must agree."""
    with pytest.raises(ValueError, match="x cannot be of uint16"):
        _native.cast(np.zeros(3, np.uint16), np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="y"):
        _native.cast(np.zeros(3, np.int32), np.zeros(4, np.float32))


def test_bytes_in_another_order_are_refused():
    """They are no numbers of the machine, whatever numpy calls their dtype."""
    swapped = np.zeros(3, np.dtype(np.float32).newbyteorder("S"))
    for x, y in ((swapped, np.zeros(3, np.int32)), (np.zeros(3, np.int32), swapped)):
        with pytest.raises(ValueError, match=r"cannot be of [<>]f4"):
            _native.cast(x, y)


def test_an_element_across_the_words_of_memory_is_refused():
    """An array may begin at any byte; what is read in whole words may not."""
    odd = np.zeros(17, np.uint8)[1:].view(np.float32)
    for x, y in ((odd, np.zeros(4, np.int32)), (np.zeros(4, np.int32), odd)):
        with pytest.raises(ValueError, match="is not aligned to its element size"):
            _native.cast(x, y)
