"""What a call costs beside the work: a chain of tiny ops on every device that is ready.

    python bench/call_overhead.py

Prints the time of a call of one op, and of each further op (the slope from 1 to 1,000 ops).
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from headrace.errors import DeviceError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.job_graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry.registry import default_registry
from headrace.tensor_spec import TensorSpec

X = np.ones((1, 8), np.float32)


def main() -> None:
    """One row for each device."""
    table = Table("device", "call of 1 op, us", "each further op, us")
    for record in default_registry().records():
        try:
            one, many = microseconds(record.tag, 1), microseconds(record.tag, 1000)
        except DeviceError as error:
            table.add_row(record.tag, "-", str(error))
            continue
        table.add_row(record.tag, f"{one:.1f}", f"{(many - one) / 999:.2f}")
    Console().print(table)


def microseconds(device: str, ops: int) -> float:
    """Median time of a call of a chain of ``ops`` ops."""
    builder = JobGraphBuilder("chain", Placement.of_device(device))
    tensor = builder.input("x", TensorSpec.of(X))
    for _ in range(ops):
        (tensor,) = builder.op("relu", [tensor])
    builder.output("y", tensor)
    with CompiledJob(builder.finish()) as job:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            job.run({"x": X})
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


if __name__ == "__main__":
    main()
