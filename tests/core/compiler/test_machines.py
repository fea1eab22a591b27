"""Jobs over several machines: what crosses, how, and that they are compiled and not run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from headrace.compiler.passes.lower_ops import lower_ops
from headrace.compiler.pipeline import Rewritten, compile_job, compile_jobs
from headrace.errors import UnsupportedError
from headrace.frontend.compiled_job import CompiledJob
from headrace.frontend.explain import explain_graph
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.page.graph import op_graph
from headrace.placement import Placement
from headrace.plan import Plan, TaskKind, decode, encode
from headrace.registry import BackendRegistry
from headrace.runtime.simulator import simulate
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((2, 3), "float32")


def relay(*places: tuple[str, str]) -> JobGraph:
    """An op on each place, reading what the one before made."""
    builder = JobGraphBuilder("relay", Placement.parse(*places[0]))
    tensor = builder.input("x", SPEC)
    for number, place in enumerate(places):
        with builder.placed(Placement.parse(*place)):
            (tensor,) = builder.op("relu", [tensor], name=f"op{number}")
    builder.output("y", tensor)
    return builder.finish()


def copies(plan: Plan) -> list[tuple[TaskKind, int, int]]:
    """Copies in order: kind, and the machines they come from and go to."""
    machine = [plan.chunks[register.chunk].memory.machine for register in plan.registers]
    return [
        (task.kind, machine[task.inputs[0] or 0], machine[task.outputs[0]])
        for task in plan.tasks
        if task.kind.value.startswith("copy")
    ]


def test_a_tensor_crosses_from_host_to_host(registry: BackendRegistry) -> None:
    """Out of the device, over the network, into the other one; to the caller the same way back."""
    plan = compile_job(relay(("far", "0:0"), ("far", "3:1")), registry).plan
    h2d, d2h, network = TaskKind.COPY_H2D, TaskKind.COPY_D2H, TaskKind.COPY_NETWORK
    assert copies(plan) == [
        (h2d, 0, 0), (d2h, 0, 0), (network, 0, 3), (h2d, 3, 3),
        (d2h, 3, 3), (network, 3, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("tag", ["near", "far"])
def test_machines_pass_on_what_many_read(registry: BackendRegistry, tag: str) -> None:
    """Each receives it once, from one that has it, and no machine sends it to more than four."""
    builder = JobGraphBuilder("many", Placement.parse(tag, "0:0"))
    (made,) = builder.op("relu", [builder.input("x", SPEC)])
    for machine in range(1, 40):
        with builder.placed(Placement.parse(tag, f"{machine}:0")):
            builder.op("relu", [made], name=f"op{machine}")
    builder.output("y", made)
    graph = replace(builder.finish(), outputs=(), updates=())
    decisions = lower_ops(graph, registry).decisions
    plan = compile_jobs([Rewritten(graph, decisions, (), ())], registry, verify=True).plan
    crossings = [(a, b) for kind, a, b in copies(plan) if kind is TaskKind.COPY_NETWORK]
    assert sorted(receiver for _, receiver in crossings) == list(range(1, 40))
    assert set(Counter(sender for sender, _ in crossings).values()) <= {1, 2, 3, 4}
    has_it = {0}
    for sender, receiver in crossings:
        assert sender in has_it
        has_it.add(receiver)


def test_what_lies_in_host_memory_crosses_by_one_copy(registry: BackendRegistry) -> None:
    """Of a device that works there; and once for all who read it on that machine."""
    builder = JobGraphBuilder("hosts", Placement.parse("near", "0:0"))
    (one,) = builder.op("relu", [builder.input("x", SPEC)])
    for index in (0, 1):
        with builder.placed(Placement.parse("near", f"1:{index}")):
            builder.output(f"y{index}", builder.op("relu", [one])[0])
    plan = compile_job(builder.finish(), registry).plan
    network = TaskKind.COPY_NETWORK
    assert sorted(copies(plan), key=str) == [(network, 0, 1), (network, 1, 0), (network, 1, 0)]


def test_streams_and_memory_are_those_of_their_machine(registry: BackendRegistry) -> None:
    """Two devices of one number on two machines share nothing."""
    plan = compile_job(relay(("far", "0:0"), ("far", "1:0")), registry).plan
    ranks = {task.name: task.task_id.stream_id.device_id.rank for task in plan.tasks}
    assert (ranks["op0"], ranks["op1"]) == (0, 1)
    assert len({chunk.memory for chunk in plan.chunks}) == 4  # a host and a device on each


def test_a_plan_of_machines_survives_encoding(registry: BackendRegistry) -> None:
    """Machines of memory and streams, and copies between them."""
    plan = compile_job(relay(("near", "0:0"), ("far", "5:1")), registry).plan
    assert decode(encode(plan)) == plan


def test_a_plan_of_machines_can_be_simulated(registry: BackendRegistry) -> None:
    """By the actors that would run it."""
    plan = compile_job(relay(*[("far", f"{machine}:0") for machine in range(6)]), registry).plan
    assert simulate(plan, calls=3).seconds > 0


def test_what_is_shown_names_machines_and_sees_through_copies(registry: BackendRegistry) -> None:
    """An op has the bytes that cross because of it; the picture has no copy as a node."""
    graph = relay(("far", "0:0"), ("far", "2:0"))
    first, second = explain_graph(graph, registry).ops
    assert (first.device, first.network_bytes) == ("far:0", 0)
    assert (second.device, second.network_bytes) == ("2:far:0", SPEC.nbytes)
    assert (second.d2h_bytes, second.h2d_bytes) == (SPEC.nbytes, SPEC.nbytes)
    plan = compile_job(graph, registry).plan
    kinds = {plan.tasks[node].kind for node in op_graph(plan)["nodes"]}
    assert kinds == {TaskKind.FOREIGN_INPUT, TaskKind.COMPUTE, TaskKind.FOREIGN_OUTPUT}


def test_running_one_is_refused(registry: BackendRegistry) -> None:
    """Before anything is opened; nothing is run where it was not asked for."""
    with pytest.raises(
        UnsupportedError, match="'relay' is for 2 machines and has work on machine 7"
    ):
        CompiledJob(relay(("far", "0:0"), ("far", "7:0")), registry)
    with CompiledJob(relay(("far", "0:0"), ("far", "0:1")), registry):
        pass
