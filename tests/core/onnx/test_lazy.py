"""A model lets go of its weights when they are compiled, and reads them again for other shapes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import info, model, node

from headrace.errors import InvalidModelError, ResourceLimitError
from headrace.onnx import Model
from headrace.onnx.file import limits
from headrace.onnx.file.source import open_model

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are kept there, not weights")

WEIGHT = np.arange(3, dtype=np.float32)


def adding(path: Path, weight: Any = WEIGHT) -> None:
    """A model that adds a weight to rows of any number."""
    adds = model([node("Add", "x w", "y")], inputs=[info("x", ["n", 3])], weights={"w": weight})
    onnx.save(adds, path)


def run(loaded: Model, rows: int) -> Any:
    return loaded.run({"x": np.ones((rows, 3), np.float32)})["y"]


@pytest.fixture
def loaded(tmp_path: Path, load_near: Callable[..., Model]) -> Model:
    """A model that was compiled for one row."""
    adding(tmp_path / "m.onnx")
    made = load_near(tmp_path / "m.onnx", plan_cache=False)
    np.testing.assert_array_equal(run(made, 1), WEIGHT[None] + 1)
    return made


def test_another_file_of_the_name_is_not_the_model(loaded: Model, tmp_path: Path) -> None:
    """A file that is replaced or removed stays open: other shapes are those of the model loaded."""
    adding(tmp_path / "new.onnx", WEIGHT * 10)
    os.replace(tmp_path / "new.onnx", tmp_path / "m.onnx")
    np.testing.assert_array_equal(run(loaded, 2), np.tile(WEIGHT + 1, (2, 1)))
    (tmp_path / "m.onnx").unlink()
    np.testing.assert_array_equal(run(loaded, 3), np.tile(WEIGHT + 1, (3, 1)))


def test_a_file_that_was_written_to_is_not_read_again(loaded: Model, tmp_path: Path) -> None:
    """The error says so; what was compiled before runs on."""
    file = tmp_path / "m.onnx"
    with file.open("ab") as end:
        end.write(b"more")
    with pytest.raises(InvalidModelError, match=r"m\.onnx: was written to after it was opened"):
        run(loaded, 2)
    np.testing.assert_array_equal(run(loaded, 1), WEIGHT[None] + 1)


def test_bytes_are_kept(tmp_path: Path, load_near: Callable[..., Model]) -> None:
    """What was given as bytes can be read nowhere again, and serves all shapes."""
    adding(tmp_path / "m.onnx")
    made = load_near((tmp_path / "m.onnx").read_bytes())
    for rows in (1, 2):
        np.testing.assert_array_equal(run(made, rows), np.tile(WEIGHT + 1, (rows, 1)))


def test_a_file_is_closed_with_the_last_who_may_read_it(tmp_path: Path) -> None:
    """One descriptor for what is read, and none when that has gone."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("this system does not list the files that are open")
    file = tmp_path / "m.onnx"
    adding(file)

    def times_open() -> int:
        # The list is of the folder as well, which is closed when it was made.
        links = [link for link in folder.iterdir() if link.exists()]
        return sum(link.resolve() == file for link in links)

    given = open_model(file)
    assert times_open() == 1
    del given
    assert times_open() == 0


LARGE = np.arange(1200, dtype=np.float32).reshape(400, 3)


@pytest.fixture
def beside(tmp_path: Path, load_near: Callable[..., Model]) -> Model:
    """A model of two weights in one file beside it, of which one is large; compiled for one row."""
    weights = {"w": WEIGHT, "table": LARGE}
    nodes = [node("Add", "x w", "t"), node("Add", "t table", "y")]
    adds = model(nodes, inputs=[info("x", ["n", 400, 3])], weights=weights)
    onnx.save_model(
        adds, tmp_path / "m.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    made = load_near(tmp_path / "m.onnx", plan_cache=False)
    np.testing.assert_array_equal(added(made, 1), LARGE[None] + WEIGHT + 1)
    return made


def added(loaded: Model, images: int) -> Any:
    return loaded.run({"x": np.ones((images, 400, 3), np.float32)})["y"]


def test_another_file_beside_the_model_is_not_read(beside: Model, tmp_path: Path) -> None:
    """One that is replaced or removed stays open, as that of the model does."""
    wanted = LARGE[None] + WEIGHT + 1
    (tmp_path / "new").write_bytes(bytes((tmp_path / "w").stat().st_size))
    os.replace(tmp_path / "new", tmp_path / "w")
    np.testing.assert_array_equal(added(beside, 2), np.tile(wanted, (2, 1, 1)))
    (tmp_path / "w").unlink()
    np.testing.assert_array_equal(added(beside, 3), np.tile(wanted, (3, 1, 1)))


def turned(path: Path, count: int = 6) -> Any:
    """A net whose weights of 64 KiB are transposed by nodes; returns what it makes of ones."""
    rng = np.random.default_rng(0)
    weights = {f"w{i}": rng.standard_normal((128, 128), np.float32) / 12 for i in range(count)}
    nodes, expected = [node("Identity", "x", "y0")], np.ones((2, 128))
    for i, weight in enumerate(weights.values()):
        nodes += [node("Transpose", f"w{i}", f"t{i}"), node("MatMul", f"y{i} t{i}", f"y{i + 1}")]
        expected = expected @ weight.T.astype(np.float64)
    ends = [info("x", [2, 128])], [info(f"y{count}", [2, 128])]
    onnx.save(model(nodes, *ends, weights), path)
    return expected


def test_weights_that_are_turned_are_not_what_is_computed_while_importing(
    tmp_path: Path, load_near: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made for the device when it is to have them: a model may be all such weights."""
    expected = turned(tmp_path / "m.onnx")
    monkeypatch.setattr(limits, "FOLDED_BYTES", 1 << 16)
    (y,) = load_near(tmp_path / "m.onnx").run({"x": np.ones((2, 128), np.float32)}).values()
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_what_is_made_of_weights_is_bounded(
    tmp_path: Path, load_near: Callable[..., Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of few weights cannot ask for any number of others."""
    weight = np.zeros((128, 128), np.float32)
    nodes = [node("Concat", f"{name} {name}", f"{name}w", axis=0) for name in ("w", "ww", "www")]
    feed, summed = info("x", [1, 128]), node("Add", "x wwww", "y")
    onnx.save(model([*nodes, summed], [feed], weights={"w": weight}), tmp_path / "m.onnx")
    monkeypatch.setattr(limits, "WEIGHT_BYTES", 7 << 16)
    with pytest.raises(ResourceLimitError, match=r"weights, and what is made of them"):
        load_near(tmp_path / "m.onnx").run({"x": np.zeros((1, 128), np.float32)})
