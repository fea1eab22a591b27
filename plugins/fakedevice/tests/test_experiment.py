"""Experiments: virtual time, streams that run ahead, and faults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headrace.device import HostBuffer
from headrace.errors import DeviceError, OutOfMemoryError
from headrace.testing.deterministic import deterministic
from headrace_fakedevice import Fault, InjectedFault, Latencies, experiment
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext

MakeStream = Callable[[], FakeContext]
EVERYTHING = ("h2d", "d2h", "d2d", "peer", "launch", "collective")


def host(values: list[int]) -> HostBuffer:
    return HostBuffer(np.array(values, np.uint8))


def nothing() -> None:
    """Work that does nothing."""


# --- time ------------------------------------------------------------------------------------


def test_work_of_a_stream_takes_its_time_one_after_another(
    stream: MakeStream, allocator: FakeAllocator
) -> None:
    """Copies by direction and length, kernels by op; the host waits for the last."""
    latencies = Latencies(h2d=1, launch=10, ops={"matmul": 30}, bytes_per_second=2)
    with experiment(latencies=latencies) as seen:
        context, source = stream(), host([1, 2, 3, 4])
        context.copy_h2d(allocator.allocate(4), source)
        context.enqueue(nothing, "launch", "relu")
        context.enqueue(nothing, "launch", "matmul")
        context.synchronize()
    assert [(span.kind, span.name, span.begin, span.end) for span in seen.spans] == [
        ("h2d", "", 0, 3), ("launch", "relu", 3, 13), ("launch", "matmul", 13, 43)
    ]  # fmt: skip
    assert seen.seconds == 43


def test_two_streams_overlap_and_a_wait_joins_them(stream: MakeStream) -> None:
    """What waits for an event begins behind it; what does not begins at once."""
    with experiment(latencies=Latencies(launch=1)) as seen:
        first, second = stream(), stream()
        first.enqueue(nothing)
        first.enqueue(nothing)
        second.enqueue(nothing)
        second.wait_event(first.record_event())
        second.enqueue(nothing)
        second.synchronize()
    assert [(span.begin, span.end) for span in seen.spans] == [(0, 1), (1, 2), (0, 1), (2, 3)]


def test_what_is_asked_for_behind_a_wait_of_the_host_begins_behind_it(stream: MakeStream) -> None:
    """The host cannot ask for anything while it waits, for a stream or an event."""
    with experiment(latencies=Latencies(launch=1)) as seen:
        first, second = stream(), stream()
        first.enqueue(nothing)
        first.synchronize()
        second.enqueue(nothing)
        second.record_event().synchronize()
        first.enqueue(nothing)
        first.synchronize()
    assert [(span.asked, span.begin) for span in seen.spans] == [(0, 0), (1, 1), (2, 2)]


def test_threads_of_a_schedule_have_clocks_of_their_own(stream: MakeStream) -> None:
    """Two threads that wait for two streams wait at once; who joins them waits for both."""
    with (
        deterministic(0, in_time_order=True) as schedule,
        experiment(latencies=Latencies(launch=3), clock=schedule) as seen,
    ):

        def work() -> None:
            context = stream()
            for _ in range(2):
                context.enqueue(nothing)
                context.synchronize()

        threads = [schedule.start(f"thread {number}", work) for number in range(2)]
        for thread in threads:
            schedule.join(thread)
        assert schedule.now() == 6
    assert sorted((span.begin, span.end) for span in seen.spans) == [(0, 3), (0, 3), (3, 6), (3, 6)]


def test_jitter_depends_on_the_seed_and_the_place_in_the_stream(stream: MakeStream) -> None:
    """Each factor lies in its range; an equal seed gives equal ones, another gives others."""

    def lengths(seed: int) -> list[float]:
        with experiment(seed, latencies=Latencies(launch=1), jitter=0.5) as seen:
            context = stream()
            for _ in range(20):
                context.enqueue(nothing)
            context.synchronize()
        return [span.end - span.begin for span in seen.spans]

    first = lengths(1)
    assert all(1 <= length < 1.5 for length in first)
    assert len(set(first)) > 10
    assert lengths(1) == first != lengths(2)


def test_each_experiment_begins_at_zero(stream: MakeStream) -> None:
    """Also on a stream that another one has timed."""
    context = stream()
    for _ in range(2):
        with experiment(latencies=Latencies(launch=1)) as seen:
            context.enqueue(nothing)
            context.synchronize()
        assert [(span.begin, span.end) for span in seen.spans] == [(0, 1)]


# --- order -----------------------------------------------------------------------------------


def order(stream: MakeStream, seed: int, eagerness: float | None = None) -> list[str]:
    """In which order the work of two streams is done that are waited for one after another."""
    done: list[str] = []
    with experiment(seed, eagerness=eagerness):
        first, second = stream(), stream()
        for number in range(3):
            first.enqueue(lambda number=number: done.append(f"a{number}"))
            second.enqueue(lambda number=number: done.append(f"b{number}"))
        second.synchronize()
        first.synchronize()
    return done


def test_streams_overtake_each_other_and_never_themselves(stream: MakeStream) -> None:
    """Fifty seeds give many orders; in all of them each stream keeps its own."""
    orders = {tuple(order(stream, seed)) for seed in range(50)}
    assert len(orders) >= 8
    for one in orders:
        assert [name for name in one if name[0] == "a"] == ["a0", "a1", "a2"]
        assert [name for name in one if name[0] == "b"] == ["b0", "b1", "b2"]


def test_without_eagerness_all_is_as_late_as_can_be(stream: MakeStream) -> None:
    """The stream that is waited for first is done first."""
    assert order(stream, 7, eagerness=0) == ["b0", "b1", "b2", "a0", "a1", "a2"]


def test_one_seed_gives_one_order(stream: MakeStream) -> None:
    """Again and again."""
    for seed in range(10):
        assert order(stream, seed) == order(stream, seed)


@pytest.mark.parametrize("seed", range(10))
def test_what_waits_for_an_event_never_comes_before_it(stream: MakeStream, seed: int) -> None:
    """However far streams run ahead."""
    done: list[str] = []
    with experiment(seed, eagerness=0.9):
        producer, consumer = stream(), stream()
        for number in range(5):
            producer.enqueue(lambda number=number: done.append(f"made {number}"))
            consumer.wait_event(producer.record_event())
            consumer.enqueue(lambda number=number: done.append(f"read {number}"))
        consumer.synchronize()
    for number in range(5):
        assert done.index(f"made {number}") < done.index(f"read {number}")


# --- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lasting", [False, True])
def test_the_allocation_of_a_number_fails(allocator: FakeAllocator, lasting: bool) -> None:
    """That one alone, or all from then on."""
    with experiment(faults=[Fault("allocation", 2, lasting)]) as seen:
        allocator.allocate(1)
        with pytest.raises(OutOfMemoryError, match="allocation 2 was told to fail"):
            allocator.allocate(1)
        if lasting:
            with pytest.raises(OutOfMemoryError, match="allocation 3"):
                allocator.allocate(1)
        else:
            allocator.allocate(1)
    allocator.allocate(1)
    assert seen.counts == {"allocation": 3}
    assert len(seen.struck) == 1 + lasting


def test_a_copy_fails_when_it_runs_or_at_once(stream: MakeStream, allocator: FakeAllocator) -> None:
    """As a device would find out late, or a driver early; the next one is done."""
    target, source = allocator.allocate(1), host([1])
    for at_once in (False, True):
        with experiment(faults=[Fault("copy", 2, at_once=at_once)]):
            context = stream()
            context.copy_h2d(target, source)
            if at_once:
                with pytest.raises(InjectedFault, match="copy h2d on stream 0 of fakedevice:3"):
                    context.copy_h2d(target, source)
            else:
                context.copy_h2d(target, source)
                with pytest.raises(InjectedFault, match="copy 2 was told to"):
                    context.synchronize()
            context.copy_h2d(target, source)
            context.synchronize()


def test_an_event_that_fails_fails_who_waits_for_it(stream: MakeStream) -> None:
    """Its own stream and the one that waits."""
    with experiment(faults=[Fault("event", 1)]):
        producer, consumer = stream(), stream()
        consumer.wait_event(producer.record_event())
        for context in (consumer, producer):
            with pytest.raises(InjectedFault, match="event 1 was told to"):
                context.synchronize()
            context.synchronize()


def test_a_wait_of_a_number_fails_and_its_work_is_done(stream: MakeStream) -> None:
    """The driver reports something, and the stream goes on."""
    done: list[int] = []
    with experiment(faults=[Fault("synchronize", 1)]):
        context = stream()
        context.enqueue(lambda: done.append(1))
        with pytest.raises(InjectedFault, match="synchronize 1 was told to"):
            context.synchronize()
        context.synchronize()
    assert done == [1]


@pytest.mark.parametrize(("kind", "number"), [("copies", 1), ("copy", 0)])
def test_a_fault_of_no_kind_or_number_is_refused(kind: str, number: int) -> None:
    """A misspelt fault would never strike."""
    with pytest.raises(ValueError, match="a kind is one of allocation, copy"):
        Fault(kind, number)


# --- one at a time ---------------------------------------------------------------------------


def test_two_experiments_at_once_are_refused() -> None:
    """And the first one goes on; after it another may begin."""
    with experiment(), pytest.raises(DeviceError, match="another experiment"), experiment():
        pass
    with experiment():
        pass


def test_every_kind_of_work_has_a_latency(stream: MakeStream) -> None:
    """Nothing is asked of a stream that takes no time by oversight."""
    latencies = Latencies(*range(1, 1 + len(EVERYTHING)))
    assert len({latencies.of(kind, "", 0) for kind in EVERYTHING}) == len(EVERYTHING)
