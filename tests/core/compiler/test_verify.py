"""Every promise of a stage, broken once: the verifier says which stage, op or task, and tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from golden_jobs import JOBS, stages

from headrace.compiler import pipeline
from headrace.compiler.op_graph import OpGraph
from headrace.compiler.pipeline import compile_job
from headrace.compiler.stage import Chained, Emitted
from headrace.compiler.task_graph import TaskGraph
from headrace.compiler.verify import Verifier
from headrace.errors import GraphError
from headrace.graph import JobGraph
from headrace.placement import Placement
from headrace.plan import Plan
from headrace.registry import BackendRegistry
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec


def made(job: str, stage: str) -> Any:
    """What a stage makes of one of the golden jobs."""
    (found,) = (s.structure for s in stages(job) if s.name == stage)
    return found


def registry_of(job: str) -> BackendRegistry:
    return BackendRegistry.from_modules(JOBS[job]()[1])


def refused(job: str, stage: str, structure: Any, message: str, before: Any = None) -> None:
    """The verifier refuses ``structure`` after ``stage``, and says so."""
    verifier = Verifier(registry_of(job))
    if before is not None:
        verifier(*before)
    with pytest.raises(GraphError, match=message):
        verifier(stage, structure)


@pytest.mark.parametrize("job", JOBS)
def test_what_is_compiled_passes(job: str) -> None:
    """All stages of all golden jobs keep what they promise."""
    verifier = Verifier(registry_of(job))
    for stage in stages(job):
        verifier(stage.name, stage.structure)


def test_a_pass_that_breaks_a_graph_is_named(
    registry: BackendRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the fault is planted into the pipeline; without verifying it goes unseen."""

    def lose(graph: JobGraph, registry: BackendRegistry) -> JobGraph:
        return replace(graph, ops=graph.ops[1:])

    graph = JOBS["two_devices"]()[0]
    monkeypatch.setattr(pipeline, "PASSES", (("lose", lose),))
    with pytest.raises(GraphError, match=r"after lose: relu 'second' reads 'first/y'"):
        compile_job(graph, registry, verify=True)


# Job graphs.


def _with_op(graph: JobGraph, number: int, **changes: Any) -> JobGraph:
    ops = list(graph.ops)
    ops[number] = replace(ops[number], **changes)
    return replace(graph, ops=tuple(ops))


def _doubled(graph: JobGraph) -> JobGraph:
    return replace(graph, ops=(*graph.ops, graph.ops[-1]))


JOB_GRAPH_FAULTS: dict[str, tuple[Callable[[JobGraph], JobGraph], str]] = {
    "an op twice": (_doubled, "two ops are called 'third'"),
    "a read of nothing": (
        lambda g: _with_op(g, 1, inputs=("gone",)),
        r"relu 'second' reads 'gone' as float32\[2, 3\]; it is None",
    ),
    "a tensor made twice": (
        lambda g: _with_op(g, 1, outputs=("first/y",)),
        "relu 'second' makes 'first/y', which exists already",
    ),
    "a result of nothing": (
        lambda g: replace(g, outputs=(("y", replace(g.outputs[0][1], name="gone")),)),
        "result 'y' is 'gone'",
    ),
    "a constant called like an input": (
        lambda g: replace(g, constants={**g.constants, "x": np.ones((2, 3), np.float32)}),
        "an input, a constant or a variable shares its name with another",
    ),
}


@pytest.mark.parametrize("fault", JOB_GRAPH_FAULTS)
def test_a_job_graph_that_is_not_whole(fault: str) -> None:
    """Names the job, the pass, the op and the tensor."""
    plant, message = JOB_GRAPH_FAULTS[fault]
    graph = made("chain", "remove_what_is_left")
    refused("chain", "some_pass", plant(graph), rf"job 'chain' after some_pass: .*{message}")


INTERFACE_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": "other"}, "its name became other; before the pass it was chain"),
    "inputs": ({"inputs": ()}, r"its inputs became \[\]; before the pass it was .*'x: float32"),
    "results": ({"outputs": ()}, r"its results became \[\]; .*'y: float32\[2, 3\]'"),
}


