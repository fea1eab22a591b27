"""What a call costs beside the work: chains of tiny ops, end to end with numpy arrays in and out.

    python bench/call_overhead.py [--rounds 3000] [--callers 8]

Time of a call of 1, 10 and 1,000 ops on every device that is ready, and by onnxruntime on one
thread with all its optimisations off, so that it runs the same ops; calls interleaved, medians.
Then calls a second when several threads call one model for half a second.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
from arguments import positive
from peer import peer_session
from rich.console import Console
from rich.table import Table
from tiny_ops import WIDTH, chain
from turns import calls_a_second, in_turn

import headrace as flow
from headrace.errors import DeviceError
from headrace.registry import default_registry

X = {"t0": np.ones((1, WIDTH), np.float32)}
PEER = "onnxruntime"
SECONDS = 0.5


def main() -> None:
    """One table of times, one of throughput."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=3000)
    parser.add_argument("--callers", type=positive, default=8)
    options = parser.parse_args()
    times = Table("ops", *(f"{name}, us" for name in callers(1)), "cpu / onnxruntime")
    for ops in (1, 10, 1000):
        calls = callers(ops)
        taken = in_turn(calls, max(50, options.rounds // ops))
        medians = {name: statistics.median(each) * 1e6 for name, each in taken.items()}
        ratio = medians["cpu"] / medians[PEER] if "cpu" in medians else float("nan")
        times.add_row(f"{ops:,}", *(f"{medians[name]:.1f}" for name in calls), f"{ratio:.2f}")
    Console().print(times)
    rates = Table("threads", *(f"{name}, calls/s" for name in callers(1)))
    for threads in (1, options.callers):
        calls = callers(10)
        row = (f"{calls_a_second(call, threads, SECONDS):,.0f}" for call in calls.values())
        rates.add_row(str(threads), *row)
    Console().print(rates)


def callers(ops: int) -> dict[str, Callable[[], object]]:
    """A call of a chain of ``ops`` ops, by who runs it; called once already."""
    model = chain(ops).SerializeToString()
    peer = peer_session(model, optimised=False)
    calls: dict[str, Callable[[], object]] = {PEER: lambda: peer.run(None, X)}
    for record in default_registry().records():
        try:
            ours = flow.onnx.load(model, record.tag)
        except DeviceError:
            continue
        calls[record.tag] = partial(ours.run, X)
    for call in calls.values():
        call()
    return calls


if __name__ == "__main__":
    main()
