"""What overlaps on a device, measured in virtual time: the runtime's own threads, queues and waits.

The simulator of core says what a plan allows; here the executor is held to it.
"""

from __future__ import annotations

import numpy as np
import pytest

from headrace.compiler.concurrency import Concurrency
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.placement import Placement
from headrace.runtime.simulator import simulate
from headrace.tensor_spec import TensorSpec
from headrace.testing.deterministic import deterministic
from headrace_fakedevice import Latencies, experiment

X = np.array([1, -2, 3], np.float32)
PIECES = 100


def one_op() -> JobGraph:
    """``y = relu(x)``."""
    builder = JobGraphBuilder("job", Placement.of_device("fakedevice"))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return builder.finish()


def two_chains() -> JobGraph:
    """Four times relu of one input, four times negative of another."""
    builder = JobGraphBuilder("job", Placement.of_device("fakedevice"))
    for name, op in (("a", "tanh"), ("b", "negative")):
        y = builder.input(name, TensorSpec.of(X))
        for _ in range(4):
            (y,) = builder.op(op, [y])
        builder.output(f"{name}4", y)
    return builder.finish()


def seconds(graph: JobGraph, concurrency: Concurrency, latencies: Latencies, calls: int) -> float:
    """Virtual seconds until ``calls`` calls are over, submitted without a pause."""
    names = [tensor.name for tensor in graph.inputs]
    with (
        deterministic(0, in_time_order=True) as schedule,
        CompiledJob(graph, options=CompileOptions(concurrency=concurrency)) as job,
        experiment(latencies=latencies, clock=schedule) as seen,
    ):
        under_way = [job.submit(dict.fromkeys(names, X + n)) for n in range(calls)]
        results = [call.wait() for call in under_way]
    if "y" in results[0]:
        for n, result in enumerate(results):
            np.testing.assert_array_equal(result["y"], np.maximum(X + n, 0))
    return seen.seconds


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
def test_copies_overlap_with_work_as_far_as_the_plan_allows(width: int) -> None:
    """Copy, work and copy back take a second each; the simulator says how long a hundred take."""
    concurrency = Concurrency(width)
    taken = seconds(one_op(), concurrency, Latencies(h2d=1, launch=1, d2h=1), PIECES)
    with CompiledJob(one_op(), options=CompileOptions(concurrency=concurrency)) as job:
        assert taken == simulate(job.plan, PIECES).seconds
    if width >= 3:
        assert taken <= 1.03 * (PIECES + 2)


def test_the_slowest_stage_is_never_idle() -> None:
    """Work of three seconds between copies of one: what is added is one copy at each end."""
    latencies = Latencies(h2d=1, launch=3, d2h=1)
    assert seconds(one_op(), Concurrency(3), latencies, PIECES) == 3 * PIECES + 2


@pytest.mark.parametrize(("streams", "expected"), [(1, 8), (2, 4)])
def test_branches_overlap_on_compute_streams(streams: int, expected: int) -> None:
    """Two chains of four ops take the time of one where there are two streams."""
    concurrency = Concurrency(compute_streams=streams)
    assert seconds(two_chains(), concurrency, Latencies(launch=1), 1) == expected
