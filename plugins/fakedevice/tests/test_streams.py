"""Streams on which nothing happens until somebody waits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headrace.device import Event, HostAllocator, HostBuffer
from headrace.errors import DeviceError
from headrace_fakedevice import MemoryFault
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import FakeDevice

MakeStream = Callable[[], FakeContext]


def host(values: list[int]) -> HostBuffer:
    return HostBuffer(np.array(values, np.uint8))


def fail() -> None:
    raise ZeroDivisionError("on purpose")


def test_nothing_runs_until_synchronize(stream: MakeStream) -> None:
    """Queued work has not begun before the wait and is done, in order, after it."""
    context, done = stream(), []
    context.enqueue(lambda: done.append(1))
    context.enqueue(lambda: done.append(2))
    assert done == []
    context.synchronize()
    assert done == [1, 2]


def test_an_event_runs_what_was_recorded_before_it_and_no_more(stream: MakeStream) -> None:
    """An event is a point, not the end, of the stream."""
    context, done = stream(), []
    context.enqueue(lambda: done.append(1))
    event = context.record_event()
    context.enqueue(lambda: done.append(2))
    event.synchronize()
    assert done == [1]
    event.synchronize()
    assert done == [1]


def test_a_wait_runs_the_other_stream_up_to_the_event(stream: MakeStream) -> None:
    """What the event stands for comes first, what was queued behind the event does not come."""
    producer, consumer, done = stream(), stream(), []
    producer.enqueue(lambda: done.append("produce"))
    event = producer.record_event()
    producer.enqueue(lambda: done.append("later"))
    consumer.wait_event(event)
    consumer.enqueue(lambda: done.append("consume"))
    assert done == []
    consumer.synchronize()
    assert done == ["produce", "consume"]


def test_without_a_wait_the_consumer_reads_poison(
    stream: MakeStream, allocator: FakeAllocator
) -> None:
    """A forgotten wait is a wrong value every time, not once in a thousand runs."""
    h2d, d2h, result = stream(), stream(), host([0, 0])
    buffer = allocator.allocate(2)
    h2d.copy_h2d(buffer, host([5, 6]))
    d2h.copy_d2h(result, buffer)
    d2h.synchronize()
    assert result.memory.tolist() == [0xFF, 0xFF]


def test_a_copy_reads_the_host_when_it_runs(stream: MakeStream, allocator: FakeAllocator) -> None:
    """A source that is written again too early arrives changed."""
    context, source, result = stream(), host([1, 2]), host([0, 0])
    buffer = allocator.allocate(2)
    context.copy_h2d(buffer, source)
    source.memory[:] = 9
    context.copy_d2h(result, buffer)
    context.synchronize()
    assert result.memory.tolist() == [9, 9]


def test_ping_pong_of_two_streams_does_not_deadlock(stream: MakeStream) -> None:
    """Two streams that wait for each other's events a thousand times come to the end."""
    streams, done = (stream(), stream()), []
    event: Event | None = None
    for step in range(1000):
        context = streams[step % 2]
        if event is not None:
            context.wait_event(event)
        context.enqueue(lambda step=step: done.append(step))
        event = context.record_event()
    assert event is not None
    event.synchronize()
    assert done == list(range(1000))


def test_a_foreign_event_is_waited_for_at_once(stream: MakeStream) -> None:
    """An event of another backend is reached before ``wait_event`` returns."""
    reached = []

    class Foreign(Event):
        def synchronize(self) -> None:
            reached.append(True)

    stream().wait_event(Foreign())
    assert reached == [True]


def test_an_error_surfaces_once_and_drops_what_was_behind_it(stream: MakeStream) -> None:
    """Work behind the failure would compute with garbage; the next call finds a clean stream."""
    context, done = stream(), []
    context.enqueue(fail)
    context.enqueue(lambda: done.append("behind"))
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        context.synchronize()
    context.enqueue(lambda: done.append("next"))
    context.synchronize()
    assert done == ["next"]


def test_an_error_stops_the_streams_that_wait_for_it(stream: MakeStream) -> None:
    """The failure of a producer cannot be missed by who only waits for the consumer."""
    producer, consumer, done = stream(), stream(), []
    producer.enqueue(fail)
    consumer.wait_event(producer.record_event())
    consumer.enqueue(lambda: done.append("consume"))
    for context in (consumer, producer):
        with pytest.raises(ZeroDivisionError):
            context.synchronize()
        context.synchronize()
    assert done == []