@pytest.mark.parametrize("what", INTERFACE_FAULTS)
def test_a_pass_that_changes_what_the_caller_sees(what: str) -> None:
    """Name, inputs and results are the caller's; the graph is whole otherwise."""
    changes, message = INTERFACE_FAULTS[what]
    whole = made("chain", "building")
    graph = replace(whole, ops=(), constants={}, outputs=())
    before = replace(graph, outputs=(("y", whole.inputs[0]),)) if what == "results" else graph
    refused("chain", "p", replace(before, **changes), message, before=("building", before))


def _on_two(graph: JobGraph) -> JobGraph:
    return _with_op(graph, 0, placement=Placement.parse("near", "0:0-1"))


PROMISES: dict[str, tuple[str, str, str, Callable[[JobGraph], JobGraph], str]] = {
    "a dead op": (
        "chain", "building", "remove_dead_ops", lambda g: g,
        "nobody reads what relu 'dead' makes: 'dead/y'",
    ),
    "a dead constant": (
        "chain", "remove_dead_ops", "remove_what_is_left",
        lambda g: replace(g, constants=MappingProxyType({**g.constants, "k": np.ones(1)})),
        "nobody reads constant 'k'",
    ),
    "two equal ops": (
        "chain", "remove_dead_ops", "merge_equal_ops", lambda g: g,
        r"add 'first' and add 'first_again' do the same to \['x', 'w'\]",
    ),
    "two reshapes": (
        "diamond", "merge_equal_ops", "cancel_moves", lambda g: g,
        "reshape 'left' reads 'flat/y', which reshape 'flat' only moved",
    ),
    "an op on four devices": (
        "sharded_2x2", "building", "shard_ops", lambda g: g,
        r"matmul 'product' is still placed on several devices: 'near 0:0-3 \[2x2\]'",
    ),
    "a format that the device does not prefer": (
        "images", "shard_ops", "choose_layouts", lambda g: g,
        "conv 'edges' is channels_first; its device prefers channels_last: the only format that",
    ),
    "an op without a kernel": (
        "decomposition", "shard_ops", "lower_ops", lambda g: g,
        "add_n 'total' was left to device 'near', which has no kernel for it",
    ),
    "an op on two devices after lowering": (
        "decomposition", "lower_ops", "lower_ops", _on_two,
        r"add 'add_0' \(total\) is still placed on several devices",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PROMISES)
def test_a_pass_that_does_not_do_what_it_says(fault: str) -> None:
    """What the pass was given is handed on as what it made."""
    job, given, after, plant, message = PROMISES[fault]
    refused(job, after, plant(made(job, given)), f"after {after}: {message}")


# The op graph.


def _with_node(graph: OpGraph, number: int, **changes: Any) -> OpGraph:
    nodes = list(graph.nodes)
    nodes[number] = nodes[number]._replace(**changes)
    return replace(graph, nodes=tuple(nodes))


def _sbp(text: str) -> tuple[NdSbp, ...]:
    return (NdSbp.parse(text),)


OP_GRAPH_FAULTS: dict[str, tuple[Callable[[OpGraph], OpGraph], str]] = {
    "a node too few": (
        lambda g: replace(g, nodes=g.nodes[1:]),
        "has 4 nodes that are not the 5 ops",
    ),
    "an SBP too few": (
        lambda g: _with_node(g, 4, input_sbp=_sbp("B")),
        "add 'bottom' has 1 and 1 SBPs for its 2 inputs and 1 outputs",
    ),
    "an SBP of another hierarchy": (
        lambda g: _with_node(g, 0, output_sbp=_sbp("B,B")),
        "relu 'top': tensor 'top/y' lies as B,B over a hierarchy of 1 axes",
    ),
    "an axis that is not there": (
        lambda g: _with_node(g, 0, output_sbp=_sbp("S(2)")),
        r"relu 'top': tensor 'top/y' is float32\[2, 3\], which has no axis 2",
    ),
    "a tensor read otherwise than it was made": (
        lambda g: _with_node(g, 1, input_sbp=_sbp("S(0)")),
        r"reshape 'left' reads 'top/y' as S\(0\); relu 'top' makes it as B",
    ),
}


@pytest.mark.parametrize("fault", OP_GRAPH_FAULTS)
def test_an_op_graph_that_does_not_hold(fault: str) -> None:
    """Names the op and the tensor."""
    plant, message = OP_GRAPH_FAULTS[fault]
    refused("diamond", "op_graph", plant(made("diamond", "op_graph")), f"'diamond': .*{message}")


# The task graph. Tasks of two_devices: 0 input, 1 h2d x, 2 first, 3 d2h, 4 second, 5 h2d, 6 third.


def _with_task(graph: TaskGraph, number: int, **changes: Any) -> TaskGraph:
    tasks = list(graph.tasks)
    tasks[number] = tasks[number]._replace(**changes)
    return replace(graph, tasks=tuple(tasks))


def _with_tensor(graph: TaskGraph, name: str, **changes: Any) -> TaskGraph:
    return replace(graph, tensors={**graph.tensors, name: graph.tensors[name]._replace(**changes)})


OTHER = TensorSpec((3, 2), "float32")

TASK_GRAPH_FAULTS: dict[str, tuple[Callable[[TaskGraph], TaskGraph], str]] = {
    "a name twice": (
        lambda g: _with_task(g, 4, name="first"),
        "two tasks are called 'first'",
    ),
    "a job that is not there": (
        lambda g: _with_task(g, 4, job=9),
        "task 'second' is of job 9; there are 3",
    ),
    "a read too early": (
        lambda g: _with_task(g, 2, inputs=("second/y@far:0", "w@far:0")),
        "task 'first' reads 'second/y@far:0', which no earlier task makes",
    ),
    "a tensor made twice": (
        lambda g: _with_task(g, 4, outputs=("first/y",)),
        "task 'second' makes 'first/y', which exists already",
    ),
    "a tensor that is not there": (
        lambda g: _with_task(g, 4, outputs=("gone",)),
        "task 'second' makes 'gone', which is no tensor",
    ),
    "a tensor without a maker": (
        lambda g: _with_tensor(g, "w@far:0", constant=None),
        "task 'first' reads 'w@far:0', which no earlier task makes",
    ),
    "a missing copy": (
        lambda g: _with_task(g, 4, inputs=("first/y",)),
        "task 'second' works in several memories: host memory of cpu:0, device memory of far:0",
    ),
    "work in the memory of another device": (
        lambda g: _with_task(g, 2, stream=g.tasks[2].stream._replace(device_index=1)),
        "task 'first' runs on far:1/s0 and works in device memory of far:0",
    ),
    "another spec than the op's": (
        lambda g: _with_tensor(g, "second/y", spec=OTHER),
        r"task 'second' takes 'second/y' for float32\[2, 3\]; it is float32\[3, 2\]",
    ),
    "a copy to where it is": (
        lambda g: _with_tensor(g, "x@far:0", memory=g.tensors["x"].memory),
        "task 'copy_h2d x@far:0' copies within one memory: host memory of cpu:0",
    ),
    "a copy that changes what it copies": (
        lambda g: _with_tensor(g, "x@far:0", spec=OTHER),
        r"copies 'x', float32\[2, 3\], to 'x@far:0', float32\[3, 2\]",
    ),
    "a tensor that nothing makes": (
        lambda g: replace(g, tensors={**g.tensors, "left": g.tensors["x"]._replace(name="left")}),
        "no task makes tensor 'left'",
    ),
}


@pytest.mark.parametrize("fault", TASK_GRAPH_FAULTS)
def test_a_task_graph_that_does_not_hold(fault: str) -> None:
    """Names the task and the tensor."""
    plant, message = TASK_GRAPH_FAULTS[fault]
    refused("two_devices", "task_graph", plant(made("two_devices", "task_graph")), message)


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (8, r"results of the job: missing \['y'\], not asked for \[\], in all 0 for 1"),
        (6, r"ops of the job: missing \['third'\]"),
    ],
)
def test_tasks_that_leave_part_of_the_job_undone(kept: int, message: str) -> None:
    """An op, an input or a result that has no task is named."""
    ops, tasks = made("two_devices", "op_graph"), made("two_devices", "task_graph")
    first = tasks.tasks[:kept]
    there = {name for task in first for name in task.outputs}
    tensors = {n: t for n, t in tasks.tensors.items() if t.constant is not None or n in there}
    broken = replace(tasks, tasks=first, tensors=tensors)
    refused("two_devices", "task_graph", broken, message, before=("op_graph", ops))


