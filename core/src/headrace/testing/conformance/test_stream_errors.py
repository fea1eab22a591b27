"""Queued work that fails: whoever waits for it learns of it, once, and nobody else does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from headrace.device import DeviceContext
from headrace.tensor_spec import TensorSpec
from headrace.testing.failing import error_of, failing_launch
from headrace.testing.opened import OpenedDevice

pytestmark = [pytest.mark.conformance("errors"), pytest.mark.conformance("streams")]

SPEC = TensorSpec((3,), "float32")
X = np.array([1, -2, 3], np.float32)


def copies(opened: OpenedDevice, context: DeviceContext) -> None:
    """Hold that the stream is clean: what is copied on it arrives."""
    buffer = opened.upload(X * 0)
    context.copy_h2d(buffer, opened.host_copy(X))
    context.synchronize()
    assert opened.download(buffer, SPEC).tolist() == X.tolist()


@pytest.fixture
def late(opened: OpenedDevice) -> OpenedDevice:
    """The device under test, when its launches return before the work is done."""
    if opened.compute().host_synchronous:
        pytest.skip(f"device {opened.backend.tag!r} works at once: launches raise their errors")
    return opened


def test_an_error_surfaces_once(opened: OpenedDevice) -> None:
    """At the launch or at the wait behind it; then the stream is clean, and so again."""
    context = opened.compute()
    launch = failing_launch(opened, context)
    for _ in range(2):
        errors = [error_of(launch), error_of(context.synchronize), error_of(context.synchronize)]
        assert sum(error is not None for error in errors) == 1, errors
        assert errors[2] is None
        copies(opened, context)


def test_the_first_of_several_errors_surfaces(late: OpenedDevice) -> None:
    """One of three failures is raised; the others are not kept for later."""
    context = late.compute()
    launch = failing_launch(late, context)
    for _ in range(3):
        launch()
    assert error_of(context.synchronize) is not None
    assert error_of(context.synchronize) is None
    copies(late, context)


def test_an_error_stays_on_its_stream(opened: OpenedDevice) -> None:
    """Another stream of the device, at work before, meanwhile and after, knows nothing of it."""
    bad, good = opened.compute(), opened.compute()
    launch, buffer = failing_launch(opened, bad), opened.allocate(SPEC.nbytes)
    good.copy_h2d(buffer, opened.host_copy(X * 0))
    at_launch = error_of(launch)
    error_of(bad.record_event().synchronize)  # on a late device, it is here that the work fails
    good.copy_h2d(buffer, opened.host_copy(X))
    good.synchronize()
    assert opened.download(buffer, SPEC).tolist() == X.tolist()
    assert (at_launch is None) != (error_of(bad.synchronize) is None)
    copies(opened, good)


@pytest.mark.conformance("events")
def test_an_event_behind_a_failure_has_failed(late: OpenedDevice) -> None:
    """Each wait for it raises, and the stream that it came from still raises once itself."""
    context = late.compute()
    failing_launch(late, context)()
    event = context.record_event()
    assert error_of(event.synchronize) is not None
    assert error_of(event.synchronize) is not None
    assert error_of(context.synchronize) is not None
    copies(late, context)
    assert error_of(event.synchronize) is not None, "the event has forgotten its error"


@pytest.mark.conformance("events")
def test_an_event_before_a_failure_is_reached(late: OpenedDevice) -> None:
    """An event is about what was before it, also when it is waited for much later."""
    context, buffer = late.compute(), late.allocate(SPEC.nbytes)
    context.copy_h2d(buffer, late.host_copy(X))
    event = context.record_event()
    failing_launch(late, context)()
    context.record_event()
    assert error_of(context.synchronize) is not None
    event.synchronize()
    assert late.download(buffer, SPEC).tolist() == X.tolist()


@pytest.mark.conformance("events")
def test_a_stream_that_waits_for_a_failure_has_failed(late: OpenedDevice) -> None:
    """Also the one that waits for that stream: who waits for the last of a chain learns of it."""
    chain = [late.compute(), late.h2d(), late.d2h()]
    failing_launch(late, chain[0])()
    for before, after in pairwise(chain):
        after.wait_event(before.record_event())
    assert error_of(chain[2].synchronize) is not None
    for context in reversed(chain[:2]):
        assert error_of(context.synchronize) is not None
    for context in chain:
        copies(late, context)


@pytest.mark.conformance("events")
def test_an_event_behind_a_cleared_failure_is_reached(late: OpenedDevice) -> None:
    """Once the error was raised, what is recorded next has nothing to do with it."""
    context = late.compute()
    launch = failing_launch(late, context)
    launch()
    assert error_of(context.synchronize) is not None
    event, other = context.record_event(), late.h2d()
    event.synchronize()
    other.wait_event(event)
    copies(late, other)
