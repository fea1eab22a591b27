"""``watched``: a block under one seed, at whose end nothing may be left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from headrace.testing.deterministic import Schedule, deterministic
from headrace_fakedevice import Experiment, Fault, Latencies, experiment, statistics
from headrace_fakedevice.device import device_count

ONE_EACH = Latencies(h2d=1, d2h=1, d2d=1, peer=1, launch=1, collective=1)


def held() -> list[tuple[int, int, int]]:
    """What is allocated on each device, and how often it is open."""
    found = [statistics(index) for index in range(device_count())]
    return [(one.live_allocations, one.live_bytes, one.opened - one.closed) for one in found]


@contextmanager
def nothing_left() -> Iterator[None]:
    """Memory that is allocated and devices that are opened in the block are given back in it."""
    before = held()
    yield
    assert held() == before, "memory of a device was not freed, or it was not closed"


@contextmanager
def watched(seed: int, faults: Iterable[Fault] = ()) -> Iterator[tuple[Schedule, Experiment]]:
    """Threads and streams go as ``seed`` says; no thread, memory or opened device may be left."""
    with (
        nothing_left(),
        deterministic(seed) as schedule,
        experiment(seed, latencies=ONE_EACH, jitter=0.5, faults=faults, clock=schedule) as seen,
    ):
        yield schedule, seen
