"""Memory that cannot be had: what was asked for, by whom, and who holds what there is."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from toy_backends import FarAllocator, FarBuffer, far

from headrace.device import AllocatorEntry, Buffer, MemoryKind
from headrace.errors import OutOfMemoryError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

CAPACITY = 10_000


def job(name: str, floats: int) -> JobGraph:
    """One op over so many floats; its input and its result are on the device."""
    builder = JobGraphBuilder(name, Placement.of_device("far"))
    x = builder.input("x", TensorSpec((floats,), "float32"))
    builder.output("y", *builder.op("relu", [x]))
    return builder.finish()


def registry() -> BackendRegistry:
    """Backend ``far`` with little memory, shared by all allocators of it."""
    left = CAPACITY

    class Small(FarAllocator):
        def allocate(self, nbytes: int) -> FarBuffer:
            nonlocal left
            if nbytes > left:
                raise OutOfMemoryError(f"{left} bytes are left")
            left -= nbytes
            return super().allocate(nbytes)

        def free(self, buffer: Buffer) -> None:
            nonlocal left
            left += buffer.nbytes
            super().free(buffer)

    entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, Small)
    plugin = SimpleNamespace(**vars(far()) | {"headrace_allocators": hookimpl(lambda: [entry])})
    return BackendRegistry.from_modules({"far": plugin})


def test_the_jobs_that_hold_the_memory_are_named_the_largest_first() -> None:
    """With what was asked for; and there is room again when they are closed."""
    installed = registry()
    with CompiledJob(job("small", 100), installed), CompiledJob(job("large", 500), installed):
        told = refusal(installed, "third", 2000)
    found = re.search(r"job 'third' needs ([\d,]+) bytes of device memory of far:0 .*: (.*)", told)
    assert found is not None, told
    asked = int(found[1].replace(",", ""))
    assert asked >= 2000 * 4
    assert re.search(
        r"bytes are left; jobs of this process hold [\d,]+ bytes of it "
        r"\('large' [\d,]+; 'small' [\d,]+\)\. Close jobs",
        told,
    )
    with CompiledJob(job("third", 1000), installed):
        pass


def test_what_the_process_does_not_hold_is_said() -> None:
    """Then somebody else does, or the job is too large by itself."""
    told = refusal(registry(), "huge", 5000)
    assert "10000 bytes are left; no job of this process holds any of it. Close" in told


def test_a_closed_job_holds_nothing() -> None:
    """Its name is gone from the message."""
    installed = registry()
    CompiledJob(job("gone", 500), installed).close()
    assert "gone" not in refusal(installed, "huge", 5000)


def refusal(installed: BackendRegistry, name: str, floats: int) -> str:
    """What is said when there is no memory for a job."""
    with pytest.raises(OutOfMemoryError) as caught:
        CompiledJob(job(name, floats), installed)
    assert isinstance(caught.value.__cause__, OutOfMemoryError)
    return str(caught.value)
