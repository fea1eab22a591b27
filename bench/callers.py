"""Calls a second when several threads call one model, against onnxruntime.

    python bench/callers.py MODEL.onnx ... [--callers 1,2,8,16] [--threads 1] [--rounds 5]

One session each, on `cpu`, with kernels on so many threads; each caller begins its next call when
one is over. The two take turns, a round of each for half a second; medians of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
from arguments import model_file, positive, positives
from rich.console import Console
from rich.progress import track
from rich.table import Table

import headrace as flow
import headrace_cpu

SECONDS = 0.5


def main() -> None:
    """One line for each model and number of callers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=model_file, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--callers", type=positives, default="1,2,8,16")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=5)
    given = parser.parse_args()
    headrace_cpu.set_threads(given.threads)
    table = Table("model", "callers", "cpu, calls/s", "onnxruntime, calls/s", "cpu / onnxruntime")
    cases = [(path, callers) for path in given.models for callers in given.callers]
    for path, callers in track(cases, console=Console(stderr=True), description="calling"):
        calls = both(path, given.threads)
        rates = [[rate(call, callers) for call in calls] for _ in range(given.rounds)]
        ours, theirs = map(statistics.median, zip(*rates, strict=True))
        row = (f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
        table.add_row(path.name, str(callers), *row)
    Console().print(table)


def both(path: Path, threads: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """A call of the model by headrace, and by onnxruntime; each was made once."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    peer = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    shapes = {i.name: [d if isinstance(d, int) else 1 for d in i.shape] for i in peer.get_inputs()}
    draw = np.random.default_rng(0)
    feeds = {name: draw.random(shape, np.float32) for name, shape in shapes.items()}
    calls = partial(flow.onnx.load(path, "cpu").run, feeds), partial(peer.run, None, feeds)
    for call in calls:
        call()
    return calls


def rate(call: Callable[[], object], callers: int) -> float:
    """Calls a second of so many threads."""
    ends = time.perf_counter() + SECONDS
    made = [0] * callers

    def work(caller: int) -> None:
        while time.perf_counter() < ends:
            call()
            made[caller] += 1

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(made) / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
