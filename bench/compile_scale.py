"""Time and memory of making a model ready to run, as it grows.

    python bench/compile_scale.py [--sizes 1000,10000,100000] [--device cpu] [--shape chain]

Every figure is the median of fresh processes, headrace and onnxruntime (all its optimisations on)
in turn. Time is processor time, so that neighbours on the machine do not count. The exponent is the
slope between two sizes on logarithmic axes: 1 is linear. Bytes are what the peak of the process
rose by.

Shapes of a model: ``chain`` alternates Add and Relu; ``dag`` draws the two inputs of each Add among
the last hundred results.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from arguments import check_devices, positive, positives
from peer import peer_session
from rich.console import Console
from rich.progress import track
from rich.table import Table
from tiny_ops import WIDTH, chain, dag

from headrace.bench.worker import peak_bytes

LEAST = 200


MODELS: dict[str, Callable[[int], onnx.ModelProto]] = {"chain": chain, "dag": dag}


def headrace_model(path: Path, device: str) -> None:
    """Load a model and make it ready to run: imported, compiled, allocated, bound."""
    import headrace as flow

    model = flow.onnx.load(path, device, plan_cache=False)
    model.plan_for({info.name: np.zeros((1, WIDTH), np.float32) for info in model.inputs})


def worker(what: str, path: str, device: str) -> None:
    """What runs in the fresh process: prints seconds of processor time, and bytes at the peak."""
    peer = what == "onnxruntime"
    with tempfile.TemporaryDirectory() as folder:  # imports and first uses are not what is measured
        small = Path(folder) / "small.onnx"
        onnx.save(chain(4), small)
        peer_session(small) if peer else headrace_model(small, device)
    base = peak_bytes()
    begin = time.process_time()
    peer_session(path) if peer else headrace_model(Path(path), device)
    seconds = time.process_time() - begin
    peak = peak_bytes()
    print(json.dumps({"seconds": seconds, "bytes": peak - base}))


def measure(what: str, path: Path, device: str) -> dict[str, float]:
    """Figures of one fresh process."""
    command = [sys.executable, __file__, "--worker", what, str(path), "--device", device]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Measure every size and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=positives, default="1000,10000,100000")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--shape", action="append", choices=sorted(MODELS), default=[])
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        what, path = options.worker
        worker(what, path, options.device)
        return
    check_devices(parser, [options.device])
    sizes = options.sizes
    if min(sizes) < LEAST:
        parser.error(f"a model of {min(sizes)} ops is too small to be measured; take {LEAST}")
    table = Table("job", "ops", "headrace s", "onnxruntime s", "ratio", "bytes an op", "exponent")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.shape or MODELS:
            before: tuple[int, float] | None = None
            for size in track(sizes, name, transient=True):
                path = Path(folder) / f"{name}{size}.onnx"
                onnx.save(MODELS[name](size), path)
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours.append(measure("headrace", path, options.device))
                    theirs.append(measure("onnxruntime", path, options.device))
                seconds = median(run["seconds"] for run in ours)
                peer = median(run["seconds"] for run in theirs)
                nbytes = median(run["bytes"] for run in ours) / size
                slope = (
                    f"{math.log(seconds / before[1]) / math.log(size / before[0]):.2f}"
                    if before
                    else "-"
                )
                before = (size, seconds)
                figures = (f"{seconds:.3f}", f"{peer:.3f}", f"{seconds / peer:.2f}")
                table.add_row(name, f"{size:,}", *figures, f"{nbytes:,.0f}", slope)
    Console().print(table)


if __name__ == "__main__":
    main()
