"""The proof of the memory plan refuses every plan in which a byte may be written too early."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from toy_backends import far, near

from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.pipeline import compile_job
from headrace.compiler.verify.memory import verify_memory
from headrace.errors import GraphError
from headrace.graph import JobGraphBuilder
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.plan import Plan, TaskKind
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((16, 64), "float32")  # 4096 bytes
Build = Callable[[JobGraphBuilder, Tensor], Tensor]


class Scratch(NumpyKernel):
    """A kernel that asks for scratch memory."""

    def workspace_bytes(self) -> int:
        return 4096


def plan_of(build: Build, device: str = "near", inplace: bool = False) -> Plan:
    """The plan of ``build`` applied to an input, proved."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    builder = JobGraphBuilder("job", Placement.of_device(device))
    builder.output("y", build(builder, builder.input("x", SPEC)))
    options = MemoryOptions(inplace=inplace)
    plan = compile_job(builder.finish(), registry, verify=True, memory=options).plan
    verify_memory(plan)
    return plan


def chain(length: int) -> Build:
    """Ops one after the other."""

    def build(builder: JobGraphBuilder, y: Tensor) -> Tensor:
        for number in range(length):
            (y,) = builder.op("relu" if number % 2 else "identity", [y], name=f"op{number}")
        return y

    return build


def crossing(builder: JobGraphBuilder, x: Tensor) -> Tensor:
    """From far to near and back to far, twice, with much to do on far each time."""
    y = x
    for turn in range(3):
        for number in range(4):
            w = builder.constant(np.full((16, 64), number + 1, np.float32))
            (z,) = builder.op("add", [y, w], name=f"a{turn}{number}")
            (y,) = builder.op("add", [z, y], name=f"b{turn}{number}")
        with builder.placed(Placement.of_device("near")):
            (y,) = builder.op("relu", [y], name=f"near{turn}")
    return builder.op("add", [y, y], name="last")[0]


def moved(plan: Plan, register: str, onto: str) -> Plan:
    """The plan with one register on the bytes of another."""
    place = next(r for r in plan.registers if r.name == onto)
    return plan._replace(
        registers=tuple(
            r._replace(chunk=place.chunk, offset=place.offset) if r.name == register else r
            for r in plan.registers
        ),
    )


def test_what_is_fed_may_not_lie_where_a_result_is_read() -> None:
    """The next call may be fed while the result of this one is on its way out: a race by design.

    In the chain itself, one is dead before the other is written; that is not enough.
    """
    plan = plan_of(chain(6), "far")
    with pytest.raises(GraphError, match=r"'x@far:0'.*'op5/y'.*may be needed at the same time"):
        verify_memory(moved(plan, "op5/y", onto="x@far:0"))


def test_two_tensors_that_one_chain_needs_together_are_named() -> None:
    """An op whose output lies on its input was not allowed to work in place."""
    plan = plan_of(chain(4))
    with pytest.raises(GraphError, match=r"'op1/y' \(bytes .*\) and 'op2/y'.*by 'op2'"):
        verify_memory(moved(plan, "op2/y", onto="op1/y"))


def test_an_input_is_written_over_only_if_the_plan_says_so() -> None:
    """Taking away the word of a plan that works in place leaves an overlap without excuse."""
    plan = plan_of(chain(6), inplace=True)
    assert any(task.in_place for task in plan.tasks)
    tasks = tuple(task._replace(in_place=()) for task in plan.tasks)
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(plan._replace(tasks=tasks))


def test_an_input_that_is_read_again_may_not_be_written_over() -> None:
    """Also when the plan says that the op may: a later task reads what was there."""

    def build(builder: JobGraphBuilder, x: Tensor) -> Tensor:
        (a,) = builder.op("relu", [x], name="a")
        (b,) = builder.op("relu", [a], name="b")
        return builder.op("add", [a, b], name="c")[0]

    plan = moved(plan_of(build, inplace=False), "b/y", onto="a/y")
    tasks = tuple(t._replace(in_place=((0, 0),)) if t.name == "b" else t for t in plan.tasks)
    with pytest.raises(GraphError, match=r"'a/y'.*and 'b/y'.*by 'c'"):
        verify_memory(plan._replace(tasks=tasks))


