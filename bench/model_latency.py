"""Latency of ONNX models on a headrace device, against onnxruntime, interleaved in one process.

    python bench/model_latency.py MODEL.onnx [MODEL.onnx ...] [--device cpu] [--rounds 15]

Inputs are seeded random numbers; symbolic dimensions are 1 unless --shape INPUT=1,3,224,224 says
otherwise.
Threads: set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS; onnxruntime gets --threads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from rich.console import Console
from rich.progress import track
from rich.table import Table

import headrace as flow

Shapes = dict[str, list[int]]
"""Shapes of inputs with symbolic dimensions, by input name."""


def main() -> None:
    """Measure every model that was named and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shape", action="append", default=[], metavar="INPUT=1,3,224,224")
    options = parser.parse_args()
    given = (item.rsplit("=", 1) for item in options.shape)
    shapes = {name: [int(dim) for dim in dims.split(",")] for name, dims in given}
    table = Table("model", "headrace ms", "onnxruntime ms", "ratio", "largest difference")
    for path in options.models:
        table.add_row(path.name, *measure(path, options, shapes))
    Console().print(table)


def measure(path: Path, options: argparse.Namespace, shapes: Shapes) -> tuple[str, ...]:
    """Median ms of both, the median of paired ratios, and how far the outputs differ."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    peer = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    feeds = random_inputs(peer, shapes)
    with flow.onnx.load(path, device=options.device) as model:
        ours, theirs = model.run(feeds), peer.run(None, feeds)
        names = [output.name for output in peer.get_outputs()]
        difference = max(
            float(np.max(np.abs(ours[name] - value), initial=0)) / float(np.max(np.abs(value)))
            for name, value in zip(names, theirs, strict=True)
        )
        pairs = []
        for _ in track(range(options.rounds), description=path.name, transient=True):
            pairs.append((clock(lambda: model.run(feeds)), clock(lambda: peer.run(None, feeds))))
    mine, other = ([pair[side] for pair in pairs] for side in (0, 1))
    ratios = [a / b for a, b in pairs]
    low, high = np.percentile(ratios, [10, 90])
    ratio = f"{statistics.median(ratios):.2f} [{low:.2f}..{high:.2f}]"
    return (
        f"{statistics.median(mine):.2f}",
        f"{statistics.median(other):.2f}",
        ratio,
        f"{difference:.1e}",
    )


def random_inputs(session: onnxruntime.InferenceSession, shapes: Shapes) -> dict[str, np.ndarray]:
    """Seeded inputs of a model; integers are small, so that they may be indices."""
    random = np.random.default_rng(0)
    feeds = {}
    for item in session.get_inputs():
        usual = [dim if isinstance(dim, int) else 1 for dim in item.shape]
        shape = shapes.get(item.name, usual)
        if item.type == "tensor(float)":
            feeds[item.name] = random.standard_normal(shape).astype(np.float32)
        else:
            dtype = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}[item.type]
            feeds[item.name] = random.integers(0, 2, shape).astype(dtype)
    return feeds


def clock(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


if __name__ == "__main__":
    main()
