"""Messages that actors exchange in a second, through threads of streams, beside bare queues.

    python bench/actor_messages.py [--calls 3000]

A job of one op on each installed device is compiled for 1 call at once and for 8, and called
without a pause by `submit`; streams have threads, also where calls could run on the caller's. The
messages of a call are counted by an event log. The peer is what threads in Python cost at least:
messages through `queue.SimpleQueue` with nothing done for them, to and fro between two threads, and
in one direction. All in turn, medians of several runs.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from arguments import positive
from rich.console import Console
from rich.table import Table

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import compile_job
from headrace.errors import DeviceError
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.runtime.event_log import EventLog
from headrace.runtime.executor import Executor
from headrace.tensor_spec import TensorSpec

X = np.ones(4, np.float32)
RUNS = 5
WIDTHS = (1, 8)


def main() -> None:
    """One table: who passes messages, and how many a second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=positive, default=3000)
    options = parser.parse_args()
    rates: dict[str, Callable[[], float]] = {
        "SimpleQueue, to and fro": partial(to_and_fro, options.calls * 2),
        "SimpleQueue, one way": partial(one_way, options.calls * 10),
    }
    executors = []
    for record in default_registry().records():
        for width in WIDTHS:
            try:
                executor, messages = threaded(record.tag, width)
            except DeviceError:
                continue
            executors.append(executor)
            name = f"{record.tag}, {width} calls at once"
            rates[name] = partial(rate, executor, messages, options.calls)
    found: dict[str, list[float]] = {name: [] for name in rates}
    for _ in range(RUNS):
        for name, measure in rates.items():
            found[name].append(measure())
    for executor in executors:
        executor.close()
    table = Table("messages", "a second")
    for name, of_runs in found.items():
        table.add_row(name, f"{statistics.median(of_runs):,.0f}")
    Console().print(table)


def job(tag: str) -> JobGraph:
    """``y = relu(x)``."""
    builder = JobGraphBuilder("job", Placement.of_device(tag))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return builder.finish()


def threaded(tag: str, width: int) -> tuple[Executor, int]:
    """An executor with a thread for each stream, and the messages of one call.

    A log lets calls take the threads; it is taken away from the engine that is measured.
    """
    registry = default_registry()
    compiled = compile_job(job(tag), registry, concurrency=Concurrency(width))
    log = EventLog()
    executor = Executor(compiled.plan, registry, compiled.constants, log=log)
    executor.run({"x": X})
    executor.run({"x": X})
    messages = len(log.messages) // 2
    executor.close()
    if width == 1:  # one that has no log would run inline where it can
        return Executor(compiled.plan, registry, compiled.constants, log=Forgetful()), messages
    return Executor(compiled.plan, registry, compiled.constants), messages


class Forgetful(EventLog):
    """A log that keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.messages = self.acts = Nothing()  # type: ignore[assignment]


class Nothing(list[object]):
    """A list to which nothing is added."""

    def append(self, item: object) -> None:
        """Let it go."""


def rate(executor: Executor, messages: int, calls: int) -> float:
    """Messages a second while ``calls`` calls are made, as many at once as there is room for."""
    feeds = {"x": X}
    executor.run(feeds)
    start = time.perf_counter()
    for _ in range(calls):
        last = executor.submit(feeds)
    last.wait()
    return messages * calls / (time.perf_counter() - start)


def to_and_fro(count: int) -> float:
    """Messages a second between two threads of which each waits for the other."""
    there, back = queue.SimpleQueue[int](), queue.SimpleQueue[int]()

    def answer() -> None:
        for _ in range(count // 2):
            back.put(there.get())

    thread = threading.Thread(target=answer)
    thread.start()
    start = time.perf_counter()
    for number in range(count // 2):
        there.put(number)
        back.get()
    taken = time.perf_counter() - start
    thread.join()
    return count / taken


def one_way(count: int) -> float:
    """Messages a second from a thread that does not wait to one that does nothing else."""
    messages = queue.SimpleQueue[int]()

    def take() -> None:
        for _ in range(count):
            messages.get()

    thread = threading.Thread(target=take)
    start = time.perf_counter()
    thread.start()
    for number in range(count):
        messages.put(number)
    thread.join()
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
