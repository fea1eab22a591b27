"""Jobs for shapes and for values that decide shapes, and how many of them are kept."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import INT64, info, model, node
from toy_backends import FarAllocator, far, near

from headrace.device import Buffer
from headrace.errors import HeadraceError, InputError, SessionError, UnsupportedModelError
from headrace.numpy_ops import NumpyKernel
from headrace.onnx import Model, load
from headrace.onnx.file import limits
from headrace.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.deterministic import deterministic

X = np.arange(6, dtype=np.float32).reshape(2, 3)

W = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 7

SUM = model([node("Add", "x x", "y")], [info("x", ["n", "m"])])
RESHAPE = model(
    [node("Add", "x x", "t"), node("Add", "s s", "s2"), node("Reshape", "t s2", "y")],
    [info("x", None), info("s", None, INT64)],
)


def kept(loaded: Any) -> int:
    return len(loaded._jobs)


def test_each_shape_has_its_job(load_near: Any) -> None:
    """A shape that was seen runs the job that was compiled for it; results never mix."""
    loaded = load_near(SUM)
    for shape in [(2, 3), (4, 1), (2, 3), (0, 3)]:
        x = np.ones(shape, np.float32)
        assert loaded.run({"x": x})["y"].shape == shape
    assert kept(loaded) == 3


def test_a_value_that_decides_a_shape_becomes_part_of_the_job(load_near: Any) -> None:
    """The value is found through what it is computed from, and told apart in later runs."""
    loaded = load_near(RESHAPE)
    for half in ([1, 3], [3, 1], [1, 3]):
        x = np.ones((4, 3), np.float32)
        result = loaded.run({"x": x, "s": np.array(half)})["y"]
        assert result.shape == (2 * half[0], 2 * half[1])
    assert kept(loaded) == 2


def test_the_job_keeps_its_own_copy_of_a_value(load_near: Any) -> None:
    """Who feeds an array may write to it afterwards."""
    loaded = load_near(RESHAPE)
    s = np.array([3, 1])
    first = loaded.run({"x": np.ones(12, np.float32), "s": s})["y"]
    s[:] = [1, 3]
    second = loaded.run({"x": np.ones(12, np.float32), "s": s})["y"]
    assert (first.shape, second.shape) == ((6, 2), (2, 6))


def test_only_inputs_that_a_shape_depends_on_are_fixed(load_near: Any) -> None:
    """Other values may change without a new job."""
    loaded = load_near(RESHAPE)
    for value in range(3):
        loaded.run({"x": np.full(12, value, np.float32), "s": np.array([3, 1])})
    assert kept(loaded) == 1


def test_the_least_recently_used_job_goes_first(load_near: Any) -> None:
    """The number of jobs is bounded by what was asked for."""
    loaded = load_near(SUM, jobs=2)
    for rows in (1, 2, 1, 3, 1):
        loaded.run({"x": np.ones((rows, 1), np.float32)})
    shapes = [key[0][0][1].shape for key in loaded._jobs._jobs]
    assert shapes == [(3, 1), (1, 1)]


def test_jobs_of_other_shapes_have_the_same_weights(tmp_path: Path) -> None:
    """Read again for each, they lie in memory once, also when the first job has gone."""
    seen: set[int] = set()

    class Looking(NumpyKernel):
        def array_of(self, buffer: Buffer, spec: TensorSpec) -> Array:
            array = super().array_of(buffer, spec)
            if spec.shape == W.shape:
                seen.add(array.ctypes.data)
            return array

    source = model([node("MatMul", "x w", "y")], [info("x", ["n", 64])], weights={"w": W})
    kinds = BackendRegistry.from_modules({"near": near(("matmul",), Looking)})
    (tmp_path / "model.onnx").write_bytes(source.SerializeToString())
    with load(tmp_path / "model.onnx", "near", registry=kinds, jobs=2, plan_cache=False) as loaded:
        for rows in range(1, 6):
            x = np.full((rows, 64), rows, np.float32)
            np.testing.assert_array_equal(loaded.run({"x": x})["y"], x @ W)
    assert len(seen) == 1


def test_as_many_jobs_are_kept_as_hold_little(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few whatever they hold, most if they are small, and in between what fits; the newest stay."""
    monkeypatch.setattr(limits, "FEW_JOBS", 3)
    monkeypatch.setattr(limits, "JOBS", 8)
    monkeypatch.setattr(limits, "JOBS_BYTES", 200 << 10)
    counts = []
    for columns in (1, 1 << 10, 1 << 16):
        loaded = load_near(SUM)
        for rows in range(1, 10):
            loaded.run({"x": np.ones((rows, columns), np.float32)})
        counts.append(kept(loaded))
        assert next(reversed(loaded._jobs._jobs))[0][0][1].shape == (9, columns)
    assert counts[0] == 8 and 3 < counts[1] < 8 and counts[2] == 3


