"""Bytes in use over time, against a count byte by byte."""

from __future__ import annotations

import numpy as np
import pytest
from golden_jobs import JOBS
from measured import plan_of, simulated, spans_of

from headrace.plan import Plan
from headrace.timeline import TaskSpan, held, lives

RUNS = pytest.mark.parametrize(("job", "seed"), [(job, seed) for job in JOBS for seed in range(2)])


def test_a_register_lives_from_its_writer_to_its_last_reader() -> None:
    """By hand: what is alive together in the far device's memory, 24 bytes each."""
    plan = plan_of("two_devices")
    alive = lives(plan, spans_of(plan))
    far = next(i for i, chunk in enumerate(plan.chunks) if chunk.memory.tag == "far")
    mine = {
        plan.registers[life.register].name: (life.begin_ns, life.end_ns)
        for life in alive
        if plan.registers[life.register].chunk == far
    }
    assert mine == {
        "x@far:0": (112, 152),
        "first/y": (122, 200),
        "second/y@far:0": (175, 200),
        "third/y": (185, 211),
    }
    curve = ((112, 24), (122, 48), (152, 24), (175, 48), (185, 72), (200, 24), (211, 0))
    assert held(plan, alive)[far] == curve


def test_weights_and_variables_have_no_life() -> None:
    """They are there before the first call and after the last one."""
    plan = plan_of("variable")
    names = {plan.registers[life.register].name for life in lives(plan, simulated(plan, 2, 0))}
    assert names == {"x", "next/y", "shown/y"}


@RUNS
def test_bytes_in_use_are_those_of_a_count_byte_by_byte(job: str, seed: int) -> None:
    """Views keep what they show; what is written over something counts once."""
    plan = plan_of(job)
    spans = simulated(plan, 3, seed)
    curves = held(plan, lives(plan, spans))
    for number, chunk in enumerate(plan.chunks):
        moments = [time for time, _ in curves.get(number, ())]
        wanted = np.zeros(len(moments), int)
        for place, time in enumerate(moments):
            used = np.zeros(chunk.nbytes, bool)
            for begin, end in in_use(plan, spans, number, time):
                used[begin:end] = True
            wanted[place] = used.sum()
        np.testing.assert_array_equal([nbytes for _, nbytes in curves.get(number, ())], wanted)
        assert not moments or curves[number][-1][1] == 0


def in_use(plan: Plan, spans: tuple[TaskSpan, ...], chunk: int, time: int) -> list[tuple[int, int]]:
    """The ranges that somebody needs from a moment on, by looking at every register and span."""
    lasting = plan.persistent()
    shown_by: dict[int, set[int]] = {}
    for task in plan.tasks:
        if task.kind.value == "view" and task.inputs[0] is not None:
            shown_by.setdefault(task.inputs[0], set()).update(task.outputs)
    ranges = []
    for register, desc in enumerate(plan.registers):
        if desc.chunk != chunk or desc.constant is not None or register in lasting:
            continue
        names = {register}
        while more := set().union(*(shown_by.get(name, set()) for name in names)) - names:
            names |= more
        for number in {span.number for span in spans}:
            of_call = [span for span in spans if span.number == number]
            made = [s for s in of_call if register in written(plan, s)]
            if not made:
                continue
            reads = [s for s in of_call if names & set(plan.tasks[s.task].inputs)]
            end = max(span.end_ns for span in made + reads)
            if made[0].begin_ns <= time < end:
                offset = desc.offset + number % desc.slots * desc.stride
                ranges.append((offset, offset + desc.spec.nbytes))
    return ranges


def written(plan: Plan, span: TaskSpan) -> set[int]:
    task = plan.tasks[span.task]
    return {*task.outputs, *([] if task.workspace is None else [task.workspace])}
