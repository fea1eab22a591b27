"""Streams of a device: order within one, waits between two, events, captured sequences, errors.

Nothing here may pass by luck on a device that works at once: a device that runs late, as a real one
under load, must pass as well, and one that runs early is given no more time than that.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import pytest

from headrace.device import Buffer, DeviceContext, Event, Launch
from headrace.errors import LaunchError
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.opened import OpenedDevice

pytestmark = pytest.mark.conformance("streams")

SPEC = TensorSpec((5, 7), "float32")
ONE = np.full(SPEC.shape, 1, np.float32)
X = np.arange(35, dtype=np.float32).reshape(SPEC.shape)


def add(opened: OpenedDevice, context: DeviceContext, a: Buffer, b: Buffer, y: Buffer) -> Launch:
    """``y = a + b`` on ``context``; skips where the device does not add."""
    if not opened.backend.kernels.entries("add"):
        pytest.skip(f"device {opened.backend.tag!r} has no kernel for add")
    return opened.bind(context, "add", [(SPEC, a), (SPEC, b)], [y])


@pytest.fixture
def one(opened: OpenedDevice) -> Buffer:
    """A buffer of ones."""
    return opened.upload(ONE)


def value(opened: OpenedDevice, buffer: Buffer) -> Array:
    return opened.download(buffer, SPEC)


def test_work_of_one_stream_is_done_in_order(opened: OpenedDevice, one: Buffer) -> None:
    """Copy in, add three times, copy out, with one wait at the end."""
    context, result = opened.compute(), opened.host(SPEC.nbytes)
    a, b = opened.allocate(SPEC.nbytes), opened.allocate(SPEC.nbytes)
    context.copy_h2d(a, opened.host_copy(X))
    for source, destination in ((a, b), (b, a), (a, b)):
        add(opened, context, source, one, destination)()
    context.copy_d2h(result, b)
    context.synchronize()
    assert np.array_equal(result.array(SPEC), X + 3)


def test_the_last_of_two_writes_stays(opened: OpenedDevice) -> None:
    """Two copies to one place do not overtake each other."""
    context, buffer = opened.compute(), opened.allocate(SPEC.nbytes)
    context.copy_h2d(buffer, opened.host_copy(X))
    context.copy_h2d(buffer, opened.host_copy(ONE))
    context.synchronize()
    assert np.array_equal(value(opened, buffer), ONE)


def test_a_copy_in_waits_for_what_reads_its_destination(opened: OpenedDevice, one: Buffer) -> None:
    """What is copied over an input is there for later launches, not for one before it."""
    context, x, y = opened.compute(), opened.upload(X), opened.allocate(SPEC.nbytes)
    launch = add(opened, context, x, one, y)
    launch()
    context.copy_h2d(x, opened.host_copy(X * 5))
    context.synchronize()
    assert np.array_equal(value(opened, y), X + 1)
    assert np.array_equal(value(opened, x), X * 5)


def test_a_copy_out_is_done_before_what_is_behind_it(opened: OpenedDevice, one: Buffer) -> None:
    """To the host and within the device: a launch that overwrites the source comes too late."""
    context, y = opened.compute(), opened.upload(X * 5)
    result, kept = opened.host(SPEC.nbytes), opened.allocate(SPEC.nbytes)
    launch = add(opened, context, one, one, y)
    context.copy_d2h(result, y)
    context.copy_d2d(kept, y)
    launch()
    context.synchronize()
    assert np.array_equal(result.array(SPEC), X * 5)
    assert np.array_equal(value(opened, kept), X * 5)
    assert np.array_equal(value(opened, y), ONE * 2)


def test_every_kind_of_work_takes_its_turn(opened: OpenedDevice, one: Buffer) -> None:
    """In, within, add, within, out: each reads what the one before it wrote."""
    context, result = opened.compute(), opened.host(SPEC.nbytes)
    a, b, c, d = (opened.allocate(SPEC.nbytes) for _ in range(4))
    launch = add(opened, context, b, one, c)
    for factor in (1, 2):  # the second time, all buffers hold what the first left
        context.copy_h2d(a, opened.host_copy(X * factor))
        context.copy_d2d(b, a)
        launch()
        context.copy_d2d(d, c)
        context.copy_d2h(result, d)
        context.synchronize()
        assert np.array_equal(result.array(SPEC), X * factor + 1)


@pytest.mark.conformance("events")
def test_streams_wait_for_events_of_each_other(opened: OpenedDevice, one: Buffer) -> None:
    """In, compute, out on three streams; the host waits for the last one only."""
    h2d, compute, d2h = opened.h2d(), opened.compute(), opened.d2h()
    x, y = opened.allocate(SPEC.nbytes), opened.allocate(SPEC.nbytes)
    source, result = opened.host_copy(X), opened.host(SPEC.nbytes)
    launch = add(opened, compute, x, one, y)
    h2d.copy_h2d(x, source)
    compute.wait_event(h2d.record_event())
    launch()
    d2h.wait_event(compute.record_event())
    d2h.copy_d2h(result, y)
    d2h.synchronize()
    assert np.array_equal(result.array(SPEC), X + 1)


@pytest.mark.conformance("events")
def test_streams_take_turns(opened: OpenedDevice, one: Buffer) -> None:
    """Twenty steps, each on the other stream than the one before and waiting for it."""
    contexts = (opened.compute(), opened.d2h())
    buffers = (opened.upload(X), opened.allocate(SPEC.nbytes))
    launches = [add(opened, contexts[i], buffers[i], one, buffers[1 - i]) for i in range(2)]
    for step in range(20):
        if step:
            contexts[step % 2].wait_event(contexts[1 - step % 2].record_event())
        launches[step % 2]()
    contexts[1].synchronize()
    assert np.array_equal(value(opened, buffers[0]), X + 20)


@pytest.mark.conformance("events")
def test_an_event_waits_for_what_was_before_it(opened: OpenedDevice) -> None:
    """After its wait the host may read; a second wait returns at once."""
    buffer, context, result = opened.upload(X), opened.d2h(), opened.host(SPEC.nbytes)
    context.copy_d2h(result, buffer)
    event = context.record_event()
    event.synchronize()
    assert np.array_equal(result.array(SPEC), X)
    event.synchronize()


@pytest.mark.conformance("events")
def test_an_event_that_can_be_asked_needs_nobody_who_waits(
    opened: OpenedDevice, one: Buffer
) -> None:
    """It says True once the work before it is done, and not sooner; a stream goes on by itself."""
    context, result = opened.compute(), opened.host(SPEC.nbytes)
    y, other = opened.upload(X), opened.allocate(SPEC.nbytes)
    there, back = (add(opened, context, a, one, b) for a, b in ((y, other), (other, y)))
    for _ in range(5):
        there()
        back()
    context.copy_d2h(result, y)
    event = context.record_event()
    ask = getattr(event, "is_reached", Event().is_reached)  # it need not derive from ours
    while (answer := ask()) is False:
        pass
    if answer is None:
        event.synchronize()
    assert np.array_equal(result.array(SPEC), X + 10)
    assert ask() is answer
    context.synchronize()


@pytest.mark.conformance("events")
def test_an_event_before_any_work_is_reached(opened: OpenedDevice) -> None:
    """Nothing was enqueued, so there is nothing to wait for: neither the host nor a stream."""
    event, other = opened.compute().record_event(), opened.h2d()
    event.synchronize()
    buffer = opened.allocate(SPEC.nbytes)
    other.wait_event(event)
    other.copy_h2d(buffer, opened.host_copy(X))
    other.synchronize()
    assert np.array_equal(value(opened, buffer), X)


def test_synchronize_without_work_returns(opened: OpenedDevice) -> None:
    """On a fresh stream, and again and again."""
    context = opened.compute()
    for _ in range(3):
        context.synchronize()


def test_a_launch_reads_its_inputs_each_time(opened: OpenedDevice, one: Buffer) -> None:
    """A kernel bound once computes with what its buffers hold when it is launched."""
    context = opened.compute()
    x, y = opened.allocate(SPEC.nbytes), opened.allocate(SPEC.nbytes)
    launch = add(opened, context, x, one, y)
    for factor in (1, -2, 3):
        context.copy_h2d(x, opened.host_copy(X * factor))
        launch()
        context.synchronize()
        assert np.array_equal(value(opened, y), X * factor + 1)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_captured_sequence_equals_its_launches(
    opened: OpenedDevice, one: Buffer, count: int
) -> None:
    """In order, as often as it is called, also when a copy is among the launches.

    Every round has numbers of its own: what an earlier one left in a buffer is wrong.
    """
    context, start = opened.compute(), opened.host(SPEC.nbytes)
    buffers = [opened.allocate(SPEC.nbytes) for _ in range(count + 1)]
    launches = [
        lambda: context.copy_h2d(buffers[0], start),
        *(add(opened, context, buffers[i], one, buffers[i + 1]) for i in range(count)),
    ]

    def one_by_one() -> None:
        for launch in launches:
            launch()

    captured = context.capture(launches)
    for factor, run in enumerate((one_by_one, captured, one_by_one, captured, captured), 1):
        start.array(SPEC)[...] = X * factor
        run()
        context.synchronize()
        assert np.array_equal(value(opened, buffers[-1]), X * factor + count)


def test_an_error_in_a_sequence_surfaces_once(opened: OpenedDevice, one: Buffer) -> None:
    """Whoever launches or waits learns of it; then the stream is clean and computes again."""
    context, y = opened.compute(), opened.allocate(SPEC.nbytes)
    good = add(opened, context, one, one, y)

    def bad() -> NoReturn:
        raise ZeroDivisionError("on purpose")

    def capture_launch_and_wait() -> None:
        context.capture([good, bad, good])()
        context.synchronize()

    with pytest.raises((LaunchError, ZeroDivisionError)) as caught:
        capture_launch_and_wait()
    if isinstance(caught.value, LaunchError):
        assert caught.value.index == 1
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
    context.synchronize()
    context.copy_h2d(y, opened.host(SPEC.nbytes))
    good()
    context.synchronize()
    assert np.array_equal(value(opened, y), ONE + 1)


def test_what_says_that_it_is_done_on_return_is(opened: OpenedDevice, one: Buffer) -> None:
    """A context that is ``host_synchronous`` is read without a wait, as core does; others wait."""
    context, result = opened.compute(), opened.host(SPEC.nbytes)
    a, b = opened.allocate(SPEC.nbytes), opened.allocate(SPEC.nbytes)
    there, back = (add(opened, context, x, one, y) for x, y in ((a, b), (b, a)))
    context.copy_h2d(a, opened.host_copy(X))
    for _ in range(10):
        there()
        back()
    context.copy_d2d(b, a)
    context.copy_d2h(result, b)
    if not context.host_synchronous:
        context.synchronize()
    assert np.array_equal(result.array(SPEC), X + 20)


@pytest.mark.conformance("events")
def test_events_are_not_used_twice(opened: OpenedDevice) -> None:
    """A hundred later ones, of another stream, do not change what the first twenty stand for."""
    early, late, consumer = opened.compute(), opened.h2d(), opened.d2h()
    buffers = [opened.allocate(SPEC.nbytes) for _ in range(120)]
    events = []
    for index, buffer in enumerate(buffers):
        producer = early if index < 20 else late
        producer.copy_h2d(buffer, opened.host_copy(X + index))
        events.append(producer.record_event())
    for index in (0, 7, 19, 20, 119):
        result = opened.host(SPEC.nbytes)
        consumer.wait_event(events[index])
        consumer.copy_d2h(result, buffers[index])
        consumer.synchronize()
        assert np.array_equal(result.array(SPEC), X + index)
    early.synchronize()
    late.synchronize()


@pytest.mark.conformance("events")
def test_an_event_is_for_everybody(opened: OpenedDevice) -> None:
    """Four streams wait for one event, one of them twice, and the host after them."""
    producer, buffer = opened.h2d(), opened.allocate(SPEC.nbytes)
    producer.copy_h2d(buffer, opened.host_copy(X))
    event = producer.record_event()
    waiting = [opened.d2h() for _ in range(4)]
    results = [opened.host(SPEC.nbytes) for _ in waiting]
    for context, result in zip(waiting, results, strict=True):
        context.wait_event(event)
        context.copy_d2h(result, buffer)
    waiting[0].wait_event(event)
    for context in waiting:
        context.synchronize()
    event.synchronize()
    assert all(np.array_equal(result.array(SPEC), X) for result in results)


@pytest.mark.conformance("events")
def test_an_event_outlives_the_work_behind_it(opened: OpenedDevice) -> None:
    """Waited for after its stream went on and was synchronised, it is still one that was reached.

    Its copy was done, and what its stream did since does not hold the waiting one.
    """
    producer, consumer = opened.h2d(), opened.d2h()
    buffer, result = opened.allocate(SPEC.nbytes), opened.host(SPEC.nbytes)
    producer.copy_h2d(buffer, opened.host_copy(X))
    event = producer.record_event()
    producer.synchronize()
    for _ in range(3):
        producer.record_event().synchronize()
    consumer.wait_event(event)
    consumer.copy_d2h(result, buffer)
    consumer.synchronize()
    assert np.array_equal(result.array(SPEC), X)


def test_a_stream_that_closes_leaves_the_others_at_work(opened: OpenedDevice, one: Buffer) -> None:
    """What is queued on another stream, also one of the same index, is done all the same."""
    entry, device = opened.backend.context, opened.device
    kept, y = opened.compute(), opened.allocate(SPEC.nbytes)
    closing = entry.create(device, kept.stream_index)
    buffer = opened.allocate(SPEC.nbytes)
    closing.copy_h2d(buffer, opened.host_copy(X))
    closing.synchronize()
    add(opened, kept, buffer, one, y)()
    closing.close()
    kept.synchronize()
    assert np.array_equal(value(opened, y), X + 1)


@pytest.mark.conformance("events")
def test_many_streams_at_once(opened: OpenedDevice, one: Buffer) -> None:
    """Eight streams with work of their own do not disturb each other."""
    contexts = [opened.compute() for _ in range(8)]
    sources = [opened.upload(X * index) for index in range(8)]
    results = [opened.allocate(SPEC.nbytes) for _ in range(8)]
    for context, source, result in zip(contexts, sources, results, strict=True):
        add(opened, context, source, one, result)()
    for context in contexts:
        context.synchronize()
    for index, result in enumerate(results):
        assert np.array_equal(value(opened, result), X * index + 1)
