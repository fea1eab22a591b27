"""Branches of a job on streams of one device: side by side where that gains, in order elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from toy_backends import far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import compile_job
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.plan import Plan, TaskKind
from headrace.registry import BackendRegistry
from headrace.runtime.simulator import simulate
from headrace.tensor_spec import TensorSpec

LARGE = TensorSpec((1 << 18,), "float32")  # 1 MiB
SMALL = TensorSpec((4,), "float32")


def plan_of(
    reads: Sequence[Sequence[str]], streams: int, spec: TensorSpec = LARGE, device: str = "far"
) -> Plan:
    """Op n adds up what ``reads[n]`` names: ``x``, or the number of an op before it."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    made = {"x": builder.input("x", spec)}
    for number, names in enumerate(reads):
        total = made[names[0]]
        for name in names[1:]:
            (total,) = builder.op("add", [total, made[name]], name=f"{number}+{name}")
        if len(names) == 1:
            (total,) = builder.op("relu", [total], name=f"{number}")
        made[str(number)] = total
    read = {name for names in reads for name in names}
    for name in made.keys() - read:
        builder.output(name, made[name])
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    concurrency = Concurrency(compute_streams=streams)
    return compile_job(builder.finish(), registry, verify=True, concurrency=concurrency).plan


def seconds(plan: Plan) -> float:
    """How long a call computes, if each op takes a second and nothing else takes time."""
    return simulate(plan, duration=lambda task: float(task.kind is TaskKind.COMPUTE)).seconds


def streams_of(plan: Plan) -> dict[str, int]:
    """The stream of each op."""
    computing = [task for task in plan.tasks if task.kind is TaskKind.COMPUTE]
    return {task.name: task.task_id.stream_id.stream_index for task in computing}


# One branch of relu and one of add: equal ops on equal inputs would be one.
APART = [["x"], ["0"], ["1"], ["2"], ["x", "x"], ["4", "4"], ["5", "5"], ["6", "6"]]
FORKED = [["x"], ["0"], ["1"], ["2"], ["0", "0"], ["4", "4"], ["5", "5"], ["3", "6"]]


@pytest.mark.parametrize(("streams", "expected"), [(1, 8), (2, 4), (3, 4)])
def test_independent_chains_take_the_time_of_one(streams: int, expected: int) -> None:
    """Two chains of four ops that only read the input; a third stream has nothing to do."""
    plan = plan_of(APART, streams)
    assert seconds(plan) == expected
    assert len({*streams_of(plan).values()}) == min(streams, 2)


def test_branches_that_fork_and_join_run_side_by_side() -> None:
    """The one that goes to another stream need not wait for the other one, only for the fork."""
    assert seconds(plan_of(FORKED, 1)) == 8
    assert seconds(plan_of(FORKED, 2)) == 5  # the fork, three of one branch, the join


def test_what_is_short_is_not_handed_over() -> None:
    """A branch of a few bytes would be done before another stream has heard of it."""
    assert len({*streams_of(plan_of(FORKED, 2, SMALL)).values()}) == 1


def test_products_of_few_bytes_are_parted() -> None:
    """Two branches of square matrices take long for what they read."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    x = builder.input("x", TensorSpec((192, 192), "float32"))  # 144 KiB
    for branch in "ab":
        y = x
        for number in range(3):
            flags = {"transpose_a": branch == "b"}
            (y,) = builder.op("matmul", [y, x], name=f"{branch}{number}", attrs=flags)
        builder.output(branch, y)
    registry = BackendRegistry.from_modules({"far": far(("matmul",))})
    concurrency = Concurrency(compute_streams=2)
    plan = compile_job(builder.finish(), registry, verify=True, concurrency=concurrency).plan
    assert len({*streams_of(plan).values()}) == 2


def test_a_chain_stays_on_its_stream() -> None:
    """Ops that wait for each other gain nothing by another stream."""
    plan = plan_of([["x"], ["0"], ["1"], ["2"]], 4)
    assert {*streams_of(plan).values()} == {0}
    assert len(plan.actors) == len(plan_of([["x"]], 1).actors)


def test_one_stream_is_what_the_device_says() -> None:
    """Nobody who did not ask gets other streams or other chains."""
    plan = plan_of(FORKED, 1)
    assert {*streams_of(plan).values()} == {0}
    assert [len(actor.tasks) for actor in plan.actors] == [1, 1, 8, 1, 1]
