"""Work that fails on any device: an element is asked for that does not exist."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headrace.device import DeviceContext, Launch
from headrace.tensor_spec import TensorSpec
from headrace.testing.opened import OpenedDevice

_X = np.arange(6, dtype=np.float32).reshape(2, 3)
_OUTSIDE = np.array([1, 99], np.int64)


def failing_launch(opened: OpenedDevice, context: DeviceContext) -> Launch:
    """A launch of ``gather`` with an index outside; skips where the device has no kernel for it.

    It raises at once on a device that works at once. Elsewhere the launch returns and its work
    fails, which is what cannot be had by a function that raises.
    """
    if not opened.backend.kernels.entries("gather"):
        pytest.skip(f"device {opened.backend.tag!r} has no kernel for gather")
    inputs = [(TensorSpec.of(array), opened.upload(array)) for array in (_X, _OUTSIDE)]
    return opened.bind(context, "gather", inputs, [opened.allocate(24)], axis=0)


def error_of(work: Callable[[], object]) -> Exception | None:
    """What ``work`` raises, whatever it is: how a device calls its errors is its own affair."""
    try:
        work()
    except Exception as error:  # noqa: BLE001
        return error
    return None
