"""Models that nobody holds any more, and nobody closed: they go without the collector."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from headrace.tensor_spec import Array

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

FLOAT = TensorProto.FLOAT

# The first round is for what is made once in a process; two shapes, so that there are several jobs.
DROP = """
import gc, os, sys
import numpy as np
import headrace.onnx
path, device = sys.argv[1:]
gc.disable()
for round in range(2):
    gc.collect()
    model = headrace.onnx.load(path, device=device)
    for rows in (1, 3):
        model.run({"x": np.ones((rows, 64), np.float32)})
    del model
found = gc.collect()
files = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
         if os.path.islink(f"/proc/self/fd/{name}")]
print(found, files.count(path))
"""


def saved(folder: Path, *nodes: onnx.NodeProto, **weights: Array) -> Path:
    """A model file that takes x [n, 64] and gives y."""
    x = helper.make_tensor_value_info("x", FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", FLOAT, None)
    held = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "job", [x], [y], held)
    path = folder / "model.onnx"
    opset = helper.make_opsetid("", 21)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), path)
    return path


def left_by(path: Path, device: str) -> list[int]:
    """Objects that the collector found, and descriptors of the file, when models were dropped."""
    run = [sys.executable, "-c", DROP, str(path), device]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return [int(number) for number in done.stdout.split()]


def test_a_model_that_is_dropped_leaves_nothing_to_the_collector(
    device: str, tmp_path: Path
) -> None:
    """Neither of its jobs nor of their memory, and its file is closed."""
    product, after = (
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["y"]),
    )
    path = saved(tmp_path, product, after, w=np.ones((64, 1 << 12), np.float32))
    assert left_by(path, device) == [0, 0]


def test_so_does_one_that_runs_in_stages(device: str, tmp_path: Path) -> None:
    """What comes after a stage that looks at values is dropped with it."""
    found, after = (
        helper.make_node("NonZero", ["x"], ["a"]),
        helper.make_node("Cast", ["a"], ["y"], to=FLOAT),
    )
    path = saved(tmp_path, found, after)
    assert left_by(path, device) == [0, 0]
