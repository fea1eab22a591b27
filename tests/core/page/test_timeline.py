"""The timeline of the page says what the spans say: times, shares, waits, lives, calls."""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest
from golden_jobs import JOBS
from measured import plan_of, simulated, spans_of

from headrace.page import render_page
from headrace.plan import Plan
from headrace.timeline import TaskSpan, lives, waits

KINDS = pytest.mark.parametrize("job", JOBS)


def data_of(plan: Plan, spans: tuple[TaskSpan, ...]) -> dict[str, Any]:
    text = render_page(plan, spans=spans)
    data = text.partition('type="application/json">')[2].partition("</script>")[0]
    loaded: dict[str, Any] = json.loads(data)
    return loaded


@KINDS
def test_every_span_is_there(job: str) -> None:
    """Once, in its lane, at its time after the first launch."""
    plan = plan_of(job)
    spans = simulated(plan, 3, 1)
    start = min(span.begin_ns for span in spans)
    timeline = data_of(plan, spans)["timeline"]
    numbers = [number for _, _, _, number in timeline["calls"]]
    shown = [
        TaskSpan(task, numbers[call], begin + start, begin + start + ns)
        for lane in timeline["lanes"]
        for task, call, begin, ns in zip(
            lane["task"], lane["call"], lane["begin"], lane["ns"], strict=True
        )
    ]
    assert len(shown) == len(spans)
    assert set(shown) == set(spans)


@KINDS
def test_calls_have_their_length_and_their_median(job: str) -> None:
    """The median is that of one call, not between two."""
    plan = plan_of(job)
    spans = simulated(plan, 4, 1)
    timeline = data_of(plan, spans)["timeline"]
    lengths = []
    for name, begin, end, number in timeline["calls"]:
        jobs = {plan.jobs[job].name: job for job in plan.calls().values()}
        called = jobs.get(name.removesuffix(f" {number}"), 0)
        mine = [
            span
            for span in spans
            if (plan.jobs[plan.tasks[span.task].job].serves, span.number) == (called, number)
        ]
        lengths.append(max(s.end_ns for s in mine) - min(s.begin_ns for s in mine))
        assert end - begin == lengths[-1]
    assert timeline["call_ns"] == [
        statistics.median_low(lengths),
        min(lengths),
        max(lengths),
    ]


def test_tasks_have_their_share() -> None:
    """``first`` took 30 of the 114 ns of all tasks, in each of two calls."""
    plan = plan_of("two_devices")
    timeline = data_of(plan, spans_of(plan, calls=2))["timeline"]
    first = [task.name for task in plan.tasks].index("first")
    count, median, least, most, a_call, share = timeline["tasks"][str(first)]
    assert (count, median, least, most, a_call) == (2, 30, 30, 30, 30)
    assert share == pytest.approx(30 / 114)
    assert timeline["longest"][0] == first
    what, device, number, seconds, of_all = timeline["kinds"][0]
    assert (what, device, number) == ("add", "far:0", 2)
    assert (seconds, of_all) == (pytest.approx(45e-9), pytest.approx(45 / 114))
    far = next(lane for lane in timeline["lanes"] if lane["stream"] == "stream 0")
    assert far["share"] == pytest.approx([45 / 120, 55 / 120, 0, 20 / 120])


@KINDS
def test_waits_and_lives_are_those_of_the_spans(job: str) -> None:
    """None is lost between the analysis and the page."""
    plan = plan_of(job)
    spans = simulated(plan, 3, 2)
    timeline = data_of(plan, spans)["timeline"]
    idle, alive = waits(plan, spans), lives(plan, spans)
    assert sum(sum(lane["waits"]["ns"]) for lane in timeline["lanes"]) == sum(w.ns for w in idle)
    assert sum(len(chunk["register"]) for chunk in timeline["held"]) == len(alive)
    for chunk in timeline["held"]:
        assert chunk["most"] == max(chunk["curve"][1::2])
        assert chunk["begin"] == sorted(chunk["begin"])


def test_a_plan_that_nobody_ran_has_no_timeline() -> None:
    """Its page begins with the overview."""
    assert data_of(plan_of("chain"), ())["timeline"] is None


def test_equal_spans_have_equal_pages() -> None:
    """Byte for byte."""
    plan = plan_of("sharded_2x2")
    spans = simulated(plan, 2, 5)
    assert render_page(plan, spans=spans) == render_page(plan, spans=spans)


def test_a_long_run_costs_some_hundred_bytes_a_task() -> None:
    """Span, wait and life of a task take less than 200 bytes."""
    plan = plan_of("two_devices")
    small, large = (len(render_page(plan, spans=spans_of(plan, calls=n))) for n in (100, 200))
    assert (large - small) / (100 * len(plan.tasks)) < 200
