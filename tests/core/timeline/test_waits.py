"""Why streams stood still, and where the time went."""

from __future__ import annotations

import itertools

import pytest
from golden_jobs import JOBS
from measured import plan_of, simulated, spans_of

from headrace.plan import Plan
from headrace.timeline import (
    TaskSpan,
    WaitKind,
    by_kind,
    by_lane,
    by_task,
    call_spans,
    lanes,
    sources,
    waits,
)

CALLS = [(job, seed) for job in JOBS for seed in range(3)]
RUNS = pytest.mark.parametrize(("job", "seed"), CALLS)


def test_waits_are_for_the_last_input_and_then_for_a_turn() -> None:
    """Told from hand-written times: when the stream was free, and when what it reads was there."""
    plan = plan_of("two_devices")
    names = [task.name for task in plan.tasks]
    found = [
        (
            str(wait.lane),
            wait.kind.value,
            names[wait.task],
            "" if wait.source is None else names[wait.source],
            (wait.begin_ns, wait.end_ns),
        )
        for wait in waits(plan, spans_of(plan))
    ]
    assert found == [
        ("far:0, stream 0", "inputs", "first", "copy_h2d x@far:0", (100, 122)),
        ("far:0, stream 0", "inputs", "third", "copy_h2d second/y@far:0", (152, 185)),
        ("far:0, stream 1", "inputs", "copy_h2d x@far:0", "foreign_input x", (100, 110)),
        ("far:0, stream 1", "ready", "copy_h2d x@far:0", "", (110, 112)),
        ("far:0, stream 1", "inputs", "copy_h2d second/y@far:0", "second", (122, 175)),
        ("far:0, stream 2", "inputs", "copy_d2h first/y@cpu:0", "first", (100, 152)),
        ("far:0, stream 2", "inputs", "copy_d2h third/y@cpu:0", "third", (162, 200)),
        ("far:0, stream 2", "ready", "copy_d2h third/y@cpu:0", "", (200, 201)),
        ("near:0, stream 0", "inputs", "second", "copy_d2h first/y@cpu:0", (100, 162)),
        ("near:0, stream 0", "ready", "second", "", (162, 165)),
        ("caller, results", "inputs", "foreign_output y", "copy_d2h third/y@cpu:0", (100, 211)),
    ]


def test_nobody_waits_between_calls() -> None:
    """The second call begins anew: its waits are those of the first, as much later."""
    plan = plan_of("two_devices")
    once, twice = waits(plan, spans_of(plan)), waits(plan, spans_of(plan, calls=2))
    assert len(twice) == 2 * len(once)
    later = [(w.lane, w.kind, w.begin_ns - 300, w.end_ns - 300) for w in twice if w.number == 2]
    assert later == [(w.lane, w.kind, w.begin_ns, w.end_ns) for w in once]


def test_what_a_stream_did_adds_up_to_the_call() -> None:
    """45 of 120 ns busy, 55 waiting for inputs, and nothing to do in the last 20."""
    plan = plan_of("two_devices")
    spans = spans_of(plan)
    times = {str(t.lane): t for t in by_lane(plan, spans, waits(plan, spans))}
    far = times["far:0, stream 0"]
    assert (far.busy_ns, far.inputs_ns, far.ready_ns, far.over_ns) == (45, 55, 0, 20)
    near = times["near:0, stream 0"]
    assert (near.busy_ns, near.inputs_ns, near.ready_ns, near.over_ns) == (10, 62, 3, 45)


def test_kinds_and_tasks_are_summed_and_the_largest_come_first() -> None:
    """Over two calls: adds took 2 * 45 of 2 * 114 ns."""
    plan = plan_of("two_devices")
    spans = spans_of(plan, calls=2)
    kinds = by_kind(plan, spans)
    first = kinds[0]
    assert (first.what, first.device, first.count) == ("add", "far:0", 4)
    assert first.seconds == pytest.approx(90e-9)
    assert first.share == pytest.approx(90 / 228)
    assert sum(kind.share for kind in kinds) == pytest.approx(1)
    task = by_task(spans)[0]
    assert plan.tasks[task.task].name == "first"
    assert (task.count, task.total_ns, task.median_ns) == (2, 60, 30)


def test_a_variable_is_what_the_call_before_left() -> None:
    """And of the jobs that give it a value, the one that was called."""
    plan = plan_of("variable")
    names = [task.name for task in plan.tasks]
    needs = {
        (names[source.task], source.calls_ago) for source in sources(plan)[names.index("next")]
    }
    assert needs == {("foreign_input x", 0), ("assign total", 1)}


def test_a_view_is_seen_through() -> None:
    """Who reads it waits for what made the bytes."""
    plan = plan_of("diamond")
    names = [task.name for task in plan.tasks]
    needs = sources(plan)
    assert [names[s.task] for s in needs[names.index("right_relu")]] == ["top"]
    assert [names[s.task] for s in needs[names.index("bottom")]] == ["top", "right_relu"]
    assert needs[names.index("left")] == ()


@RUNS
def test_tasks_and_waits_of_a_lane_never_overlap(job: str, seed: int) -> None:
    """Also where several calls are under way at once; parts of a lane's time add up to theirs."""
    plan = plan_of(job)
    spans = simulated(plan, 4, seed)
    idle = waits(plan, spans)
    for lane, mine in lanes(plan, spans).items():
        pieces: list[tuple[int, int]] = [(s.begin_ns, s.end_ns) for s in mine]
        pieces += [(w.begin_ns, w.end_ns) for w in idle if w.lane == lane]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(sorted(pieces)))
    under_way = sum(call.end_ns - call.begin_ns for call in call_spans(plan, spans))
    for time in by_lane(plan, spans, idle):
        parts = (time.busy_ns, time.inputs_ns, time.ready_ns, time.over_ns)
        assert min(parts) >= 0
        assert sum(parts) == under_way


@RUNS
def test_a_wait_for_inputs_ends_when_the_last_is_made(job: str, seed: int) -> None:
    """Looked up in the spans, register by register."""
    plan = plan_of(job)
    spans = simulated(plan, 4, seed)
    for wait in waits(plan, spans):
        if wait.kind is WaitKind.INPUTS:
            assert wait.end_ns == max(ends_of_inputs(plan, spans, wait.task, wait.number))
        else:
            assert wait.begin_ns >= max(ends_of_inputs(plan, spans, wait.task, wait.number))


def ends_of_inputs(plan: Plan, spans: tuple[TaskSpan, ...], task: int, number: int) -> list[int]:
    """When each thing that a task reads was made, by looking at every span."""
    view_of: dict[int, int | None] = {
        output: t.inputs[0] for t in plan.tasks if t.kind.value == "view" for output in t.outputs
    }
    ends = [0]
    for register in plan.tasks[task].waits_for:
        seen: int | None = register
        while seen is not None and seen in view_of:
            seen = view_of[seen]
        for span in spans:
            if seen in plan.tasks[span.task].makes and span.task != task:
                ago = 1 if seen in plan.persistent() else 0
                if span.number == number - ago:
                    ends.append(span.end_ns)
    return ends
