"""Pinned memory: counted, checked when it is freed, and all that sessions copy from and to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace as flow
from headrace.device import HostAllocator
from headrace.errors import SettingError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace_fakedevice import MemoryFault, plugin, statistics
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import FakeDevice
from headrace_fakedevice.pinned import PAGEABLE_VARIABLE, PinnedAllocator

X = np.arange(6, dtype=np.float32)


def test_pinned_memory_is_counted_and_poisoned(device: FakeDevice) -> None:
    """What was never written is NaN, and what is read after it was freed is no number of ours."""
    allocator, before = PinnedAllocator(device), statistics(device.index)
    buffer = allocator.allocate(24)
    during = statistics(device.index)
    assert during.pinned_bytes - before.pinned_bytes == 24
    assert during.pinned_allocations - before.pinned_allocations == 1
    array = buffer.array(TensorSpec.of(X))
    assert np.isnan(array).all()
    array[...] = X
    allocator.free(buffer)
    assert (array < -1e38).all()
    assert statistics(device.index).pinned_bytes == before.pinned_bytes


def test_what_is_no_pinned_buffer_is_not_freed(device: FakeDevice) -> None:
    """A view, memory of the host, and what was freed before."""
    allocator = PinnedAllocator(device)
    buffer = allocator.allocate(24)
    for wrong in (buffer.view(0, 8), buffer.view(8, 16), HostAllocator(device).allocate(24)):
        with pytest.raises(MemoryFault, match=r"has no .* bytes of pinned memory"):
            allocator.free(wrong)
    with pytest.raises(MemoryFault, match="24 bytes of host memory were pinned for it"):
        device.close()
    allocator.free(buffer)
    with pytest.raises(MemoryFault, match="has no 24 bytes of pinned memory"):
        allocator.free(buffer)
    device.close()


def test_copies_of_pageable_memory_are_counted(
    device: FakeDevice, allocator: FakeAllocator, stream: Callable[[], FakeContext]
) -> None:
    """Both ways; those of parts of pinned memory, and of nothing, are not."""
    pinned, context, there = PinnedAllocator(device), stream(), allocator.allocate(16)
    before = statistics(device.index).copies_pageable
    staging, pageable = pinned.allocate(32), HostAllocator(device).allocate(16)
    context.copy_h2d(there, staging.view(16, 16))
    context.copy_d2h(staging.view(0, 16), there)
    context.copy_h2d(there.view(0, 0), pageable.view(0, 0))
    assert statistics(device.index).copies_pageable == before
    context.copy_h2d(there, pageable.view(0, 16))
    context.copy_d2h(pageable.view(0, 16), there)
    assert statistics(device.index).copies_pageable == before + 2
    context.synchronize()
    pinned.free(staging)


def test_copies_of_pageable_memory_may_be_refused(
    device: FakeDevice,
    allocator: FakeAllocator,
    stream: Callable[[], FakeContext],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error says which copy it is and how to mend it; another value is named."""
    monkeypatch.setenv(PAGEABLE_VARIABLE, "refuse")
    there, pageable = allocator.allocate(16), HostAllocator(device).allocate(16)
    with pytest.raises(MemoryFault, match=r"copy_h2d on stream 0 of fakedevice:3 of 16 bytes"):
        stream().copy_h2d(there, pageable.view(0, 16))
    with pytest.raises(MemoryFault, match=r"which are pageable.*create_pinned"):
        stream().copy_d2h(pageable.view(0, 16), there)
    monkeypatch.setenv(PAGEABLE_VARIABLE, "maybe")
    with pytest.raises(SettingError, match="is 'maybe'; it must be count or refuse"):
        stream()


@pytest.mark.parametrize("nbytes", [4, 1000, 4 << 20, (4 << 20) + 4, 13 << 20])
def test_sessions_copy_from_pinned_memory_alone(
    nbytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs, results, and weights of any size, piece by piece; nothing of it is left."""
    monkeypatch.setenv(PAGEABLE_VARIABLE, "refuse")
    random = np.random.default_rng(nbytes)
    weights = [random.random(max(nbytes // 4, 1)).astype(np.float32), X[:1]]
    builder = JobGraphBuilder("job", Placement.parse("fakedevice", "0:2"))
    x = builder.input("x", TensorSpec.of(X[:1]))
    for number, weight in enumerate(weights):
        (y,) = builder.op("add", [builder.constant(weight, f"w{number}"), x])
        builder.output(f"y{number}", y)
    before = statistics(2).pinned_bytes
    registry = BackendRegistry.from_modules({plugin.TAG: plugin})
    with CompiledJob(builder.finish(), registry) as job:
        for value in (X[1:2], X[2:3]):
            results = job.run({"x": value})
            for number, weight in enumerate(weights):
                assert np.array_equal(results[f"y{number}"], weight + value)
        staged = sum(chunk.nbytes for chunk in job.plan.chunks if chunk.memory.pinned_for)
        assert statistics(2).pinned_bytes - before > staged  # that of weights is kept for others
        flow.release_cached_memory(registry)
        assert statistics(2).pinned_bytes - before == staged
    assert statistics(2).pinned_bytes == before