def test_scratch_may_not_lie_on_what_its_task_reads_or_writes() -> None:
    """The task that uses it is where all three are alive."""
    registry = BackendRegistry.from_modules({"near": near(kernel=Scratch)})
    builder = JobGraphBuilder("job", Placement.of_device("near"))
    builder.output("y", chain(3)(builder, builder.input("x", SPEC)))
    plan = compile_job(builder.finish(), registry).plan
    verify_memory(plan)
    for other in ("op0/y", "op1/y"):
        with pytest.raises(GraphError, match="'op1#workspace'"):
            verify_memory(moved(plan, "op1#workspace", onto=other))


def test_weights_share_with_nothing() -> None:
    """They are loaded once, before all calls."""
    plan = plan_of(crossing, "far")
    weight = next(r for r in plan.registers if r.constant is not None)
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(moved(plan, "a00/y", onto=weight.name))


def test_chains_that_share_an_arena_wait_for_each_other() -> None:
    """Without the control edge, the first chain would write for the next piece too early."""
    plan = plan_of(crossing, "far")
    control = [t for t in plan.tasks if t.control_inputs or t.control_outputs]
    assert control
    free = {r for task in control for r in (*task.control_inputs, *task.control_outputs)}
    broken = plan._replace(
        tasks=tuple(t._replace(control_inputs=(), control_outputs=()) for t in plan.tasks),
        actors=tuple(
            actor._replace(
                consumed=tuple(r for r in actor.consumed if r not in free),
                produced=tuple(r for r in actor.produced if r not in free),
            )
            for actor in plan.actors
        ),
    )
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(broken)


def test_sharing_an_arena_saves_what_each_part_would_need() -> None:
    """Three parts of one size on a device need little more than one of them."""
    plan = plan_of(crossing, "far")
    (held,) = (chunk.nbytes for chunk in plan.chunks if chunk.memory.tag == "far")
    weights = sum(r.spec.nbytes for r in plan.registers if r.constant is not None)
    assert held - weights <= 4 * 4096


def test_a_view_keeps_the_bytes_of_what_it_shows() -> None:
    """What is written between the first tensor's last reader and the view's is refused."""

    def build(builder: JobGraphBuilder, x: Tensor) -> Tensor:
        (a,) = builder.op("relu", [x], name="a")
        (v,) = builder.op("reshape", [a], shape=(64, 16), name="v")
        (b,) = builder.op("relu", [v], name="b")
        (c,) = builder.op("relu", [b], name="c")
        return builder.op("add", [v, c], name="d")[0]

    plan = plan_of(build, inplace=True)
    assert [task.name for task in plan.tasks if task.kind is TaskKind.VIEW] == ["v"]
    with pytest.raises(GraphError, match="'a/y' alias 'v/y'"):
        verify_memory(moved(plan, "b/y", onto="a/y"))


def test_a_view_of_what_is_fed_is_no_view_where_others_read_it() -> None:
    """Who feeds waits for those who read the input, not for those who read a view of it."""

    def build(builder: JobGraphBuilder, x: Tensor) -> Tensor:
        return builder.op("reshape", [x], shape=(64, 16), name="v")[0]

    plan = plan_of(build, inplace=True)
    assert not [task for task in plan.tasks if task.kind is TaskKind.VIEW]
    tasks = tuple(
        task._replace(kind=TaskKind.VIEW) if task.name == "v" else task for task in plan.tasks
    )
    with pytest.raises(GraphError, match="'x' is written for the next piece while"):
        verify_memory(moved(plan, "v/y", onto="x")._replace(tasks=tasks))
