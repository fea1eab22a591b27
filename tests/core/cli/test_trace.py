"""``headrace trace``: a table on stdout, files where they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

MODEL = model(
    [node("Add", "x x", "t"), node("Relu", "t", "y")],
    inputs=(info("x", (3,)),),
    outputs=(info("y", (3,)),),
)


def test_it_prints_where_the_time_went(headrace: Headrace, save: Save) -> None:
    """A line for each kind of task, with its count in a call."""
    result = headrace("trace", save(MODEL), "--device", "near", "--calls", 3)
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    counts = {tuple(row[:2]): row[2] for row in rows if len(row) == 5}
    assert counts["add", "near:0"] == "1"
    assert counts["foreign_output", "caller"] == "1"
    assert "ms a call, each task waited for" in result.stdout


def test_a_page_and_a_file_for_viewers_are_written(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """Both in one run; their names go to stderr."""
    page, events = tmp_path / "t.html", tmp_path / "t.json"
    words = ("--device", "near", "--calls", 2, "--html", page, "-o", events)
    result = headrace("trace", save(MODEL), *words)
    assert result.exit_code == 0, result.output
    assert "t.html" in result.stderr
    assert "t.json" in result.stderr
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert json.loads(events.read_text("utf-8"))["displayTimeUnit"] == "ms"


def test_a_folder_that_is_not_there_is_said_before_the_model_runs(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """Nothing was measured yet that could be lost."""
    for option in ("--html", "-o"):
        result = headrace("trace", save(MODEL), option, tmp_path / "none" / "t.html")
        assert result.exit_code == 2
        assert "there is no folder" in result.stderr
        assert result.stdout == ""
