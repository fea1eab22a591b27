"""``headrace plan``: stages of compiling as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node

from headrace.compiler.pipeline import STAGES

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

MODEL = model(
    [node("Add", "x x", "t"), node("Relu", "t", "y"), node("Relu", "x", "unread")],
    inputs=(info("x", (3,)),),
    outputs=(info("y", (3,)),),
)


def test_help_lists_the_stages(headrace: Headrace) -> None:
    """All of them, in their order."""
    words = headrace("plan", "--help").stdout.replace(",", "").replace(".", "").split()
    start = words.index(STAGES[0])
    listed = [word for word in words[start:] if word in STAGES]
    assert tuple(listed[: len(STAGES)]) == STAGES


def test_one_stage_is_printed(headrace: Headrace, save: Save) -> None:
    """Its text alone, as a session gives it."""
    result = headrace("plan", save(MODEL), "--device", "near", "--stage", "op_graph")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "op graph 'model.onnx'",
        "  add_0 on near 0:0: add(x as B, x as B) -> add_0/y as B",
        "  relu_0 on near 0:0: relu(add_0/y as B) -> relu_0/y as B",
    ]


def test_changes_and_all_stages_are_printed(headrace: Headrace, save: Save) -> None:
    """A title for each; passes that found nothing to do have no more than that."""
    changes = headrace("plan", save(MODEL), "--device", "near", "--stage", "changes").stdout
    assert "== merge_equal_ops: nothing to do\n== cancel_moves: nothing to do" in changes
    everything = headrace("plan", save(MODEL), "--device", "near", "--stage", "all").stdout
    titles = [line for line in everything.splitlines() if line.startswith("== ")]
    assert [title[3:].partition(":")[0] for title in titles] == list(STAGES)


def test_a_page_is_written(headrace: Headrace, save: Save, tmp_path: Path) -> None:
    """To the file alone; stdout stays empty, so that a stage can be piped beside it."""
    page = tmp_path / "plan.html"
    result = headrace("plan", save(MODEL), "--device", "near", "--html", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert page.name in result.stderr
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert '"add_0"' in text


def test_a_page_that_cannot_be_written(headrace: Headrace, save: Save, tmp_path: Path) -> None:
    """Is said at once, with the folder that is missing."""
    page = tmp_path / "missing" / "plan.html"
    result = headrace("plan", save(MODEL), "--device", "near", "--html", page)
    assert result.exit_code == 2
    assert f"there is no folder '{page.parent}'" in result.stderr


def test_a_plan_file_is_shown_as_the_model_is(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """The text is that of the model it was compiled from, and so are the page's figures."""
    model, file, page = save(MODEL), tmp_path / "model.plan", tmp_path / "plan.html"
    compiled = headrace("compile", model, "--device", "near", "-o", file)
    assert compiled.exit_code == 0, compiled.output
    shown = headrace("plan", file)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == headrace("plan", model, "--device", "near").stdout
    assert headrace("plan", file, "--html", page).exit_code == 0
    assert '"add_0"' in page.read_text("utf-8")
    refused = headrace("plan", file, "--stage", "chains")
    assert refused.exit_code == 2
    assert "it is compiled already" in refused.stderr


def test_a_stage_that_is_not_there(headrace: Headrace, save: Save) -> None:
    """Wrong input: code 2, and the stages that there are."""
    result = headrace("plan", save(MODEL), "--device", "near", "--stage", "memory")
    assert result.exit_code == 2
    assert "no stage 'memory'; it has building, " in result.stderr
