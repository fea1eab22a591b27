"""Options and fixtures of the conformance suite.

It is asked for by name, so that other test runs of the same environment never see it::

    pytest -p headrace.testing.pytest_plugin --pyargs headrace.testing.conformance --device TAG

Without ``--device`` every test that needs a device skips. With it the device is required: a backend
that is absent, broken or without hardware fails every test that needs it. A case of an op that
the backend offers no kernels for, neither for the op nor for what it is made of, skips and says
so; with ``--complete`` it fails.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from headrace.errors import DeviceError, PlacementError
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.testing.run import UncoveredError

OPTION = "--device"
COMPLETE = "--complete"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--device`` and ``--complete``."""
    group = parser.getgroup("headrace")
    group.addoption(
        COMPLETE,
        action="store_true",
        help="the device must run every case: one that it has no kernels for fails, not skips",
    )
    group.addoption(
        OPTION,
        metavar="TAG[:INDEX]",
        help="run on this device and fail if it cannot be used; without it, tests that need a "
        "device skip",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a device text that cannot be one before anything is collected."""
    try:
        _asked(config)
    except PlacementError as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from None


def pytest_report_header(config: pytest.Config) -> str:
    """Say which device of which distribution is tested. Reads metadata; loads no backend."""
    place = _asked(config)
    if place is None:
        return f"headrace: no {OPTION}; tests that need one skip"
    origins = [r.origin for r in default_registry().records() if r.tag == place.tag]
    return f"headrace: device {_text(place)} of {' and '.join(origins) or 'no installed backend'}"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device under test, as ``TAG:INDEX``; its backend is loaded and has that device."""
    place = _asked(request.config)
    if place is None:
        pytest.skip(f"needs a device: give {OPTION} TAG")
    try:
        default_registry().check_index(place.tag, place.devices[0][1])
    except DeviceError as error:
        pytest.fail(f"{OPTION} {_text(place)} cannot be used: {error}", pytrace=False)
    return _text(place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip what the device does not claim to run, unless it must be complete."""
    try:
        yield
    except UncoveredError as error:
        if item.config.getoption(COMPLETE):
            raise
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fail a test behind which a thread is still alive."""
    before = set(threading.enumerate())
    yield
    left = sorted(t.name for t in threading.enumerate() if t not in before and t.is_alive())
    assert not left, f"threads are still alive after the test: {', '.join(left)}"


def _asked(config: pytest.Config) -> Placement | None:
    text = config.getoption(OPTION)
    return None if text is None else Placement.of_device(text)


def _text(place: Placement) -> str:
    return f"{place.tag}:{place.devices[0][1]}"
