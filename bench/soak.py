"""A small job run a million times: what it holds at the end, against what it held at the beginning.

    python bench/soak.py [--runs 1000000] [--device cpu] [--width 1]

The job is called in a loop, with numpy arrays in and out; with a width of several, by `submit`,
always with as many calls under way as there is room for. Memory (resident set), threads and file
descriptors are looked at after the first tenth, when caches are full and pools have their size, and
at the end. Beside it onnxruntime is run as often as takes a tenth of the time.

Exits with 1 if memory grew by 1 % or more, or if a thread or a descriptor was added.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arguments import at_least, check_devices, positive
from peer import peer_session
from rich.console import Console
from rich.table import Table

import headrace as flow
import headrace.typing as tp

X = np.linspace(-1, 1, 8, dtype=np.float32)
STEPS = 100


@dataclass(frozen=True)
class Held:
    """What this process holds."""

    rss: int
    threads: int
    descriptors: int

    @staticmethod
    def now() -> Held:
        """After a collection."""
        gc.collect()
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
        )
        rss = int(status["VmRSS"].split()[0]) << 10
        return Held(rss, int(status["Threads"]), len(os.listdir("/proc/self/fd")))


def main() -> None:
    """Run, compare, say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=at_least(10), default=1_000_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=positive, default=1)
    options = parser.parse_args()
    check_devices(parser, [options.device])
    rows = []
    with flow.Session() as session:
        job = small_job(session, options.device, options.width)
        call = pipelined(job, options.width) if options.width > 1 else lambda: job(X)
        rows.append((f"headrace on {options.device}", *soaked(call, options.runs)))
    peer = onnx_session()
    rows.append(("onnxruntime", *soaked(lambda: peer.run(None, {"x": X}), options.runs // 10)))
    table = Table("", "runs", "us a run", "memory", "threads", "descriptors")
    for name, runs, seconds, before, after in rows:
        grown = (after.rss / before.rss - 1) * 100
        table.add_row(
            name,
            f"{runs:,}",
            f"{seconds / runs * 1e6:.1f}",
            f"{before.rss / 1e6:.1f} -> {after.rss / 1e6:.1f} MB ({grown:+.2f} %)",
            f"{before.threads} -> {after.threads}",
            f"{before.descriptors} -> {after.descriptors}",
        )
    Console().print(table)
    _, _, _, before, after = rows[0]
    flat = after.rss < before.rss * 1.01 and after.threads <= before.threads
    sys.exit(not (flat and after.descriptors <= before.descriptors))


def small_job(session: flow.Session, device: str, width: int) -> Any:
    """``relu(x) + x``."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(device, "0:0"))

    @flow.global_function(function_config=config, session=session)
    def small(x: tp.Numpy.Placeholder(X.shape)) -> tp.Numpy:  # type: ignore[valid-type]
        return flow.relu(x) + x  # type: ignore[no-any-return]

    return small


def pipelined(job: Any, width: int) -> Callable[[], object]:
    """A call that leaves ``width - 1`` others under way."""
    under_way: deque[flow.Future[Any]] = deque()

    def call() -> None:
        under_way.append(job.submit(X))
        if len(under_way) >= width:
            under_way.popleft().result()

    return call


def onnx_session() -> Any:
    """The peer with the same job, imported now."""
    from onnx import TensorProto, helper

    shape = list(X.shape)
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Add", ["r", "x"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return peer_session(model.SerializeToString())


def show(progress: str) -> None:
    """Say how far it is, to a terminal only.

    No bar of ``rich``: that has a thread and memory of its own, which would be counted.
    """
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{progress:<20}\r")


def soaked(call: Callable[[], object], runs: int) -> tuple[int, float, Held, Held]:
    """How many runs were timed, how long they took, and what was held before and after them."""
    each = max(runs // STEPS, 1)
    before, start = Held.now(), 0.0
    for step in range(STEPS):
        if step == STEPS // 10:
            before, start = Held.now(), time.perf_counter()
        for _ in range(each):
            call()
        show(f"{each * (step + 1):,} runs")
    seconds = time.perf_counter() - start
    after = Held.now()
    show("")
    return each * (STEPS - STEPS // 10), seconds, before, after


if __name__ == "__main__":
    main()