def test_a_model_keeps_at_least_one_job(load_near: Any) -> None:
    """Zero jobs would be no model."""
    with pytest.raises(InputError, match="at least 1"):
        load_near(SUM, jobs=0)


def test_a_model_runs_on_after_an_error(load_near: Any) -> None:
    """A shape that does not fit is told, and leaves nothing behind."""
    loaded = load_near(RESHAPE)
    with pytest.raises(Exception, match="Reshape"):
        loaded.run({"x": X, "s": np.array([5, 5])})
    assert loaded.run({"x": np.ones(4, np.float32), "s": np.array([1, 1])})["y"].shape == (2, 2)


def test_a_plan_can_be_had_without_data(load_near: Any) -> None:
    """Specs are enough where no value decides a shape; where one does, it is asked for."""
    assert load_near(SUM).plan_for({"x": TensorSpec((2, 3), "float32")}).tasks
    loaded = load_near(RESHAPE)
    x, s = TensorSpec((4, 3), "float32"), TensorSpec((2,), "int64")
    with pytest.raises(UnsupportedModelError, match="'s'; give arrays"):
        loaded.plan_for({"x": x, "s": s})
    assert loaded.plan_for({"x": x, "s": np.array([3, 1])}).tasks


def test_a_closed_model_refuses_to_run(load_near: Any) -> None:
    """Closing twice is closing once."""
    loaded = load_near(SUM)
    loaded.run({"x": X})
    loaded.close()
    loaded.close()
    with pytest.raises(SessionError, match="closed"):
        loaded.run({"x": X})


def test_threads_share_a_model(load_near: Any) -> None:
    """Eight threads with three shapes and room for one job each get their own results.

    Each shape is called twice running: the second call takes the job as it finds it, without a
    lock, while others drop it.
    """
    loaded = load_near(SUM, jobs=1)
    wrong: list[object] = []

    def work(seed: int) -> None:
        for step in range(24):
            x = np.full(((seed + step // 2) % 3 + 1, 2), seed * 100 + step, np.float32)
            try:
                result = loaded.run({"x": x})["y"]
                if not np.array_equal(result, x + x):
                    wrong.append((seed, step, result))
            except HeadraceError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert kept(loaded) == 1


def test_a_job_may_be_dropped_while_another_thread_is_about_to_run_it() -> None:
    """Whichever of the two comes first, each thread gets its own results, and nothing is left."""
    kinds = BackendRegistry.from_modules({"near": near(kernel=NumpyKernel), "far": far()})
    live = FarAllocator.live

    for seed in range(30):
        with deterministic(seed) as turns, load(SUM, "far", registry=kinds, jobs=1) as loaded:

            def run(rows: int, loaded: Model = loaded) -> None:
                for step in range(4):
                    x = np.full((rows, 2), step, np.float32)
                    np.testing.assert_array_equal(loaded.run({"x": x})["y"], x + x)

            other = turns.start("other", lambda: run(2))
            run(1)
            turns.join(other)
        assert FarAllocator.live == live
