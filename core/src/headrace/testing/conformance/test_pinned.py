"""Host memory that is pinned for a device, where its plugin gives such."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from headrace.device import Allocator, HostBuffer
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.plan import TaskKind
from headrace.registry import Backend
from headrace.tensor_spec import TensorSpec
from headrace.testing.arrays import noise
from headrace.testing.opened import OpenedDevice

pytestmark = pytest.mark.conformance("memory")

SIZES = (1, 63, 512, 513, 4097, 1 << 20)


@pytest.fixture
def allocator(tag: str, backend: Backend, opened: OpenedDevice) -> Allocator:
    """Of pinned memory; there may be several of one device."""
    create = backend.allocator.create_pinned
    if create is None:
        pytest.skip(f"backend {tag!r} gives no pinned memory")
    return create(opened.device)


@pytest.fixture
def pinned(allocator: Allocator) -> Iterator[list[HostBuffer]]:
    """One buffer of each of ``SIZES``; they are freed behind the test."""
    buffers = [allocator.allocate(nbytes) for nbytes in SIZES]
    yield [buffer.view(0, nbytes) for buffer, nbytes in zip(buffers, SIZES, strict=True)]  # type: ignore[misc]
    for buffer in buffers:
        allocator.free(buffer)


def test_pinned_memory_is_the_hosts(pinned: list[HostBuffer], backend: Backend) -> None:
    """The host reads and writes it, no two overlap, and it is aligned as the device's is."""
    for buffer in pinned:
        assert buffer.address % backend.allocator.alignment_bytes == 0
        buffer.memory[:] = noise(buffer.nbytes, buffer.nbytes)
    for buffer in pinned:
        assert np.array_equal(buffer.memory, noise(buffer.nbytes, buffer.nbytes))


def test_copies_through_pinned_memory_are_exact(
    pinned: list[HostBuffer], opened: OpenedDevice
) -> None:
    """There and back, whole and in parts, with all copies under way at once."""
    to_device, to_host, there = opened.h2d(), opened.d2h(), []
    for buffer in pinned:
        buffer.memory[:] = noise(buffer.nbytes, 1)
        there.append(opened.allocate(buffer.nbytes))
        half = buffer.nbytes // 2
        to_device.copy_h2d(there[-1].view(0, half), buffer.view(0, half))
        to_device.copy_h2d(
            there[-1].view(half, buffer.nbytes - half), buffer.view(half, buffer.nbytes - half)
        )
    to_device.synchronize()
    for buffer in pinned:
        buffer.memory[:] = 0
    for buffer, device in zip(pinned, there, strict=True):
        to_host.copy_d2h(buffer, device)
    to_host.synchronize()
    for buffer in pinned:
        assert np.array_equal(buffer.memory, noise(buffer.nbytes, 1))


def test_pinned_memory_comes_and_goes(allocator: Allocator, opened: OpenedDevice) -> None:
    """In any order; what is left keeps its bytes, and can be copied from."""
    live = {index: allocator.allocate(1000 + index) for index in range(5)}
    for index, buffer in live.items():
        assert isinstance(buffer, HostBuffer)
        buffer.memory[:] = index
    for index in (2, 0, 4, 1, 3):
        for other, buffer in live.items():
            assert isinstance(buffer, HostBuffer)
            assert (buffer.memory == other).all()
        allocator.free(live.pop(index))


@pytest.mark.usefixtures("allocator")
def test_what_a_job_copies_lies_in_pinned_memory(device: str, tag: str, backend: Backend) -> None:
    """What is fed and what is returned; nothing else of the host's does."""
    if not backend.kernels.entries("add"):
        pytest.skip(f"device {tag!r} has no kernel for add")
    x = np.arange(12, dtype=np.float32)
    builder = JobGraphBuilder("staged", Placement.of_device(device))
    fed = builder.input("x", TensorSpec.of(x))
    builder.output("y", builder.op("add", [fed, fed])[0])
    builder.output("z", fed)
    with CompiledJob(builder.finish()) as job:
        plan = job.plan
        staged = {
            register
            for task in plan.tasks
            for kind, registers in (
                (TaskKind.COPY_H2D, task.inputs),
                (TaskKind.COPY_D2H, task.outputs),
            )
            for register in registers
            if task.kind is kind and register is not None
        }
        for number, register in enumerate(plan.registers):
            memory = plan.chunks[register.chunk].memory
            assert (memory.pinned_for == tag) == (number in staged), register.name
        for factor in (1, 2):
            result = job.run({"x": x * factor})
            assert np.array_equal(result["y"], x * factor * 2)
            assert np.array_equal(result["z"], x * factor)