# Chains of sharded_2x2: chain 1 is tasks 1, 2, 3, 4, 5, 9; chain 5 is task 13 and waits for it.

CHAIN_FAULTS: dict[str, tuple[Callable[[list[list[int]]], object], str]] = {
    "an empty chain": (lambda c: c.append([]), "chain 7 has no task"),
    "out of order": (lambda c: c[1].reverse(), "chain 1 launches its tasks out of order"),
    "in two chains": (lambda c: c.append([9]), "task 'relu@0' is in chain 1 and in chain 7"),
    "in no chain": (lambda c: c[1].remove(9), "task 'relu@0' is in no chain"),
    "on two streams": (
        lambda c: c[1].append(c[2].pop()),
        "chain 1 begins with 'slice_0' on near:0/s0 of job 0; 'relu@1' is on near:1/s0 of job 0",
    ),
    "a circle": (
        lambda c: c[1].extend(c.pop(5)),
        r"wait for each other in a circle: 1 \('slice_0' ...\) -> 2 \('product@1' ...\) -> 1 \(",
    ),
}


@pytest.mark.parametrize("fault", CHAIN_FAULTS)
def test_chains_that_do_not_hold(fault: str) -> None:
    """Names the chain and the task, or the chains of a circle."""
    plant, message = CHAIN_FAULTS[fault]
    given = made("sharded_2x2", "chains")
    chains = [list(chain) for chain in given.chains]
    plant(chains)
    refused("sharded_2x2", "chains", Chained(given.tasks, chains), message)


