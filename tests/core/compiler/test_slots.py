"""Registers of two slots: where calls may overlap, with memory of their own, and proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toy_backends import far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.pipeline import compile_job
from headrace.compiler.verify.memory import verify_memory
from headrace.errors import GraphError, PlanError
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.plan import Plan, RegisterDesc, check
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((16, 64), "float32")
NBYTES = 4096


def plan_of(width: int, inplace: bool = False, reuse: bool = True) -> Plan:
    """Twice from ``far`` to ``near`` and back, with sums on the way; proved."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    y = builder.input("x", SPEC)
    for turn in range(2):
        for number in range(4):
            w = builder.constant(np.full((16, 64), number + 1, np.float32))
            (z,) = builder.op("add", [y, w], name=f"a{turn}{number}")
            (y,) = builder.op("add", [z, y], name=f"b{turn}{number}")
        with builder.placed(Placement.of_device("near")):
            (y,) = builder.op("relu", [y], name=f"near{turn}")
    builder.output("y", *builder.op("relu", [y], name="last"))
    plan = compile_job(
        builder.finish(),
        registry,
        verify=True,
        memory=MemoryOptions(inplace, reuse),
        concurrency=Concurrency(width),
    ).plan
    verify_memory(plan)
    return plan


def crossing(plan: Plan) -> set[int]:
    """The registers that go from one actor to another."""
    return {register for actor in plan.actors for register in actor.produced}


def named(plan: Plan, name: str) -> RegisterDesc:
    """A register."""
    return next(register for register in plan.registers if register.name == name)


def changed(plan: Plan, name: str, **fields: Any) -> Plan:
    """The plan with another register."""
    registers = tuple(r._replace(**fields) if r.name == name else r for r in plan.registers)
    return plan._replace(registers=registers)


def prove(plan: Plan) -> None:
    """Check a plan, and then its memory, as before it runs."""
    check(plan)
    verify_memory(plan)


def device_bytes(plan: Plan) -> int:
    """Of ``far``, but for weights."""
    (held,) = (chunk.nbytes for chunk in plan.chunks if chunk.memory.tag == "far")
    return held - sum(r.spec.nbytes for r in plan.registers if r.constant is not None)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("reuse", [False, True])
def test_what_crosses_has_two_slots_where_calls_may_overlap(inplace: bool, reuse: bool) -> None:
    """And one where they follow each other; more calls need no more."""
    plan = plan_of(1, inplace, reuse)
    assert {register.slots for register in plan.registers} == {1}
    for width in (2, 3, 100):
        plan = plan_of(width, inplace, reuse)
        assert {plan.registers[register].slots for register in crossing(plan)} == {2}
        assert plan.jobs[0].width == width
    if not inplace:  # else what is written over what crosses lies in the slot of its piece
        inside = {*range(len(plan.registers))} - crossing(plan)
        assert {plan.registers[register].slots for register in inside} == {1}


def test_calls_that_may_overlap_wait_for_nothing_but_slots() -> None:
    """No chain is held back to save memory."""
    assert any(task.control_inputs for task in plan_of(1).tasks)
    assert not any(task.control_inputs for task in plan_of(2).tasks)


def test_what_a_chain_has_for_itself_is_shared_with_the_chains_of_its_stream() -> None:
    """Their acts are done in turn: two parts of one size need what one of them does."""
    plan = plan_of(2)
    across = [plan.registers[r] for r in crossing(plan)]
    of_device = [r for r in across if plan.chunks[r.chunk].memory.tag == "far"]
    assert device_bytes(plan) == len(of_device) * 2 * NBYTES + 3 * NBYTES
    assert named(plan, "a00/y").offset == named(plan, "a10/y").offset


def test_streams_of_which_one_does_not_wait_for_the_other_share_nothing() -> None:
    """What is sound for two chains of one stream is refused for chains of two."""
    plan = plan_of(2)
    task = next(task for task in plan.tasks if task.name == "a10")
    actor = plan.actors[task.actor]
    elsewhere = replace(actor.stream_id, stream_index=7)
    actors = tuple(a._replace(stream_id=elsewhere) if a is actor else a for a in plan.actors)
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(plan._replace(actors=actors))


@pytest.mark.parametrize("slot", [0, 1])
def test_each_slot_is_looked_at(slot: int) -> None:
    """What lies on the first or the second slot of another register is found."""
    plan = plan_of(2)
    other = named(plan, "near0/y@far:0")
    place = {"chunk": other.chunk, "offset": other.offset + slot * other.stride}
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(changed(plan, "a10/y", **place))
    with pytest.raises(GraphError, match="may be needed at the same time"):
        verify_memory(changed(plan, "x@far:0", **place))


def test_a_slot_that_nobody_planned_is_refused() -> None:
    """One credit more than there is memory for: the third piece would lie on something else."""
    plan = plan_of(2)
    for register in crossing(plan):
        broken = changed(plan, plan.registers[register].name, slots=3)
        with pytest.raises(
            (GraphError, PlanError), match=r"may be needed at the same time|ends at byte"
        ):
            prove(broken)


def test_slots_do_not_reach_into_each_other() -> None:
    """A plan whose slots are closer than a tensor is long is no plan."""
    plan = plan_of(2)
    name = plan.registers[next(iter(crossing(plan)))].name
    with pytest.raises(PlanError, match=r"has 2 slots of 4096 bytes, one every 512 bytes"):
        check(changed(plan, name, stride=512))


def test_what_is_written_over_an_input_has_its_slots() -> None:
    """In the slot of the same piece; with another number of slots it is no plan."""
    plan = plan_of(2, inplace=True)
    task = next(task for task in plan.tasks if task.in_place)
    (i, o), *_ = task.in_place
    read, made = plan.registers[task.inputs[i] or 0], plan.registers[task.outputs[o]]
    assert (read.slots, read.stride, read.offset) == (made.slots, made.stride, made.offset)
    with pytest.raises(PlanError, match="should lie on"):
        check(changed(plan, made.name, slots=3 - made.slots))
