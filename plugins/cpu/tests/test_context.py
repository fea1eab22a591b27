"""Captured sequences: native launches together, Python's between them, errors named."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.device import Device
from headrace.errors import LaunchError
from headrace_cpu import _native
from headrace_cpu.context import CpuContext


@pytest.fixture
def context():
    """A stream."""
    return CpuContext(Device(0), 0)


def test_native_launches_are_one_call(context):
    """A sequence of them needs no Python between."""
    x = np.array([1.0, -2.0])
    captured = context.capture([_native.unary("negative", x, x), _native.unary("relu", x, x)])
    assert isinstance(captured, _native.Sequence)
    captured()
    np.testing.assert_array_equal(x, [0, 2])


@pytest.mark.parametrize("notes", [0, 1, 2])
def test_a_native_launch_that_fails_is_named(context, notes):
    """By its place in the sequence, whatever stands before it; and those before it have run."""
    x, log = np.array([[[1.0], [2.0]]]), []
    to = [np.empty((1, 2, 1)) for _ in range(2)]
    launches = [
        *[lambda: log.append(x[0, 0, 0])] * notes,
        _native.unary("negative", x, x),
        _native.gather(x, np.array([1, -2]), to[0], 1),
        _native.gather(x, np.array([0, 2]), to[1], 1),
        _native.unary("negative", x, x),
    ]
    with pytest.raises(LaunchError) as raised:
        context.capture(launches)()
    assert raised.value.index == notes + 2
    assert isinstance(raised.value.__cause__, IndexError)
    assert str(raised.value.__cause__) == "index 2 is outside axis 1, which has 2 elements"
    assert to[0].ravel().tolist() == [-2, -1] and log == [1] * notes


def test_python_and_native_launches_keep_their_order(context):
    """Whatever stands beside what."""
    x, log = np.array([2.0]), []

    def note():
        log.append(x[0])

    negative, double = _native.unary("negative", x, x), _native.binary("add", x, x, x)
    captured = context.capture([note, negative, note, double, negative, note, note])
    captured()
    assert log == [2, -2, 4, 4]


@pytest.mark.parametrize("native_before", [0, 1, 2])
def test_the_launch_that_failed_is_named(context, native_before):
    """By its position among all, not among those that Python calls."""
    x = np.zeros(1)

    def fail():
        raise RuntimeError("broken")

    launches = [_native.unary("relu", x, x)] * native_before + [fail]
    with pytest.raises(LaunchError) as caught:
        context.capture(launches)()
    assert caught.value.index == native_before
    assert str(caught.value.__cause__) == "broken"


def test_nothing_captured_does_nothing(context):
    """A chain may be empty."""
    context.capture([])()
