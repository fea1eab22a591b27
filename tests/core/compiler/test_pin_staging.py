"""Host memory that devices copy from or to is pinned for them, where they have such memory."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy_backends import FarAllocator, far, host, near

from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.pipeline import compile_job
from headrace.compiler.stage import Structure
from headrace.compiler.task_graph import TaskGraph
from headrace.compiler.verify.task_graph import verify_staging
from headrace.device import AllocatorEntry, HostAllocator, MemoryKind
from headrace.errors import GraphError, PlanError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.memory_case import MemoryCase
from headrace.placement import Placement
from headrace.plan import Plan, TaskKind
from headrace.registry.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3, 4], np.float32)


class Pinned(HostAllocator):
    """Counts what is live in ``live``, in bytes."""

    live = 0

    def allocate(self, nbytes: int):
        type(self).live += nbytes
        return super().allocate(nbytes)

    def free(self, buffer) -> None:
        type(self).live -= buffer.nbytes


def registry(pinned: type | None = Pinned) -> BackendRegistry:
    """Backends ``near``, ``cpu`` and ``far``, the latter with pinned memory."""
    entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, FarAllocator, pinned)
    module = SimpleNamespace(**vars(far()) | {"headrace_allocators": hookimpl(lambda: [entry])})
    return BackendRegistry.from_modules({"near": near(), "cpu": host(), "far": module})


def graph(*steps: tuple[str, str], outputs: int = 1) -> JobGraph:
    """A chain of ops, given as (op, device); the last ``outputs`` tensors are results."""
    builder = JobGraphBuilder("job", Placement.of_device("near"))
    tensors = [builder.input("x", TensorSpec.of(X))]
    for op, device in steps:
        with builder.placed(Placement.of_device(device)):
            attrs: dict[str, Any] = {"shape": (2, 2)} if op == "reshape" else {}
            tensors += builder.op(op, [tensors[-1]], **attrs)
    for number, tensor in enumerate(tensors[-outputs:]):
        builder.output(f"y{number}", tensor)
    return builder.finish()


def compiled(job: JobGraph, pinned: type | None = Pinned) -> Plan:
    return compile_job(job, registry(pinned), verify=True).plan


def memories(plan: Plan) -> dict[str, str]:
    """Where each tensor of the host lies."""
    cases = {r.name: plan.chunks[r.chunk].memory for r in plan.registers if r.spec.nbytes}
    return {name: str(case) for name, case in cases.items() if case.is_host}


def test_what_is_fed_and_returned_is_pinned() -> None:
    """For the device that copies it, by its index; without such memory nothing is."""
    job = graph(("relu", "far:1"))
    pinned = "host memory pinned for far:1"
    assert {*memories(compiled(job)).values()} == {pinned}
    assert {*memories(compiled(job, pinned=None)).values()} == {"host memory of cpu:0"}


def test_who_writes_comes_before_who_reads() -> None:
    """From one device to another through the host, in memory of the first."""
    plan = compiled(graph(("relu", "far:1"), ("relu", "far:0")))
    fed, crossing, returned = memories(plan).values()  # in the order in which they are made
    assert (fed, crossing) == ("host memory pinned for far:1",) * 2
    assert returned == "host memory pinned for far:0"


def test_what_the_host_alone_reads_is_pageable() -> None:
    """A job of several devices pins no more than what a copy touches."""
    job = graph(("relu", "near"), ("relu", "far"), ("relu", "near"), ("relu", "near"), outputs=5)
    plan = compile_job(job, registry(), memory=MemoryOptions(inplace=False)).plan
    found = memories(plan)
    copied = {
        plan.registers[register].name
        for task in plan.tasks
        if task.kind in (TaskKind.COPY_H2D, TaskKind.COPY_D2H)
        for register in (*task.inputs, *task.outputs)
        if register is not None
    }
    assert len(copied & found.keys()) == 2
    assert {name for name, memory in found.items() if "pinned" in memory} == copied & found.keys()
    assert len(found) == 5


def test_outputs_still_lie_over_inputs() -> None:
    """A view of what will be pinned is a view of pinned memory, and takes no copy."""
    plan = compiled(graph(("relu", "near"), ("reshape", "near"), ("relu", "far"), outputs=4))
    (view,) = (task for task in plan.tasks if task.kind is TaskKind.VIEW)
    for register in (*view.inputs, *view.outputs):
        assert register is not None
        assert memories(plan)[plan.registers[register].name] == "host memory pinned for far:0"
    assert memories(plan)["x"] == "host memory of cpu:0"


def test_jobs_run_in_pinned_memory_and_give_it_back() -> None:
    """Kernels of the host work in it like in any other; closed, nothing is left."""
    job = graph(("relu", "near"), ("reshape", "near"), ("relu", "far"), ("relu", "near"))
    with CompiledJob(job, registry()) as running:
        held = sum(c.nbytes for c in running.plan.chunks if c.memory.pinned_for)
        assert Pinned.live == held > 0
        for factor in (1, 2):
            result = running.run({"x": X * factor})["y0"]
            assert np.array_equal(result, np.maximum(X * factor, 0).reshape(2, 2))
    assert Pinned.live == 0


def test_the_plan_of_a_plugin_that_gave_pinned_memory_once_is_refused() -> None:
    """Nothing else is taken in silence."""
    plan = compiled(graph(("relu", "far")))
    with pytest.raises(PlanError, match=r"pinned for far:0, and device 'far' gives none"):
        Executor(plan, registry(pinned=None), {})


def test_the_verifier_sees_a_copy_that_is_not_pinned() -> None:
    """Of a graph that is right but for the memory of one tensor."""
    graphs = []

    def watch(stage: str, structure: Structure) -> None:
        if isinstance(structure, TaskGraph):
            graphs.append(structure)

    compile_job(graph(("relu", "far")), registry(), watch=watch)
    (tasks,) = graphs
    verify_staging(tasks, registry())
    tensors = dict(tasks.tensors)
    tensors["x"] = tensors["x"]._replace(memory=MemoryCase.host())
    with pytest.raises(GraphError, match=r"copies 'x', not pinned"):
        verify_staging(replace(tasks, tensors=tensors), registry())
