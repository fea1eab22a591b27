"""What every stage makes of a handful of small jobs is as the golden files show.

``pytest tests/core/compiler/test_golden.py --rewrite-golden`` writes them anew; read the diff.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from golden_jobs import JOBS, golden_text, stages

from headrace.compiler.pipeline import STAGES
from headrace.errors import InputError
from headrace.frontend.stages import line_changes, stage_text

GOLDEN = Path(__file__).with_name("golden")
SHARED = Path(__file__).parents[1]  # where golden_jobs.py is


@pytest.mark.parametrize("job", JOBS)
def test_every_stage_is_as_the_golden_file(job: str, request: pytest.FixtureRequest) -> None:
    """Job graphs after each pass, op graph, task graph, chains, memory plan and plan."""
    file = GOLDEN / f"{job}.txt"
    text = golden_text(job)
    if request.config.getoption("--rewrite-golden"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


def test_every_golden_file_has_its_job() -> None:
    """A job that is renamed leaves no file behind."""
    assert {file.stem for file in GOLDEN.iterdir()} == set(JOBS)


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_texts_do_not_depend_on_the_order_of_hashes(seed: str) -> None:
    """Another process whose hashes differ prints the same."""
    code = "import golden_jobs as g; print(''.join(map(g.golden_text, g.JOBS)), end='')"
    path = os.pathsep.join([str(SHARED), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "".join((GOLDEN / f"{job}.txt").read_text("utf-8") for job in JOBS)


def test_stages_come_in_the_order_that_is_documented() -> None:
    """A job without plugin passes has exactly the stages of the table; others have theirs too."""
    assert tuple(stage.name for stage in stages("chain")) == STAGES
    names = [stage.name for stage in stages("plugin_pass")]
    assert [name for name in names if name not in STAGES] == ["hello.fuse", "hello.idle"]
    assert names.index("shard_ops") < names.index("hello.fuse") < names.index("lower_ops")


def test_one_stage_is_shown_alone() -> None:
    """Its lines and no others."""
    (shown,) = (s.text() for s in stages("diamond") if s.name == "chains")
    assert "\n".join(stage_text(stages("diamond"), "chains")) + "\n" == shown


def test_changes_are_shown_alone() -> None:
    """Each pass with the lines that it took away and brought; one that did nothing, in one line."""
    lines = list(stage_text(stages("plugin_pass"), "changes"))
    start = lines.index("== hello.fuse: 1 ops")
    assert lines[start : start + 4] == [
        "== hello.fuse: 1 ops",
        "-   total on hello 0:0: add(x, z) -> total/y: float32[2, 3]",
        "-   positive on hello 0:0: relu(total/y) -> positive/y: float32[2, 3]",
        "+   positive on hello 0:0: hello.add_relu(x, z) {gain=1.0} -> positive/y: float32[2, 3]",
    ]
    assert "== hello.idle: nothing to do" in lines
    assert not any("task" in line for line in lines)


def test_a_stage_that_is_not_there_is_refused_with_those_that_are() -> None:
    """The message lists them in order, those of plugins too."""
    with pytest.raises(InputError, match=r"no stage 'fuse'; it has building, .*hello\.fuse.*plan"):
        list(stage_text(stages("plugin_pass"), "fuse"))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("abc", "abc", ""),
        ("abc", "ac", "-b"),
        ("ac", "abc", "+b"),
        ("", "ab", "+a +b"),
        ("ab", "", "-a -b"),
        ("abcd", "axyd", "-b -c +x +y"),
        ("abc", "cab", ""),
    ],
)
def test_changes_of_lines(before: str, after: str, changes: str) -> None:
    """What went stands before what came in its place; what moved is no change."""
    assert [c.replace(" ", "") for c in line_changes(before, after)] == changes.split()
