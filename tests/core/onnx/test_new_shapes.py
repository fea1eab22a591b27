"""Inputs of a shape that a model has not met: its weights are not read again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import info, model, node

from headrace.errors import InputError, ModelError
from headrace.onnx import Model
from headrace.onnx.file.content import FileContent
from headrace.tensor_spec import Array

Load = Callable[..., Model]

_NUMBERS = np.random.default_rng(0)
WEIGHT = _NUMBERS.normal(size=(64, 48)).astype(np.float32)
TABLE = _NUMBERS.normal(size=(40, 48)).astype(np.float32)
WEIGHTS: dict[str, Any] = {
    "w": WEIGHT,
    "table": TABLE,
    "zero": np.array([0]),
    "axes": np.array([0]),
    "factor": np.float32(0.5),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A model that multiplies rows, and adds as many rows of a table as there are."""
    nodes = [
        node("Mul", "w factor", "scaled"),
        node("MatMul", "x scaled", "product"),
        node("Shape", "x", "end", end=1),
        node("Slice", "table zero end axes", "rows"),
        node("Add", "product rows", "y"),
    ]
    made = model(nodes, inputs=[info("x", ["n", 64])], weights=WEIGHTS)
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def rows(count: int) -> Array:
    return np.random.default_rng(count).normal(size=(count, 64)).astype(np.float32)


def run(loaded: Model, count: int) -> Array:
    return loaded.run({"x": rows(count)})["y"]


@pytest.mark.parametrize("plan_cache", [False, True])
def test_results_are_those_of_a_model_that_met_no_other(
    path: Path, load_near: Load, plan_cache: bool
) -> None:
    """Bit by bit, and as numpy computes them."""
    loaded = load_near(path, plan_cache=plan_cache)
    for count in (5, 1, 40, 7, 5):
        y = run(loaded, count)
        np.testing.assert_array_equal(y, run(load_near(path, plan_cache=False), count))
        wanted = rows(count) @ (WEIGHT * np.float32(0.5)) + TABLE[:count]
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(sys.platform == "win32", reason="files are held there, not read")
def test_weights_that_jobs_hold_are_not_read_again(
    path: Path, load_near: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what jobs before let go of, from the second time on."""
    loaded = load_near(path, plan_cache=False)
    for count in (5, 6, 7):
        run(loaded, count)
    real, read = FileContent.fill, []

    def fill(self: FileContent, memory: memoryview, start: int) -> None:
        read.append(len(memory))
        real(self, memory, start)

    monkeypatch.setattr(FileContent, "fill", fill)
    run(loaded, 8)
    assert read == []


def test_callers_with_different_new_shapes_get_their_results(path: Path, load_near: Load) -> None:
    """At the same time, each more than once."""
    loaded = load_near(path, plan_cache=False, jobs=4)
    counts = [*range(1, 17)] * 2
    wanted = {count: run(load_near(path, plan_cache=False), count) for count in set(counts)}
    with ThreadPoolExecutor(8) as callers:
        made = list(callers.map(lambda count: run(loaded, count), counts))
    for count, y in zip(counts, made, strict=True):
        np.testing.assert_array_equal(y, wanted[count])


def test_a_shape_that_will_not_do_harms_no_other(path: Path, load_near: Load) -> None:
    """The table has too few rows for it, or the model takes no such thing; others go on."""
    loaded = load_near(path, plan_cache=False)
    before = run(loaded, 5)
    wrong: list[Any] = [rows(41), np.zeros((3, 63), np.float32)]
    for x in wrong:
        with pytest.raises((ModelError, InputError), match=r"m\.onnx"):
            loaded.run({"x": x})
    np.testing.assert_array_equal(run(loaded, 5), before)
    assert run(loaded, 6).shape == (6, 48)
