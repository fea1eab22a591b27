"""Memory that one session gives back and another takes, on a device that notices misuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest
from scenarios import device_bytes
from small_jobs import JOBS, executor
from watched import nothing_left, watched

import headrace as flow
from headrace.errors import DeviceError, ResourceLimitError, RunError
from headrace.memory_case import MemoryCase
from headrace.registry import BackendRegistry
from headrace.runtime.allocations import Allocations
from headrace.runtime.memories import MemoryStatistics
from headrace.runtime.resources import Resources
from headrace_fakedevice import Fault, MemoryFault, plugin, statistics
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import BYTES_VARIABLE, FakeDevice
from headrace_fakedevice.memory import ALIGNMENT_BYTES, FakeBuffer, open_buffer
from headrace_fakedevice.pinned import PinnedAllocator
from headrace_fakedevice.statistics import _COUNTERS

CHAIN = JOBS["chain"]


@pytest.fixture(autouse=True)
def fresh_counters() -> Iterator[None]:
    """What a test leaks on purpose is not for the next one."""
    with patch.dict(_COUNTERS, clear=True):
        yield


def told(registry: BackendRegistry, *, pinned: bool = False) -> MemoryStatistics:
    """Of one memory of device 0."""
    case = MemoryCase.pinned(plugin.TAG, 0) if pinned else MemoryCase(plugin.TAG)
    return next(one for one in flow.memory_statistics(registry) if one.memory == case)


def asked() -> tuple[int, int]:
    """How often device 0 was asked for memory, of both sorts."""
    now = statistics(0)
    return now.allocations, now.pinned_allocations


def test_a_session_takes_what_another_gave_back() -> None:
    """Its chunks, and what its weights are staged in; the plugin is not asked."""
    registry = CHAIN.registry()
    with nothing_left(), closing(executor("chain", registry=registry)):
        executor("chain", registry=registry).close()
        before = asked()
        for number in range(3):
            with closing(executor("chain", registry=registry)) as ready:
                CHAIN.check(number, ready.run(CHAIN.feeds(number)))
        assert asked() == before
        device, pinned = told(registry), told(registry, pinned=True)
        assert device.cached_bytes == device.in_use_bytes == statistics(0).live_bytes // 2
        assert device.hits == 3
        assert pinned.hits > 3
        assert list(device.users) == ["chain"]
    assert told(registry).in_use_bytes == told(registry).cached_bytes == 0
    assert told(registry).peak_bytes == 2 * device.in_use_bytes


def test_what_is_kept_is_given_back_when_asked() -> None:
    """To the last byte; what jobs hold is left alone."""
    registry = CHAIN.registry()
    with closing(executor("chain", registry=registry)) as ready:
        executor("chain", registry=registry).close()
        kept = sum(one.cached_bytes for one in flow.memory_statistics(registry))
        assert flow.release_cached_memory(registry) == kept > 0
        assert flow.release_cached_memory(registry) == 0
        assert statistics(0).live_bytes == told(registry).in_use_bytes
        CHAIN.check(1, ready.run(CHAIN.feeds(1)))


def test_a_job_fits_where_another_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept counts as free, and goes back to the device when it is in the way."""
    registry = CHAIN.registry()
    room = device_bytes("many readers", 1) + device_bytes("chain", 2)
    monkeypatch.setenv(BYTES_VARIABLE, str(room))
    with closing(executor("many readers", registry=registry)):
        executor("chain", registry=registry).close()
        assert told(registry).cached_bytes == device_bytes("chain", 1) > 0
        with closing(executor("chain", 2, registry)) as ready:
            CHAIN.check(1, ready.run(CHAIN.feeds(1)))
            assert told(registry).cached_bytes == 0
            assert told(registry).in_use_bytes == room
        with pytest.raises(ResourceLimitError, match=r"10,752 bytes on .*, which has 4,608 left"):
            executor("two devices", 2, registry)


def test_a_leak_is_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a job never gave back is missed when the device is closed."""
    registry, give_back = CHAIN.registry(), Allocations.give_back

    def forgetful(self: Allocations, *, spoilt: bool = False) -> None:
        self._holdings = self._holdings[1:]
        give_back(self, spoilt=spoilt)

    before = statistics(0).live_bytes
    ready = executor("chain", registry=registry)
    monkeypatch.setattr(Allocations, "give_back", forgetful)
    with pytest.raises(MemoryFault, match=r"closed while .* not freed|were pinned for it"):
        ready.close()
    assert sum(told(registry).users.values()) == statistics(0).live_bytes - before


def test_memory_that_queued_work_uses_is_missed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that lets go of it before its streams are done is found out."""
    registry = CHAIN.registry()
    with closing(executor("chain", registry=registry)):
        other = executor("chain", registry=registry)
        held = other._resources
        (chunk,) = (chunk for chunk in held._chunks if isinstance(chunk, FakeBuffer))
        context = next(c for c in held.contexts.values() if isinstance(c, FakeContext))
        context.copy_d2d(chunk.view(0, 8), chunk.view(8, 8))
        with monkeypatch.context() as planted:
            planted.setattr(Resources, "settle", lambda self: True)
            with pytest.raises(MemoryFault, match="given to others while 2 pieces"):
                other.close()
        context.synchronize()


