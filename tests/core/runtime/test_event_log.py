"""What actors were told is enough to find a run again, act by act."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_jobs import OPS, Case, cases, check, feeds_of
from toy_backends import far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import Compiled, compile_job
from headrace.errors import ProtocolError, RunError
from headrace.graph import JobGraphBuilder
from headrace.ids import ActorId, RegisterId, StreamId
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall
from headrace.placement import Placement
from headrace.plan import Plan
from headrace.registry import BackendRegistry
from headrace.runtime.event_log import EventLog, replay
from headrace.runtime.events import ActLaunched, CallArrived, RegisterReady
from headrace.runtime.executor import Executor
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
Acts = Iterable[tuple[ActorId, int]]


def by_stream(plan: Plan, acts: Acts) -> dict[StreamId, list[tuple[ActorId, int]]]:
    """Acts in the order of their stream."""
    found: dict[StreamId, list[tuple[ActorId, int]]] = {}
    for actor_id, number in acts:
        stream_id = plan.actors[actor_id].stream_id
        found.setdefault(stream_id, []).append((actor_id, number))
    return found


concurrencies = st.builds(Concurrency, st.integers(1, 4), st.integers(1, 3))


@given(cases(("near:0", "near:1", "far:0", "far:1")), concurrencies, st.integers(1, 5))
@settings(max_examples=40)
def test_a_run_is_found_again_from_its_log(
    case: Case, concurrency: Concurrency, calls: int
) -> None:
    """On threads of streams, with calls that overlap: the same acts in the same order on each."""
    registry = BackendRegistry.from_modules({"near": near(OPS), "far": far(OPS)})
    compiled = compile_job(case.graph, registry, concurrency=concurrency)
    log = EventLog()
    executor = Executor(compiled.plan, registry, compiled.constants, log=log)
    try:
        assert not executor.runs_inline
        feeds = [feeds_of(case, seed) for seed in range(calls)]
        for fed, call in [(fed, executor.submit(fed)) for fed in feeds]:
            check(case, fed, {name: call.wait()[name] for name, _ in case.graph.outputs})
    finally:
        executor.close()
    again = replay(compiled.plan, log.messages)
    assert by_stream(compiled.plan, again.acts) == by_stream(compiled.plan, log.acts)
    assert len(log.acts) == len(compiled.plan.actors) * calls


def relu(registry: BackendRegistry) -> Compiled:
    """``y = relu(x)`` on ``far``."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return compile_job(builder.finish(), registry)


def test_a_log_begins_anew_after_an_error() -> None:
    """What is left to look at is the run that failed, until the next call."""
    broken = True

    def kernel(call: OpCall) -> NumpyKernel:
        made = NumpyKernel(call)
        compute = made.function

        def function(*args: Any) -> None:
            if broken:
                raise ArithmeticError("the chip is on fire")
            compute(*args)

        made.function = function
        return made

    registry = BackendRegistry.from_modules({"near": near(kernel=kernel)})
    builder = JobGraphBuilder("job", Placement.of_device("near"))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    compiled = compile_job(builder.finish(), registry)
    log = EventLog()
    executor = Executor(compiled.plan, registry, {}, log=log)
    try:
        with pytest.raises(RunError):
            executor.run({"x": X})
        assert replay(compiled.plan, log.messages).acts == tuple(log.acts)
        assert [number for _, number in log.acts] == [0, 0]  # taken in, and computed
        broken = False
        assert executor.run({"x": X})["y"].tolist() == [1, 0, 3]
    finally:
        executor.close()
    assert [number for _, number in log.acts] == [0, 0, 0]


def test_a_log_that_tells_no_run_is_refused(registry: BackendRegistry) -> None:
    """A message that nobody sent, one twice, and one for an actor of another plan."""
    plan = relu(registry).plan
    call = (ActorId(0), CallArrived())
    with pytest.raises(ProtocolError, match=r"message 0 tells actor 1 .* nobody has sent"):
        replay(plan, [(ActorId(1), RegisterReady(RegisterId(0)))])
    with pytest.raises(
        ProtocolError, match=r"message 2 tells actor 0 ActLaunched.* nobody has sent"
    ):
        replay(plan, [call, *[(ActorId(0), ActLaunched(0))] * 2])
    with pytest.raises(ProtocolError, match="message 0 is for actor 99; plan 'job' has 5"):
        replay(plan, [(ActorId(99), CallArrived())])
    assert replay(plan, [call]).under_way == ((ActorId(0), ActLaunched(0)),)
