"""The suite of the runtime passes under fifty seeds, and finds every planted bug under some."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from mutants import MUTANTS, SEEDS, Mutant
from scenarios import SCENARIOS
from small_jobs import JOBS, executor
from watched import watched


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_runtime_passes(name: str) -> None:
    """Nothing is planted, nothing is found: no wrong number, no leak, no thread, no deadlock."""
    for seed in range(SEEDS):
        SCENARIOS[name](seed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    """By its scenario, under one of the seeds."""
    assert mutant.seed_that_finds_it() is not None, mutant.plant.__doc__


def test_every_mutant_says_what_it_stands_for() -> None:
    """Owner, repository and number of a public thread; no two mutants have one name."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25
    for mutant in MUTANTS:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", mutant.stands_for), mutant.name
        assert mutant.plant.__doc__


def test_the_page_lists_them_all() -> None:
    """One row for each, with what it does, what it stands for, and what finds it."""
    page = (Path(__file__).parents[3] / "docs" / "mutants.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [row(mutant) for mutant in MUTANTS]


def row(mutant: Mutant) -> str:
    repository, number = mutant.stands_for.split("#")
    thread = f"[{mutant.stands_for}](https://github.com/{repository}/issues/{number})"
    says = str(mutant.plant.__doc__).rstrip(".")
    return f"| `{mutant.name}` | {says} | {thread} | {mutant.found_by} |"


def test_one_seed_gives_one_trace() -> None:
    """Switch for switch on the host, and piece for piece on the devices, in time and in order."""

    def trace(seed: int) -> object:
        job = JOBS["two devices"]
        with watched(seed) as (schedule, seen), closing(executor(job.name, 2)) as ready:
            for call in [ready.submit(job.feeds(number)) for number in range(3)]:
                call.wait()
        return schedule.log, seen.spans, seen.done

    trace(0)  # the first run of a process loads the plugin, which takes locks as well
    traces = [trace(seed) for seed in range(5)]
    assert [trace(seed) for seed in range(5)] == traces
    assert len({str(one) for one in traces}) == 5
