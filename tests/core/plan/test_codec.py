"""Plans survive encoding; what is no plan, or a broken one, is refused."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.pipeline import compile_job
from headrace.dtypes import float16
from headrace.errors import PlanError
from headrace.graph import JobGraphBuilder, Variable
from headrace.ids import ActorId, RegisterId
from headrace.initializer import initializer
from headrace.op_call import Attrs
from headrace.placement import Placement
from headrace.plan import Plan, TaskKind, check, decode, encode
from headrace.plan.codec import seal
from headrace.plan.kept_codec import decode_kept, encode_kept
from headrace.plan.saved import PassRun, PluginVersion, Port, SavedPlan, Source, Versions, Weight
from headrace.registry.registry import BackendRegistry
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec

ZEROS = initializer("constant", value=0.0)
AMONG_DEVICES = {TaskKind.COPY_PEER, TaskKind.COPY_NETWORK, TaskKind.COLLECTIVE}
SPEC = TensorSpec((2, 3), "bfloat16")


def saved(plan: Plan) -> SavedPlan:
    """A plan with some of all that goes with it."""
    return SavedPlan(
        Versions("1.0", (1, 5), (PluginVersion("near", "headrace-near", "2.0"),)),
        (Port("x", SPEC),),
        (Port("y", SPEC), Port("z", TensorSpec((), "bool"))),
        (Weight("steps", SPEC, None, 64),),
        (Weight("w", SPEC, None, 128), Weight("v", SPEC, 0, 4)),
        (Source("data.bin", 8, 24, b"digest"),),
        (PassRun("near", "fuse", "headrace-near 2.0", True, 3, 2),),
        plan,
    )


def by_message(plan: Plan) -> Plan:
    """As a plan file has it."""
    return decode(encode(plan))


def by_fields(plan: Plan) -> Plan:
    """As the plan cache has it."""
    return decode_kept(encode_kept(saved(plan))).plan


both = pytest.mark.parametrize("copied", [by_message, by_fields])


@pytest.fixture
def plan(registry: BackendRegistry) -> Plan:
    """Every kind of task that one device has, a constant, a variable, an absent input."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    x = builder.input("x", TensorSpec((1, 1, 3, 3), "float32"))
    (y,) = builder.op("pad", [x, None], pads=(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    (z,) = builder.op("add", [y, builder.constant(np.ones(5, np.float32))])
    (flat,) = builder.op("reshape", [z], shape=(-1,))
    builder.output("z", flat)
    spec = TensorSpec((2,), "float32")
    count = builder.variable(
        Variable("count", spec, Placement.of_device("far"), NdSbp.broadcast(1), ZEROS, seed=3)
    )
    builder.update(count, *builder.op("add", [count, count]))
    return compile_job(builder.finish(), registry).plan


def test_a_plan_survives_encoding(plan: Plan) -> None:
    """Decoding gives an equal plan, and encoding that gives equal bytes."""
    data = encode(plan)
    assert decode(data) == plan
    assert encode(decode(data)) == data
    assert {task.kind for task in plan.tasks} == set(TaskKind) - AMONG_DEVICES


def test_all_that_a_kept_plan_is_survives_encoding(plan: Plan) -> None:
    """Decoding gives an equal plan with all that goes with it, and equal plans give equal bytes."""
    data = encode_kept(saved(plan))
    assert decode_kept(data) == saved(plan)
    assert encode_kept(decode_kept(data)) == data == encode_kept(saved(by_message(plan)))


def test_names_of_kernels_are_kept_and_not_sent(plan: Plan) -> None:
    """Who reads a message may have other kernels, and selects among these."""
    name = ("pack.kernels", "Add", (("function", ("pack.ops", "add", ())),))
    kinds = {TaskKind.COMPUTE: name}
    named = plan._replace(tasks=tuple(t._replace(kernel=kinds.get(t.kind)) for t in plan.tasks))
    assert by_fields(named) == named != plan
    assert by_message(named) == plan


@both
@pytest.mark.parametrize("kind", sorted(AMONG_DEVICES, key=str))
def test_what_devices_do_together_survives_encoding(
    plan: Plan, kind: TaskKind, copied: Callable[[Plan], Plan]
) -> None:
    """Kinds of tasks that need several devices are read as they were written."""
    first, *others = plan.tasks
    changed = plan._replace(tasks=(first._replace(kind=kind), *others))
    assert copied(changed) == changed


attr_values = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.just(float16)
    | st.lists(st.integers(-(2**63), 2**63 - 1)).map(tuple)
    | st.lists(st.floats(allow_nan=False), min_size=1).map(tuple)
    | st.lists(st.text(), min_size=1).map(tuple)
)


@both
@given(values=st.dictionaries(st.text(min_size=1), attr_values, max_size=4))
def test_attributes_of_every_type_survive_encoding(
    copied: Callable[[Plan], Plan], values: dict[str, object]
) -> None:
    """Each attribute comes back with its value and its type."""
    registry = _tiny_registry()
    builder = JobGraphBuilder("job", Placement.of_device("near"))
    (y,) = builder.op("relu", [builder.input("x", TensorSpec((1,), "float32"))])
    builder.output("y", y)
    made = compile_job(builder.finish(), registry).plan
    position = next(i for i, task in enumerate(made.tasks) if task.call)
    call = made.tasks[position].call
    assert call is not None
    task = made.tasks[position]._replace(call=replace(call, attrs=Attrs(values)))  # type: ignore[arg-type]
    tasks = (*made.tasks[:position], task, *made.tasks[position + 1 :])
    decoded = copied(made._replace(tasks=tasks)).tasks[position].call
    assert decoded is not None
    assert decoded.attrs == Attrs(values)  # type: ignore[arg-type]
    assert [type(v) for v in decoded.attrs.values()] == [type(values[k]) for k in sorted(values)]


def _tiny_registry() -> BackendRegistry:
    from toy_backends import near

    return BackendRegistry.from_modules({"near": near()})


@given(st.binary(max_size=200))
def test_bytes_that_are_no_plan_are_refused(data: bytes) -> None:
    """Random bytes raise PlanError, nothing else."""
    with pytest.raises(PlanError):
        check(decode(data))
    with pytest.raises(PlanError):
        check(decode(seal(data + b"\xff")))


@pytest.mark.parametrize("value", [(), (1, 2, 3), ((), (), ((),) * 8), ((), (((-1,), 99),), ())])
def test_fields_that_are_no_plan_are_refused(value: Any) -> None:
    """As other code may have written them."""
    with pytest.raises(PlanError, match="corrupt, or of other code"):
        decode_kept(marshal.dumps(value))


def test_a_plan_of_another_format_is_refused_naming_both(plan: Plan) -> None:
    """The version is checked before anything else."""
    message = encode(plan)[8:]  # behind magic and checksum
    other = bytes([0x08, 99]) + message[2:]  # field 1, format_version
    with pytest.raises(PlanError, match="version 99 and this headrace reads 1"):
        decode(seal(other))


def test_a_damaged_plan_is_never_taken(plan: Plan) -> None:
    """A plan cut short anywhere, or with any byte changed, is refused."""
    data = encode(plan)
    for position in range(len(data)):
        with pytest.raises(PlanError):
            decode(data[:position])
        changed = bytearray(data)
        changed[position] ^= 0x10
        with pytest.raises(PlanError):
            decode(bytes(changed))


def test_a_register_outside_its_chunk_is_named(plan: Plan) -> None:
    """The check says which register ends where, and how long its chunk is."""
    chunks = tuple(chunk._replace(nbytes=8) for chunk in plan.chunks)
    with pytest.raises(PlanError, match=r"register .* ends at byte .* which has 8 bytes"):
        check(plan._replace(chunks=chunks))


def test_reading_before_writing_is_named(plan: Plan) -> None:
    """A task order in which something is read too early does not pass."""
    order = tuple(reversed(plan.tasks))
    actors = tuple(
        actor._replace(tasks=tuple(len(order) - 1 - t for t in actor.tasks))
        for actor in plan.actors
    )
    with pytest.raises(PlanError, match="before any task writes it"):
        check(plan._replace(tasks=order, actors=actors))


def test_actors_wired_wrongly_are_named(plan: Plan) -> None:
    """A register that an actor does not wait for, or waits for in vain, would hang or race."""
    number = next(i for i, actor in enumerate(plan.actors) if actor.consumed)
    first, rest = plan.actors[:number], plan.actors[number + 1 :]
    for broken, message in (
        (plan.actors[number]._replace(consumed=()), f"actor {number} consumes registers"),
        (plan.actors[number]._replace(produced=(RegisterId(0),)), f"actor {number} produces"),
        (plan.actors[number]._replace(tasks=(99,)), "is not in the task list|names task 99"),
    ):
        with pytest.raises(PlanError, match=message):
            check(plan._replace(actors=(*first, broken, *rest)))


def test_a_task_in_two_actors_is_named(plan: Plan) -> None:
    """No task is launched twice for one call."""
    last = len(plan.actors)
    tasks = tuple(t._replace(actor=ActorId(last)) if t.actor == 0 else t for t in plan.tasks)
    twice = plan._replace(actors=(*plan.actors, plan.actors[0]), tasks=tasks)
    with pytest.raises(PlanError, match=f"is in actor 0 and in actor {last}"):
        check(twice)


def test_writing_a_constant_is_named(plan: Plan) -> None:
    """Weights are loaded once, so a task that writes one would change every later call."""
    writing = next(i for i, task in enumerate(plan.tasks) if task.outputs)
    register = plan.tasks[writing].outputs[0]
    registers = tuple(
        r._replace(constant="w") if i == register else r for i, r in enumerate(plan.registers)
    )
    with pytest.raises(PlanError, match=r"writes .*, a constant"):
        check(plan._replace(registers=registers))
