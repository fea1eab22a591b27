"""Trace files keep to the documented format: phases, keys, nesting, arrows that begin and end."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from golden_jobs import JOBS
from measured import plan_of, simulated, spans_of

from headrace.timeline import chrome_events

RUNS = pytest.mark.parametrize(("job", "seed"), [(job, seed) for job in JOBS for seed in range(3)])

KEYS = {
    "M": {"name", "ph", "pid", "args"},
    "X": {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"},
    "b": {"name", "cat", "ph", "id", "ts", "pid"},
    "e": {"name", "cat", "ph", "id", "ts", "pid"},
    "s": {"name", "cat", "ph", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "ph", "id", "bp", "ts", "pid", "tid"},
    "C": {"name", "ph", "ts", "pid", "args"},
}

Event = dict[str, Any]


def events_of(job: str, seed: int) -> list[Event]:
    plan = plan_of(job)
    return chrome_events(plan, simulated(plan, 3, seed))


def ns(microseconds: float) -> int:
    """Times are written in microseconds with three digits after the point."""
    assert microseconds == pytest.approx(round(microseconds, 3), abs=1e-9)
    return round(microseconds * 1000)


def slices(events: list[Event]) -> dict[tuple[int, int], list[tuple[int, int, Event]]]:
    """Begin, end and event of what each thread did, in order."""
    found: dict[tuple[int, int], list[tuple[int, int, Event]]] = {}
    for event in events:
        if event["ph"] == "X":
            begin = ns(event["ts"])
            lane = found.setdefault((event["pid"], event["tid"]), [])
            lane.append((begin, begin + ns(event["dur"]), event))
    for lane in found.values():
        lane.sort(key=lambda piece: piece[:2])
    return found


@RUNS
def test_every_event_has_the_keys_of_its_phase(job: str, seed: int) -> None:
    """And no others but a thread for names of threads; every thread and process has a name."""
    events = events_of(job, seed)
    for event in events:
        assert event.keys() - {"tid"} == KEYS[event["ph"]] - {"tid"}
        assert isinstance(event["pid"], int)
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] in "Xsf"} == named
    processes = [e["pid"] for e in events if e["name"] == "process_name"]
    assert {e["pid"] for e in events} == set(processes)
    assert len(processes) == len(set(processes))


@RUNS
def test_slices_of_a_thread_never_overlap(job: str, seed: int) -> None:
    """Viewers take those that do apart, or drop them."""
    for lane in slices(events_of(job, seed)).values():
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(lane))


@RUNS
def test_calls_begin_and_end_once(job: str, seed: int) -> None:
    """With one id, around all their tasks."""
    events = events_of(job, seed)
    begins = {e["id"]: ns(e["ts"]) for e in events if e["ph"] == "b"}
    ends = {e["id"]: ns(e["ts"]) for e in events if e["ph"] == "e"}
    assert len(begins) == len(ends) == 3
    for lane in slices(events).values():
        for begin, end, event in lane:
            call = event["args"]["call"]
            assert begins[call] <= begin <= end <= ends[call]


@RUNS
def test_an_arrow_leads_from_one_slice_to_a_later_one_on_another_thread(
    job: str, seed: int
) -> None:
    """Each id once at either end; both ends lie in a slice, as the format wants it."""
    events = events_of(job, seed)
    lanes = slices(events)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    finishes = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == finishes.keys()
    assert len(starts) + len(finishes) == sum(e["ph"] in "sf" for e in events)
    for number, start in starts.items():
        finish = finishes[number]
        assert (start["name"], start["cat"]) == (finish["name"], finish["cat"])
        assert (start["pid"], start["tid"]) != (finish["pid"], finish["tid"])
        assert ns(start["ts"]) <= ns(finish["ts"])
        assert finish["bp"] == "e"
        for end in (start, finish):
            at = ns(end["ts"])
            around = [
                event
                for first, last, event in lanes[end["pid"], end["tid"]]
                if event["cat"] != "wait" and first <= at < max(last, first + 1)
            ]
            assert len(around) == 1
            names = around[0]["args"]["writes" if end is start else "reads"]
            assert any(name.split(":")[0] == end["name"].split(":")[0] for name in names)


def test_waits_copies_and_arrows_are_there() -> None:
    """Eight arrows between the nine tasks; the one within a stream has none."""
    plan = plan_of("two_devices")
    events = chrome_events(plan, spans_of(plan))
    arrows = [e["name"] for e in events if e["ph"] == "s"]
    assert arrows == [
        "x", "x@far:0", "first/y", "first/y@cpu:0", "second/y", "second/y@far:0", "third/y",
        "third/y@cpu:0",
    ]  # fmt: skip
    waits = [e for e in events if e.get("cat") == "wait"]
    assert {e["name"] for e in waits} == {"wait for inputs", "ready, not begun"}
    (longest,) = [e for e in waits if e["dur"] == 0.111]
    assert longest["args"] == {
        "task": "foreign_output y",
        "call": "call 1",
        "of": "copy_d2h third/y@cpu:0",
    }


@RUNS
def test_counters_end_at_nothing(job: str, seed: int) -> None:
    """One for each chunk that anything is in, never below zero, in the order of time."""
    counters: dict[tuple[int, str], list[Event]] = {}
    for event in events_of(job, seed):
        if event["ph"] == "C":
            counters.setdefault((event["pid"], event["name"]), []).append(event)
    assert counters
    for points in counters.values():
        values = [point["args"]["bytes"] for point in points]
        assert min(values) >= 0
        assert max(values) > 0
        assert values[-1] == 0
        assert [p["ts"] for p in points] == sorted(p["ts"] for p in points)
