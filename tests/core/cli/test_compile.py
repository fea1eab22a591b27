"""``headrace compile``, and ``headrace run`` of what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from onnx import ModelProto
from onnx_models import INT64, info, model, node
from toy_backends import far

from headrace.frontend.plan_file import read_plan_file, write_plan_file
from headrace.registry.registry import BackendRegistry

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

OPEN = model([node("Add", "x x", "y")], [info("x", ["n", 3])])
RESHAPE = model(
    [node("Reshape", "x s", "y")],
    [info("x", None), info("s", None, INT64)],
)


@pytest.fixture
def plan(headrace: Headrace, save: Save, tmp_path: Path) -> Path:
    """The plan of ``OPEN`` for two rows, on the second device of ``near``."""
    path = tmp_path / "two.plan"
    done = headrace("compile", save(OPEN), "--device", "near:1", "--input", "x=2,3", "-o", path)
    assert done.exit_code == 0, done.output
    assert "for near:1 -> " in done.stdout
    return path


def test_a_plan_runs_like_a_model(headrace: Headrace, plan: Path) -> None:
    """Where it was compiled for; the same seed gives the same numbers."""
    ran = headrace("run", plan, "--random-inputs", 3)
    assert ran.exit_code == 0, ran.output
    row, times = ran.stdout.splitlines()[2], ran.stdout.splitlines()[-1]
    assert row.split()[:4] == ["y", "float32", "[2,", "3]"]
    assert times.startswith("ready in ")
    assert times.endswith("on near:1")
    of_model = headrace(
        "run", plan.parent / "model.onnx", "--device", "near", "--dim", "n=2", "--random-inputs", 3
    )
    assert of_model.stdout.splitlines()[2] == row


def test_options_that_a_plan_has_no_use_for_are_refused(headrace: Headrace, plan: Path) -> None:
    """Rather than skipped in silence."""
    for words, message in (
        (("--dim", "n=3"), "a plan takes no --dim"),
        (("--fallback", "allow"), "no --fallback"),
        (("--device", "far"), "was compiled for near:1, not for far"),
        ((), "the plan needs --input x=FILE.npy, or --random-inputs SEED"),
        (("--input", "z=a.npy"), "the model's inputs are 'x'"),
    ):
        done = headrace("run", plan, *words)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
    assert headrace("run", plan, "--device", "near:1", "--random-inputs", 1).exit_code == 0


def test_a_damaged_plan_is_one_line(headrace: Headrace, plan: Path) -> None:
    """It says which file, what is wrong with it, and the next step."""
    plan.write_bytes(plan.read_bytes()[:-1])
    done = headrace("run", plan, "--random-inputs", 1)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {plan}: is damaged or cut short: it has ")
    assert line.endswith("compile the model again (headrace compile)")


def test_a_plan_of_another_version_is_one_line(headrace: Headrace, plan: Path) -> None:
    """What it was compiled with, what is here, and what to do."""
    file = read_plan_file(plan)
    older = file.saved._replace(versions=file.saved.versions._replace(core="0.0.1"))
    write_plan_file(plan, older, list(file.weights.values()))
    done = headrace("run", plan, "--random-inputs", 1)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {plan}: was compiled with headrace 0.0.1, and here is ")
    assert line.endswith("compile it again, or install what it was compiled with")


def test_a_plan_for_a_device_that_is_not_here_is_one_line(
    headrace: Headrace, plan: Path, install: Callable[[BackendRegistry], object]
) -> None:
    """The file, the device, what there is instead, and what to do; as bad input."""
    install(BackendRegistry.from_modules({"far": far()}))
    done = headrace("run", plan, "--random-inputs", 1)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {plan}: was compiled for a device that cannot be had: ")
    assert "'near'" in line
    assert "far" in line


def test_a_value_that_decides_shapes_becomes_part_of_the_plan(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """It need not be fed any more; fed another value, the plan says so."""
    plan = tmp_path / "plan"
    for number, value in enumerate(([3, 2], [6, 1])):
        np.save(tmp_path / f"{number}.npy", np.array(value))
    words = ("compile", save(RESHAPE), "--device", "near", "--input", "x=2,3", "-o", plan)
    done = headrace(*words, "--input", "s=2")
    assert done.exit_code == 1
    assert "give arrays for them, not only specs" in done.stderr
    assert not plan.exists()
    assert headrace(*words, "--input", f"s={tmp_path}/0.npy").exit_code == 0
    for fed in ((), ("--input", f"s={tmp_path}/0.npy")):
        done = headrace("run", plan, "--random-inputs", 0, *fed)
        assert done.stdout.splitlines()[2].split()[:4] == ["y", "float32", "[3,", "2]"]
    done = headrace("run", plan, "--random-inputs", 0, "--input", f"s={tmp_path}/1.npy")
    assert done.exit_code == 2
    assert "input 's' decided shapes when the plan was compiled, for the value [3 2]" in done.stderr


def test_open_dimensions_are_sized_by_name(
    headrace: Headrace, save: Save, tmp_path: Path, registry: BackendRegistry
) -> None:
    """As for ``headrace run``."""
    words = ("compile", save(OPEN), "--device", "near", "-o", tmp_path / "plan", "--dim", "n=5")
    assert headrace(*words).exit_code == 0
    shown = headrace("run", tmp_path / "plan", "--random-inputs", 0).stdout
    assert "[5, 3]" in shown
