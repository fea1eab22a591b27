"""What overlaps: copies with work in virtual time, and two branches of a job on two streams.

    python bench/overlap.py [--pieces 100] [--rounds 20] [--kib 1024]

First, a job with copies to and from a device is run in virtual time, each of its three stages for a
second, with so many calls at once as it was compiled for: its plan by the simulator, and on fake
devices by the executor itself, whose threads take turns by their clocks. Then a job of two chains
of ops that do not wait for each other is called on `cpu` with one compute stream and with two,
calls interleaved, medians and 10th percentiles, a kernel on one thread: with the pool of all cores
one stream has them all. Beside it the same pair of chains in two onnxruntime sessions on one thread
each, one after the other and in two threads. That says what the machine can do: nothing else should
run on it meanwhile, and it needs two free cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import onnx
from arguments import positive
from onnx import TensorProto, helper
from peer import peer_session
from rich.console import Console
from rich.table import Table
from turns import in_turn

import headrace as flow
import headrace_cpu
from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import compile_job
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.runtime.simulator import simulate
from headrace.tensor_spec import TensorSpec
from headrace.testing.deterministic import deterministic
from headrace_fakedevice import Latencies, experiment

X = np.ones(4, np.float32)

OPS = ("Sigmoid", "Neg") * 256
"""One chain: ops of native kernels, whose values stay in range. Between ops that numpy computes, a
thread needs the interpreter's lock."""


def main() -> None:
    """One table of virtual time, one of cpu."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pieces", type=positive, default=100)
    parser.add_argument("--rounds", type=positive, default=20)
    parser.add_argument("--kib", type=positive, default=1024, help="size of a tensor")
    options = parser.parse_args()
    least = options.pieces + 2
    virtual = Table("calls at once", "stages of the plan", "of the executor", f"of {least}")
    for width in (1, 2, 3, 8):
        planned, run = planned_stages(width, options.pieces), run_stages(width, options.pieces)
        virtual.add_row(str(width), f"{planned:g}", f"{run:g}", f"{run / least:.2f}")
    Console().print(virtual)
    headrace_cpu.set_threads(1)
    times = in_turn(chains(options.kib << 8), options.rounds)
    real = Table("two chains", "", "one stream, ms", "two streams, ms", "faster by")
    for who in ("cpu", "onnxruntime"):
        for what, tenth in (("median", 5), ("10th percentile", 1)):
            one, two = (sorted(times[who, n])[len(times[who, n]) * tenth // 10] for n in (1, 2))
            real.add_row(who, what, f"{1e3 * one:.1f}", f"{1e3 * two:.1f}", f"{one / two:.2f}")
    Console().print(real)


def job() -> JobGraph:
    """``y = relu(x)`` on a fake device: copied there, computed, copied back."""
    builder = JobGraphBuilder("job", Placement.of_device("fakedevice"))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return builder.finish()


def planned_stages(width: int, pieces: int) -> float:
    """Virtual seconds of ``pieces`` calls, by the simulator."""
    concurrency = Concurrency(width)
    return simulate(
        compile_job(job(), default_registry(), concurrency=concurrency).plan, pieces
    ).seconds


def run_stages(width: int, pieces: int) -> float:
    """Virtual seconds of ``pieces`` calls, on the streams of a fake device."""
    with (
        deterministic(0, in_time_order=True) as schedule,
        CompiledJob(job(), options=CompileOptions(concurrency=Concurrency(width))) as compiled,
        experiment(latencies=Latencies(h2d=1, launch=1, d2h=1), clock=schedule) as seen,
    ):
        for call in [compiled.submit({"x": X}) for _ in range(pieces)]:
            call.wait()
        return seen.seconds


def chains(elements: int) -> dict[tuple[str, int], Callable[[], object]]:
    """A call of two chains, by who runs it and on how many streams."""
    feeds = {name: np.linspace(-1, 1, elements, dtype=np.float32) for name in ("a", "b")}
    both = model(("a", "b"), elements)
    calls: dict[tuple[str, int], Callable[[], object]] = {}
    for streams in (1, 2):
        ours = flow.onnx.load(both, "cpu", compute_streams=streams)
        calls["cpu", streams] = partial(ours.run, feeds)
    peers = [
        partial(peer_session(model((name,), elements)).run, None, {name: feeds[name]})
        for name in feeds
    ]
    pool = ThreadPoolExecutor(2)
    calls["onnxruntime", 1] = lambda: [peer() for peer in peers]
    calls["onnxruntime", 2] = lambda: [f.result() for f in [pool.submit(p) for p in peers]]
    for call in calls.values():
        call()
    return calls


def model(names: tuple[str, ...], elements: int) -> bytes:
    """An ONNX model with one chain of ``OPS`` for each of its inputs ``names``."""

    def floats(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements])

    nodes = [
        helper.make_node(op, [f"{name}{i}" if i else name], [f"{name}{i + 1}"])
        for name in names
        for i, op in enumerate(OPS)
    ]
    outputs = [floats(f"{name}{len(OPS)}") for name in names]
    graph = helper.make_graph(nodes, "chains", [floats(name) for name in names], outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


if __name__ == "__main__":
    main()
