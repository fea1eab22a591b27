"""Copies from one device to another without the host, for devices that claim them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from headrace.device import PEER_COPIES
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.plan import TaskKind
from headrace.registry import Backend
from headrace.tensor_spec import TensorSpec
from headrace.testing.opened import OpenedDevice

pytestmark = pytest.mark.conformance("multi-device")

X = np.arange(35, dtype=np.float32).reshape(5, 7)
SPEC = TensorSpec.of(X)


@pytest.fixture
def peers(tag: str, backend: Backend) -> Iterator[tuple[OpenedDevice, OpenedDevice]]:
    """The first and the last device, which copy to each other."""
    if PEER_COPIES not in backend.device.capabilities:
        pytest.skip(f"backend {tag!r} does not claim {PEER_COPIES}")
    count = backend.device.count()
    if count < 2:
        pytest.skip(f"backend {tag!r} has {count} device here; this needs two")
    with OpenedDevice(f"{tag}:0") as first, OpenedDevice(f"{tag}:{count - 1}") as last:
        yield first, last


@pytest.mark.parametrize("nbytes", [1, 3, 140, 5000])
def test_a_peer_copy_is_exact(peers: tuple[OpenedDevice, OpenedDevice], nbytes: int) -> None:
    """Both ways, any size, and what it was copied from stays as it was."""
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes).astype(np.uint8)
    spec = TensorSpec.of(data)
    for source, destination in (peers, peers[::-1]):
        there, here = source.upload(data), destination.allocate(nbytes)
        context = destination.compute()
        context.copy_peer(here, there)
        context.synchronize()
        assert np.array_equal(destination.download(here, spec), data)
        assert np.array_equal(source.download(there, spec), data)


def test_a_peer_copy_is_work_of_its_stream(peers: tuple[OpenedDevice, OpenedDevice]) -> None:
    """It is done after what was queued before it and before what is queued behind it."""
    source, destination = peers
    there, here = source.upload(X), destination.allocate(SPEC.nbytes)
    context, result = destination.compute(), destination.host(SPEC.nbytes)
    context.copy_h2d(here, destination.host_copy(-X))
    context.copy_peer(here, there)
    context.copy_d2h(result, here)
    context.synchronize()
    assert np.array_equal(result.array(SPEC), X)


def test_a_peer_copy_waits_for_what_is_still_being_written(
    peers: tuple[OpenedDevice, OpenedDevice],
) -> None:
    """It is asked for before its source is there, behind an event of the other device."""
    for source, destination in (peers, peers[::-1]):
        there, here = source.upload(-X), destination.allocate(SPEC.nbytes)
        writing, context = source.h2d(), destination.compute()
        staging, result = source.host_copy(X), destination.host(SPEC.nbytes)
        writing.copy_h2d(there, staging)
        context.wait_event(writing.record_event())
        context.copy_peer(here, there)
        context.copy_d2h(result, here)
        context.synchronize()
        assert np.array_equal(result.array(SPEC), X)


def test_a_job_takes_the_short_way(
    peers: tuple[OpenedDevice, OpenedDevice], tag: str, backend: Backend
) -> None:
    """A tensor that another device reads goes there once, and not through the host."""
    if not backend.kernels.entries("add"):
        pytest.skip(f"device {tag!r} has no kernel for add")
    first, last = (device.device.index for device in peers)
    builder = JobGraphBuilder("peers", Placement.of_device(f"{tag}:{first}"))
    x = builder.input("x", SPEC)
    (y,) = builder.op("add", [x, x])
    with builder.placed(Placement.of_device(f"{tag}:{last}")):
        (z,) = builder.op("add", [y, y])
        builder.output("z", builder.op("add", [z, y])[0])
    with CompiledJob(builder.finish()) as job:
        kinds = [task.kind for task in job.plan.tasks]
        assert kinds.count(TaskKind.COPY_PEER) == 1
        assert kinds.count(TaskKind.COPY_D2H) == 1  # the result
        for factor in (1, -3):
            assert np.array_equal(job.run({"x": X * factor})["z"], X * factor * 6)
