"""What tracing costs: the same job with a recorder and without, call by call in turn.

    python bench/trace_overhead.py [--rounds 2000]

Chains of tiny ops on every device that is ready, where overhead shows most. A job without a
recorder launches its chain as it was captured and reads no clock; with one, each task is launched
by itself and waited for.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack
from functools import partial

import numpy as np
from arguments import positive
from rich.console import Console
from rich.table import Table
from turns import seconds

from headrace.errors import DeviceError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.runtime.recorder import Recorder
from headrace.tensor_spec import TensorSpec

X = {"x": np.ones((1, 8), np.float32)}


def main() -> None:
    """One line for each device and length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=2000)
    rounds = parser.parse_args().rounds
    table = Table("device", "ops", "not traced, us", "traced, us", "us more an op")
    for record in default_registry().records():
        for ops in (1, 10, 1000):
            try:
                plain, traced = microseconds(record.tag, ops, max(20, rounds // ops))
            except DeviceError:
                continue
            more = f"{(traced - plain) / ops:.2f}"
            table.add_row(record.tag, f"{ops:,}", f"{plain:.1f}", f"{traced:.1f}", more)
    Console().print(table)


def microseconds(tag: str, ops: int, rounds: int) -> tuple[float, float]:
    """Median time of a call without a recorder and with one."""
    graph, recorder = chain(tag, ops), Recorder()
    times: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        jobs = (
            stack.enter_context(CompiledJob(graph)),
            stack.enter_context(CompiledJob(graph, recorder=recorder)),
        )
        for job in jobs:
            job.run(X)
        for _ in range(rounds):  # in turn, so that a slow moment hits both
            for job, taken in zip(jobs, times, strict=True):
                taken.append(seconds(partial(job.run, X)))
            recorder.clear()
    plain, traced = (statistics.median(taken) * 1e6 for taken in times)
    return plain, traced


def chain(tag: str, ops: int) -> JobGraph:
    """Relu and sigmoid in turn, each reading the one before."""
    builder = JobGraphBuilder("chain", Placement.of_device(tag))
    x = builder.input("x", TensorSpec((1, 8), "float32"))
    for number in range(ops):
        (x,) = builder.op("sigmoid" if number % 2 else "relu", [x])
    builder.output("y", x)
    return builder.finish()


if __name__ == "__main__":
    main()