def test_what_is_handed_on_is_poison(device: FakeDevice, allocator: FakeAllocator) -> None:
    """Of the device and pinned; what is beside it is left alone."""
    buffer, pinned = allocator.allocate(64), PinnedAllocator(device).allocate(64)
    open_buffer(buffer, device.index)[:] = pinned.memory[:] = 1
    allocator.recycle(buffer.view(16, 32))
    PinnedAllocator(device).recycle(pinned.view(16, 32))
    for data in (open_buffer(buffer, device.index), pinned.memory):
        assert np.isnan(data[16:48].view(np.float32)).all()
        assert (data[:16] == 1).all()
        assert (data[48:] == 1).all()
    PinnedAllocator(device).free(pinned)


def test_only_work_on_the_part_itself_is_in_the_way(
    device: FakeDevice, allocator: FakeAllocator, stream: Callable[[], FakeContext]
) -> None:
    """Parts of a block have users of their own."""
    buffer, pinned, context = allocator.allocate(64), PinnedAllocator(device), stream()
    source = pinned.allocate(16)
    context.copy_h2d(buffer.view(16, 16), source)
    allocator.recycle(buffer.view(0, 16))
    allocator.recycle(buffer.view(32, 32))
    with pytest.raises(MemoryFault, match="given to others while 1 pieces of queued work use it"):
        allocator.recycle(buffer.view(31, 1))
    context.synchronize()
    allocator.recycle(buffer)
    pinned.free(source)


def test_a_damaged_block_is_found_when_it_is_handed_on(
    device: FakeDevice, allocator: FakeAllocator
) -> None:
    """Not only when it goes back to the device, which may be much later."""
    buffer = allocator.allocate(64)
    device.blocks[buffer.address]._storage[ALIGNMENT_BYTES + 64] = 0
    with pytest.raises(MemoryFault, match="behind its end"):
        allocator.recycle(buffer.view(0, 32))


@pytest.mark.parametrize(
    "kind", [Fault("allocation", 1), Fault("copy", 1), Fault("launch", 1), Fault("synchronize", 1)],
    ids=lambda fault: fault.kind,
)  # fmt: skip
@pytest.mark.parametrize("name", ["chain", "two devices"])
def test_memory_survives_the_failure_of_the_n_th(name: str, kind: Fault) -> None:
    """With another job open and memory kept: the account is right, and the next job is."""
    job = JOBS[name]
    for n in count(1):
        registry = job.registry()
        with watched(n, [Fault(kind.kind, n)]) as (_, seen):
            while True:  # the fault may come to any of them
                try:
                    with closing(executor(name, registry=registry)):
                        executor("many readers", registry=registry).close()
                        with closing(executor(name, registry=registry)) as ready:
                            check_account(registry)
                            job.check(1, ready.run(job.feeds(1)))
                        check_account(registry)
                    break
                except (DeviceError, RunError):
                    assert len(seen.struck) == 1
            check_account(registry)
        if not seen.struck:
            assert n > 1
            return


def check_account(registry: BackendRegistry) -> None:
    """What is in use and what is kept is what the plugin has given."""
    for one in flow.memory_statistics(registry):
        assert sum(one.users.values()) == one.in_use_bytes
        live = statistics(one.memory.device_index)
        if one.memory.tag == plugin.TAG:
            assert one.in_use_bytes + one.cached_bytes == live.live_bytes, one
        elif one.memory.pinned_for:
            assert one.in_use_bytes + one.cached_bytes == live.pinned_bytes, one


def test_memory_of_a_stream_that_cannot_be_waited_for_is_nobodys() -> None:
    """It goes back to the device, and is not kept."""
    registry = CHAIN.registry()
    with nothing_left(), closing(executor("many readers", registry=registry)):
        ready = executor("chain", registry=registry)
        context = next(c for c in ready._resources.contexts.values() if isinstance(c, FakeContext))
        wait = context.synchronize

        def lost() -> None:
            wait()
            raise DeviceError("the device has fallen off the bus")

        context.synchronize = lost  # type: ignore[method-assign]
        before = statistics(0).live_allocations
        ready.close()
        assert told(registry).cached_bytes == 0
        assert statistics(0).live_allocations == before - 1
