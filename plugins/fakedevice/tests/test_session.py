"""Whole jobs on the device: where they ran, what is left of them, and work that fails late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from headrace.device import DeviceEntry, KernelEntry, OpCall
from headrace.errors import ResourceLimitError, RunError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec
from headrace_fakedevice import MemoryFault, plugin, statistics
from headrace_fakedevice.device import BYTES_VARIABLE, FakeDevice, device_count
from headrace_fakedevice.kernels import FakeKernel

X = np.array([1, -2, 3], np.float32)


def graph(*ops: tuple[str, str]) -> JobGraph:
    """A chain of unary ops, given as (op, device indices)."""
    builder = JobGraphBuilder("chain", Placement.parse("fakedevice", "0:0"))
    tensor = builder.input("x", TensorSpec.of(X))
    for op, where in ops:
        with builder.placed(Placement.parse("fakedevice", where)):
            (tensor,) = builder.op(op, [tensor])
    builder.output("y", tensor)
    return builder.finish()


def registry_with(*kernels: KernelEntry) -> BackendRegistry:
    """The plugin with these kernels added."""

    def headrace_kernels() -> Iterator[KernelEntry]:
        yield from plugin.headrace_kernels()
        yield from kernels

    hooks = {name: hook for name, hook in vars(plugin).items() if name.startswith("headrace_")}
    hooks["headrace_kernels"] = hookimpl(headrace_kernels)
    return BackendRegistry.from_modules({plugin.TAG: SimpleNamespace(**hooks)})


def test_a_job_runs_here_and_leaves_nothing() -> None:
    """Kernels and copies ran on the device that was named, and its memory is free again."""
    before, other = statistics(2), statistics(1)
    with CompiledJob(graph(("relu", "0:2"), ("negative", "0:2")), registry_with()) as job:
        for factor in (1, 2):
            assert job.run({"x": X * factor})["y"].tolist() == [-factor, 0, -3 * factor]
        during = statistics(2)
    after = statistics(2)
    assert during.live_bytes > before.live_bytes
    assert (after.live_allocations, after.live_bytes) == (
        before.live_allocations,
        before.live_bytes,
    )
    assert after.launches - before.launches == 4
    assert after.copies_h2d - before.copies_h2d == 2
    assert after.copies_d2h - before.copies_d2h == 2
    assert statistics(1) == other


@pytest.mark.parametrize("claims", [True, False])
def test_a_job_crosses_devices(monkeypatch: pytest.MonkeyPatch, claims: bool) -> None:
    """By one copy from peer to peer; without that claim by a copy out and a copy in."""
    if not claims:
        entry = DeviceEntry(plugin.TAG, device_count, FakeDevice)
        monkeypatch.setattr(plugin, "headrace_devices", hookimpl(lambda: [entry]))
    before = [statistics(index) for index in (0, 3)]
    with CompiledJob(graph(("relu", "0:0"), ("negative", "0:3")), registry_with()) as job:
        assert job.run({"x": X})["y"].tolist() == [-1, 0, -3]
    pairs = zip(before, [statistics(index) for index in (0, 3)], strict=True)
    done = [
        (new.launches - old.launches, new.copies_d2h - old.copies_d2h,
         new.copies_peer - old.copies_peer)
        for old, new in pairs
    ]  # fmt: skip
    assert done == ([(1, 0, 0), (1, 1, 1)] if claims else [(1, 1, 0), (1, 1, 0)])


class _LateFailure(FakeKernel):
    """Negates, but its first two launches fail when the stream comes to them."""

    failures = 2

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        negate = self.function

        def function(
            call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
        ) -> None:
            if self.failures:
                self.failures -= 1
                raise ZeroDivisionError("on purpose")
            negate(call, inputs, outputs)

        self.function = function


def test_a_job_that_does_not_fit_is_refused_and_another_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The limit is what the device has left now: the message says how much, who has the rest, and
    what is large.
    """
    monkeypatch.setenv(BYTES_VARIABLE, "3000")
    registry, used = registry_with(), statistics(2).live_bytes

    def wide(columns: int) -> JobGraph:
        builder = JobGraphBuilder("wide", Placement.parse("fakedevice", "0:2"))
        x = builder.input("x", TensorSpec((columns, 100), "float32"))
        (total,) = builder.op("reduce_sum", [x], name="sum", axes=(1,))
        builder.output("y", total)
        return builder.finish()

    with CompiledJob(wide(2), registry) as small:
        left = 3000 - statistics(2).live_bytes
        with pytest.raises(ResourceLimitError) as caught:
            CompiledJob(wide(7), registry)
        assert str(caught.value) == (
            f"job 'wide' needs 3,584 bytes on fakedevice:2, which has {left:,} left beside the "
            f"jobs of this process ('wide' {3000 - left:,}); nothing was allocated. Of 2 "
            "registers the largest are: x@fakedevice:2 float32[7, 100] (2,800 "
            "bytes, made by copy_h2d x@fakedevice:2); sum/y float32[7] (28 bytes, made by "
            "reduce_sum 'sum'). Make the inputs smaller, place part of the job on another device, "
            "or close a session that uses this one"
        )
        assert small.run({"x": np.ones((2, 100), np.float32)})["y"].tolist() == [100, 100]
    assert statistics(2).live_bytes == used


def test_work_that_fails_late_reaches_the_caller_each_time() -> None:
    """The launch was fine and its work was not: the error arrives, and then the job is usable."""
    late = KernelEntry(plugin.TAG, "negative", _LateFailure, priority=1)
    live = statistics(0).live_bytes
    with CompiledJob(graph(("relu", "0:0"), ("negative", "0:0")), registry_with(late)) as job:
        for _ in range(2):
            with pytest.raises(RunError, match="on purpose") as caught:
                job.run({"x": X})
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
            assert "fakedevice:0" in caught.value.device
        assert job.run({"x": X})["y"].tolist() == [-1, 0, -3]
    assert statistics(0).live_bytes == live


class _Overrun(FakeKernel):
    """Writes one byte behind the allocation that its output is in."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)

        def function(
            call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
        ) -> None:
            storage = outputs[0]
            while isinstance(storage.base, np.ndarray):
                storage = storage.base
            storage[-1] ^= 1

        self.function = function


def test_a_kernel_that_overruns_is_found_by_the_next_access() -> None:
    """The guard behind the block is broken, and the run that broke it does not pass."""
    wild = KernelEntry(plugin.TAG, "negative", _Overrun, priority=1)
    job = CompiledJob(graph(("negative", "0:0")), registry_with(wild))
    with pytest.raises(RunError, match="was written to behind its end"):
        job.run({"x": X})
    with pytest.raises(MemoryFault, match="was written to behind its end"):
        job.close()
