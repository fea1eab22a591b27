"""A plan that does not fit is refused before anything is allocated, with what makes it large."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from session_jobs import Three, X, counter, on
from toy_backends import FarAllocator, far, near

import headrace as flow
import headrace.typing as tp
from headrace.compiler.memory.options import MemoryOptions
from headrace.device import AllocatorEntry, Device, DeviceEntry, MemoryKind
from headrace.errors import PluginError, ResourceLimitError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((100, 10), "float32")


def job(device: str = "far:1") -> JobGraph:
    """``y = relu(pad(x) + w)``: what is padded is the largest, then the sums, then the weight."""
    builder = JobGraphBuilder("wide", Placement.of_device(device))
    x = builder.input("x", SPEC)
    (padded,) = builder.op("pad", [x], name="widen", pads=(0, 0, 20, 0))
    weight = builder.constant(np.ones((120, 10), np.float32), "w")
    (total,) = builder.op("add", [padded, weight], name="shift")
    builder.output("y", *builder.op("relu", [total], name="last"))
    return builder.finish()


def registry(free_bytes: object) -> BackendRegistry:
    """``near``, and ``far`` whose devices have so many bytes left; device 0 has room for all."""

    class Small(Device):
        def free_bytes(self):
            return free_bytes if self.index == 1 else 1 << 40

    hooks = vars(far()) | {
        "headrace_devices": hookimpl(lambda: [DeviceEntry("far", lambda: 2, Small)])
    }
    return BackendRegistry.from_modules({"near": near(), "far": SimpleNamespace(**hooks)})


def test_a_device_that_is_too_small_is_named() -> None:
    """With what it has, what was planned, and the largest registers there and who makes them."""
    live = FarAllocator.live
    apart = MemoryOptions(inplace=False, reuse=False)
    with pytest.raises(ResourceLimitError) as caught:
        CompiledJob(job(), registry(free_bytes=9_999), CompileOptions(memory=apart))
    assert str(caught.value) == (
        "job 'wide' needs 24,576 bytes on far:1, which has 9,999 left; nothing was allocated. Of 5 "
        "registers the largest are: widen/y float32[120, 10] (4,800 bytes, made by pad 'widen'); "
        "w@far:1 float32[120, 10] (4,800 bytes, a weight); shift/y float32[120, 10] (4,800 bytes, "
        "made by add 'shift'). Make the inputs smaller, place part of the job on another device, "
        "or close a session that uses this one"
    )
    assert FarAllocator.live == live


@pytest.mark.parametrize("free_bytes", [None, 100_000])
def test_a_device_that_has_room_or_cannot_tell_is_used(free_bytes: int | None) -> None:
    """Then its allocator has the last word."""
    with CompiledJob(job(), registry(free_bytes)) as running:
        x = np.full(SPEC.shape, -3, np.float32)
        assert running.run({"x": x})["y"].sum() == 200


def test_each_device_is_asked_for_itself() -> None:
    """A job on the other device does not care how full this one is."""
    with CompiledJob(job("far:0"), registry(free_bytes=0)) as running:
        assert running.run({"x": np.zeros(SPEC.shape, np.float32)})["y"].sum() == 1200


@pytest.mark.parametrize("free_bytes", ["much", -1, 1.5])
def test_what_is_no_number_of_bytes_is_refused(free_bytes: object) -> None:
    """With the class whose method it is."""
    with pytest.raises(
        PluginError, match=rf"free_bytes of Small, device far:1, returned {free_bytes!r}"
    ):
        CompiledJob(job(), registry(free_bytes))


@pytest.mark.parametrize(
    ("free_bytes", "device", "refused"),
    [(None, "far:1", True), (1 << 30, "far:1", False), (None, "near", True)],
)
def test_the_hosts_memory_is_kept_from_what_may_lie_there(
    free_bytes: int | None, device: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that says what it has left is judged by that, not by the size of the host."""
    monkeypatch.setattr("headrace.runtime.resources.host_memory_limit", lambda: 12_000)
    if not refused:
        CompiledJob(job(device), registry(free_bytes)).close()
        return
    with pytest.raises(ResourceLimitError, match=r"three quarters of that are 12,000.*'widen'"):
        CompiledJob(job(device), registry(free_bytes))


def test_a_stated_limit_is_for_each_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever devices say of themselves; the host's memory is counted for itself."""
    apart = MemoryOptions(inplace=False, reuse=False)
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "24575")
    with pytest.raises(
        ResourceLimitError,
        match=r"needs 24,576 bytes of the memory of far:1 and the limit is 24,575; .*'widen'",
    ):
        CompiledJob(job(), registry(1 << 30), CompileOptions(memory=apart))
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "24576")
    with CompiledJob(job(), registry(free_bytes=None), CompileOptions(memory=apart)) as running:
        assert sum(chunk.nbytes for chunk in running.plan.chunks) > 24_576
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "8000")
    with pytest.raises(ResourceLimitError, match=r"bytes of the host's memory and the limit is"):
        CompiledJob(job("near"), registry(free_bytes=None))


def test_a_stated_limit_counts_what_other_jobs_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the same device; what they gave back is free again."""
    installed = registry(free_bytes=1 << 30)
    with CompiledJob(job(), installed) as first:
        held = next(c.nbytes for c in first.plan.chunks if not c.memory.is_host)
        monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", str(2 * held - 1))
        users = rf"of which other jobs hold {held:,} \('wide' {held:,}\); nothing"
        with pytest.raises(ResourceLimitError, match=users):
            CompiledJob(job(), installed)
        with CompiledJob(job("far:0"), installed):
            pass
        monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", str(2 * held))
        CompiledJob(job(), installed).close()
        with CompiledJob(job(), installed):
            pass


def test_a_job_that_is_added_may_take_the_place_of_the_old_plan() -> None:
    """A device that has no room for both is given the new plan when it has lost the old one."""
    total, live = 1 << 30, 0

    class Told(Device):
        def free_bytes(self):
            return total - live

    class Counting(FarAllocator):
        def allocate(self, nbytes):
            nonlocal live
            live += nbytes
            return super().allocate(nbytes)

        def free(self, buffer):
            nonlocal live
            live -= buffer.nbytes
            super().free(buffer)

    entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, Counting)
    hooks = vars(far()) | {
        "headrace_devices": hookimpl(lambda: [DeviceEntry("far", open=Told)]),
        "headrace_allocators": hookimpl(lambda: [entry]),
    }
    installed = BackendRegistry.from_modules({"far": SimpleNamespace(**hooks)})
    with flow.Session(installed) as session:
        add, read = counter(on(session, "far"))
        add(X)
        total = 2 * live

        @on(session, "far")
        def later(x: Three) -> tp.Numpy:
            return x + x

        assert np.array_equal(later(X), X + X)
        assert np.array_equal(read(), X)
        assert live <= total


def test_registers_without_bytes_of_their_own_are_not_named() -> None:
    """What is written over an input costs nothing: the input is what is large."""
    with pytest.raises(ResourceLimitError) as caught:
        CompiledJob(job(), registry(free_bytes=100))
    named = str(caught.value)
    assert "widen" in named
    assert "relu 'last'" not in named