# The plan.


def _plan_task(plan: Plan, number: int, **changes: Any) -> Plan:
    tasks = list(plan.tasks)
    tasks[number] = tasks[number]._replace(**changes)
    return plan._replace(tasks=tuple(tasks))


def _plan_register(plan: Plan, register: str, **changes: Any) -> Plan:
    return plan._replace(
        registers=tuple(r._replace(**changes) if r.name == register else r for r in plan.registers),
    )


PLAN_FAULTS: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "a task too few": (
        lambda p: p._replace(tasks=p.tasks[1:]),
        "it has 8 tasks; the task graph has 9",
    ),
    "another input": (
        lambda p: _plan_task(p, 6, inputs=p.tasks[6].inputs[::-1]),
        r"task 'third' has inputs \['first/y', 'second/y@far:0'\]; in the task graph it is \['sec",
    ),
    "another op": (
        lambda p: _plan_task(p, 6, call=p.tasks[2].call),
        "task 'third' has op add 'first'; in the task graph it is add 'third'",
    ),
    "another stream": (
        lambda p: _plan_task(p, 6, task_id=p.tasks[4].task_id),
        "task 'third' has stream near:0/s0; in the task graph it is far:0/s0",
    ),
    "another job": (
        lambda p: _plan_task(p, 6, job=1),
        "task 'third' has job 1; in the task graph it is 0",
    ),
    "an actor too few": (
        lambda p: p._replace(actors=p.actors[1:]),
        "it has 8 actors; there are 9 chains",
    ),
    "actors in another order": (
        lambda p: p._replace(actors=p.actors[::-1]),
        r"chain 0 is tasks \[0\]; no actor 0 is",
    ),
    "a register too few": (
        lambda p: _plan_register(p, "third/y", name="lost"),
        "has outputs",
    ),
    "another spec": (
        lambda p: _plan_register(p, "third/y", spec=OTHER),
        r"register 'third/y' is float32\[3, 2\]; its tensor is float32\[2, 3\]",
    ),
    "another place": (
        lambda p: _plan_register(p, "third/y", offset=4096),
        r"register 'third/y' lies at .*=1, offset=4096.*; the memory plan says .*=1, offset=2048",
    ),
    "a chunk of another memory": (
        lambda p: p._replace(chunks=p.chunks[::-1]),
        "register 'x' lies in device memory of far:0; its tensor belongs in host memory of cpu:0",
    ),
}


@pytest.mark.parametrize("fault", PLAN_FAULTS)
def test_a_plan_that_says_something_else(fault: str) -> None:
    """Names the task or the tensor, and both sides."""
    plant, message = PLAN_FAULTS[fault]
    given = made("two_devices", "plan")
    broken = Emitted(given.tasks, given.chains, given.memory, plant(given.plan))
    refused("two_devices", "plan", broken, f"plan 'two_devices': .*{message}")
