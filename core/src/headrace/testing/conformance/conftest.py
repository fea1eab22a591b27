"""Fixtures of the tests that take a device through its records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.placement import Placement
from headrace.registry import Backend, default_registry
from headrace.testing.opened import OpenedDevice


@pytest.fixture
def tag(device: str) -> str:
    """The tag of the device under test."""
    return Placement.of_device(device).tag


@pytest.fixture
def backend(tag: str) -> Backend:
    """The records of the device under test."""
    return default_registry().backend(tag)


@pytest.fixture
def opened(device: str) -> Iterator[OpenedDevice]:
    """The device under test, open; closed after the test."""
    with OpenedDevice(device) as opened:
        yield opened
