"""Models compiled here, run in another process that has neither the model nor the package onnx."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx.reference import ReferenceEvaluator

X = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2) - 5

RUN = """
import sys
import numpy as np
sys.modules["onnx"] = None  # importing it raises ImportError
import headrace as flow
with flow.load_plan(sys.argv[1]) as plan:
    np.savez(sys.argv[2], **plan.run({"x": np.load(sys.argv[3])}))
"""


def python(*words: object, seed: int = 0) -> str:
    """Run Python in a process of its own, with a seed for its hashes."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_plan_runs_in_another_process(model: Path, tmp_path: Path, device: str) -> None:
    """By itself: the model is gone and onnx cannot be imported. Equal input gives equal bytes."""
    wanted = ReferenceEvaluator(str(model)).run(None, {"x": X})
    plans = [tmp_path / "one.plan", tmp_path / "other"]
    for seed, plan in enumerate(plans):
        words = ("-m", "headrace", "compile", model, "--device", device, "--input", "x=1,3,2,2")
        said = python(*words, "-o", plan, seed=seed)
        assert f"model.onnx for {device} -> {plan}" in said
    assert plans[0].read_bytes() == plans[1].read_bytes()
    model.unlink()
    np.save(tmp_path / "x.npy", X)
    python("-c", RUN, plans[0], tmp_path / "results.npz", tmp_path / "x.npy")
    with np.load(tmp_path / "results.npz") as results:
        assert list(results) == ["y", "z"]
        for name, value in zip("yz", wanted, strict=True):
            np.testing.assert_allclose(results[name], value, rtol=1e-5, atol=1e-6)


def test_the_command_tells_plans_by_their_content(model: Path, tmp_path: Path, device: str) -> None:
    """A plan with the name of a model, with outputs written as for a model."""
    plan = tmp_path / "plan.onnx"
    python("-m", "headrace", "compile", model, "--device", device, "-o", plan)
    np.save(tmp_path / "x.npy", X)
    for number, file in enumerate((model, plan)):
        words = ("-m", "headrace", "run", file, "--device", device)
        out = ("--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / str(number))
        assert f"on {device}" in python(*words, *out)
    for name in ("y.npy", "z.npy"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
