"""What kept memory saves: a job opened with what another gave back, and with memory anew, in turn.

    python bench/second_session.py [--device fakedevice] [--mib 1,16,128] [--rounds 20]

The plan is compiled once; only its executor is opened and closed, while another one has the device
open. `fakedevice` fills its memory with poison either way, as a page of fresh memory must be mapped
and cleared; a driver that locks pages or waits for its device to give memory takes longer.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import closing

import numpy as np
from arguments import check_devices, positive, positives
from rich.console import Console
from rich.table import Table

import headrace as flow
from headrace.compiler.pipeline import compile_job
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.memory_case import MemoryCase
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import TensorSpec


def main() -> None:
    """One line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="fakedevice")
    parser.add_argument("--mib", type=positives, default="1,16,128")
    parser.add_argument("--rounds", type=positive, default=20)
    given = parser.parse_args()
    check_devices(parser, [given.device])
    table = Table("MiB", "anew, ms", "kept, ms", "kept / anew", "plugin asked, anew", "kept")
    for mib in given.mib:
        (anew, asked), (kept, asked_kept) = opened(given.device, mib, given.rounds)
        table.add_row(
            f"{mib:,}",
            f"{anew:.2f}",
            f"{kept:.2f}",
            f"{kept / anew:.2f}",
            f"{asked:g}",
            f"{asked_kept:g}",
        )
    Console().print(table)


def opened(device: str, mib: int, rounds: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Median milliseconds to open the job, and how often plugins were asked: anew, and kept."""
    registry = default_registry()
    compiled = compile_job(job(device, mib), registry)
    times: tuple[list[float], list[float]] = ([], [])
    asked = [0, 0]
    with closing(Executor(compiled.plan, registry, compiled.constants)):
        for _ in range(rounds):
            for number, taken in enumerate(times):
                if number == 0:
                    flow.release_cached_memory()
                before, start = allocations(), time.perf_counter()
                executor = Executor(compiled.plan, registry, compiled.constants)
                taken.append((time.perf_counter() - start) * 1e3)
                asked[number] += allocations() - before
                executor.close()
    anew, kept = map(statistics.median, times)
    return (anew, asked[0] / rounds), (kept, asked[1] / rounds)


def allocations() -> int:
    """How often plugins were asked for memory so far."""
    told = flow.memory_statistics()
    return sum(one.allocations for one in told if one.memory != MemoryCase.host())


def job(device: str, mib: int) -> JobGraph:
    """A weight and an activation of half the size each."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    spec = TensorSpec((mib << 17,), "float32")
    x = builder.input("x", TensorSpec((1,), "float32"))
    (y,) = builder.op("add", [builder.constant(np.ones(spec.shape, np.float32), "w"), x])
    (total,) = builder.op("reduce_sum", [y])
    builder.output("y", total)
    return builder.finish()


if __name__ == "__main__":
    main()