def test_an_event_before_the_error_is_good(stream: MakeStream) -> None:
    """Only what is behind the failure has failed."""
    context = stream()
    before = context.record_event()
    context.enqueue(fail)
    behind = context.record_event()
    before.synchronize()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            behind.synchronize()
    with pytest.raises(ZeroDivisionError):
        context.synchronize()


def test_a_buffer_freed_while_work_is_queued_is_found(
    stream: MakeStream, allocator: FakeAllocator
) -> None:
    """Freeing says so at once, and the copy, which was right when it was queued, when it runs."""
    context, buffer, source = stream(), allocator.allocate(2), host([1, 2])
    context.copy_h2d(buffer, source)
    with pytest.raises(MemoryFault, match="freed while 1 pieces of queued work use it"):
        allocator.free(buffer)
    with pytest.raises(MemoryFault, match="used after it was freed"):
        context.synchronize()


def test_host_memory_that_is_let_go_of_while_a_copy_is_queued_is_found(
    stream: MakeStream, allocator: FakeAllocator
) -> None:
    """A driver has an address and no more: the copy would read what has come to lie there."""
    context, buffer = stream(), allocator.allocate(2)
    context.copy_h2d(buffer, host([1, 2]))
    with pytest.raises(MemoryFault, match="let go of while a copy of them was queued"):
        context.synchronize()


@pytest.mark.parametrize("kept", ["whole", "part", "bytes"])
def test_a_copy_reads_host_memory_that_is_kept(
    stream: MakeStream, allocator: FakeAllocator, kept: str
) -> None:
    """Whoever keeps the memory need not keep the buffer; a part is kept by the whole array."""
    arrays = {
        "whole": np.array([1, 2], np.uint8),
        "part": np.array([9, 1, 2, 9], np.uint8),
        "bytes": np.frombuffer(b"\x01\x02", np.uint8),
    }
    memory = arrays[kept]
    context, buffer, result = stream(), allocator.allocate(2), host([0, 0])
    context.copy_h2d(buffer, HostBuffer(memory[1:3] if kept == "part" else memory))
    context.copy_d2h(result, buffer)
    context.synchronize()
    assert result.memory.tolist() == [1, 2]


@pytest.mark.parametrize("direction", ["h2d", "d2h", "d2d"])
def test_a_copy_of_two_sizes_is_refused_at_once(
    stream: MakeStream, allocator: FakeAllocator, direction: str
) -> None:
    """numpy would stretch one byte over the destination; a device would read behind the end."""
    context, one, two = stream(), allocator.allocate(1), allocator.allocate(2)
    copies = {
        "h2d": lambda: context.copy_h2d(two, host([1])),
        "d2h": lambda: context.copy_d2h(host([1]), two),
        "d2d": lambda: context.copy_d2d(two, one),
    }
    with pytest.raises(MemoryFault, match="two ranges of one size"):
        copies[direction]()


def test_close_with_queued_work_is_an_error(stream: MakeStream) -> None:
    """Closing before the last wait loses work; a real device would not say so."""
    context = stream()
    context.enqueue(fail)
    with pytest.raises(DeviceError, match="before it was synchronised"):
        context.close()


def test_a_closed_context_takes_no_work(stream: MakeStream) -> None:
    """Use after close is found when it happens."""
    context = stream()
    context.close()
    with pytest.raises(DeviceError, match="used after it was closed"):
        context.enqueue(fail)


def test_streams_of_two_devices_wait_for_each_other(device: FakeDevice) -> None:
    """An event leads across devices of this backend."""
    done: list[str] = []
    first, second = FakeContext(device, 0), FakeContext(FakeDevice(0), 0)
    first.enqueue(lambda: done.append("first"))
    second.wait_event(first.record_event())
    second.synchronize()
    assert done == ["first"]


def test_the_destination_must_be_host_memory(stream: MakeStream, allocator: FakeAllocator) -> None:
    """A device buffer in the place of a host buffer is named when the copy runs."""
    context = stream()
    context.copy_d2h(allocator.allocate(2), allocator.allocate(2))  # type: ignore[arg-type]
    with pytest.raises(MemoryFault, match="is no host memory"):
        context.synchronize()
    assert HostAllocator(context.device).allocate(2).nbytes == 2
