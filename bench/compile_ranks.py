"""Time and memory of compiling one data-parallel job, as its devices grow in number.

    python bench/compile_ranks.py [--ranks 8,64,512] [--layers 4] [--width 64] [--derived]

The job is a training step of a perceptron: forwards, backwards by hand, and an update of each
weight, the batch split over all devices and the weights on each. Devices are simulated: eight on
every machine, which need not be there, as nothing is run. The plan is, though, in virtual time, by
the actors that would run it: every task takes a second, so its length is the longest path.
Weights are squares of ``--width``; of large ones, exchanges take more steps, and move less by each.

``--derived`` leaves out what the plugin offers for exchanges among the devices of one machine, so
that all of them are made of copies and sums, at every size. Every figure is the median of fresh
processes, in turn. Time is processor time. Bytes are what the peak of the process rose by. The
exponent is the slope from the smallest size on logarithmic axes: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from arguments import positive, positives
from rich.console import Console
from rich.progress import track
from rich.table import Table

from headrace.bench.worker import peak_bytes

if TYPE_CHECKING:
    from headrace.graph import JobGraph

TAG, PER_MACHINE = "fakedevice", 8


def job(ranks: int, layers: int, width: int) -> JobGraph:
    """The graph of the training step over ``ranks`` devices."""
    from headrace.graph import JobGraphBuilder, SbpHint, Variable
    from headrace.initializer import initializer
    from headrace.placement import Placement
    from headrace.sbp import NdSbp
    from headrace.tensor_spec import TensorSpec

    each = min(ranks, PER_MACHINE)
    place = Placement.parse(TAG, [f"{m}:0-{each - 1}" for m in range(ranks // each)])
    builder = JobGraphBuilder("step", place)
    batch = TensorSpec((4 * ranks, width), "float32")
    square = TensorSpec((width, width), "float32")
    x, target = builder.input("x", batch), builder.input("target", batch)
    whole, rule = NdSbp.parse("B"), initializer("constant", value=0.1)
    weights = [
        builder.variable(Variable(f"w{i}", square, place, whole, rule, 0, True))
        for i in range(layers)
    ]
    seen = [x]
    for weight in weights:
        (y,) = builder.op("relu", builder.op("matmul", [seen[-1], weight]))
        seen.append(y)
    (slope,) = builder.op("subtract", [seen[-1], target])
    rate = builder.constant(np.array(0.01, np.float32))
    for number in reversed(range(layers)):
        (change,) = builder.op("matmul", [seen[number], slope], transpose_a=True)
        (change,) = builder.op("multiply", [change, rate])
        (after,) = builder.op("subtract", [weights[number], change])
        builder.hint(after, SbpHint.of("B"))
        builder.update(weights[number], after)
        if number:
            (slope,) = builder.op("matmul", [slope, weights[number]], transpose_b=True)
            (slope,) = builder.op("multiply", [slope, seen[number]])
    builder.output("loss", builder.op("reduce_sum", [slope])[0])
    return builder.finish()


def worker(ranks: int, layers: int, width: int, derived: bool) -> None:
    """What runs in the fresh process: prints what compiling took, and the length of a run."""
    os.environ["HEADRACE_FAKEDEVICE_COUNT"] = str(PER_MACHINE)
    from headrace.collector import collector_rests
    from headrace.compiler.pipeline import compile_job
    from headrace.registry import BackendRegistry
    from headrace.runtime.simulator import simulate
    from headrace_fakedevice import plugin

    hooks = {name: hook for name, hook in vars(plugin).items() if name.startswith("headrace_")}
    if derived:
        del hooks["headrace_collectives"]
    registry = BackendRegistry.from_modules({TAG: SimpleNamespace(**hooks)})
    compile_job(job(1, 1, width), registry)  # imports and first uses are not what is measured
    graph = job(ranks, layers, width)
    base = peak_bytes()
    with collector_rests():
        begin = time.process_time()
        plan = compile_job(graph, registry).plan
        seconds = time.process_time() - begin
    peak = peak_bytes()
    path = simulate(plan).seconds
    figures = {"seconds": seconds, "bytes": peak - base, "tasks": len(plan.tasks)}
    print(json.dumps({**figures, "path": path}))


def measure(ranks: int, options: argparse.Namespace) -> dict[str, float]:
    """Figures of one fresh process."""
    command = [sys.executable, __file__, "--worker", str(ranks), "--layers", str(options.layers)]
    command += ["--width", str(options.width)] + ["--derived"] * options.derived
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Measure every size and print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=positives, default="8,64,512")
    parser.add_argument("--layers", type=positive, default=4)
    parser.add_argument("--width", type=positive, default=64)
    parser.add_argument("--derived", action="store_true")
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.layers, options.width, options.derived)
        return
    sizes = options.ranks
    runs: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
    for _ in track(range(options.rounds), "rounds", transient=True):
        for size in sizes:
            runs[size].append(measure(size, options))
    table = Table("devices", "tasks", "compile s", "bytes a task", "longest path", "exponent")
    first = median(run["seconds"] for run in runs[sizes[0]])
    for size in sizes:
        seconds, tasks, nbytes, path = (
            median(run[what] for run in runs[size])
            for what in ("seconds", "tasks", "bytes", "path")
        )
        slope = "-"
        if size != sizes[0]:
            slope = f"{math.log(seconds / first) / math.log(size / sizes[0]):.2f}"
        each = f"{nbytes / tasks:,.0f}"
        table.add_row(str(size), f"{tasks:,}", f"{seconds:.3f}", each, f"{path:,.0f}", slope)
    Console().print(table)


if __name__ == "__main__":
    main()
