"""Threads that take turns: one seed one run, no turn lost, and what waits for itself is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import numpy as np
import pytest
from toy_backends import far, near

from headrace.compiler.concurrency import Concurrency
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.runtime import bus, worker
from headrace.runtime.worker import Worker
from headrace.tensor_spec import TensorSpec
from headrace.testing.deterministic import DeadlockError, LeftBehindError, deterministic

X = np.array([1, -2, 3], np.float32)


def new_queue() -> SimpleQueue[Any]:
    """A queue as the runtime makes its own."""
    queue: SimpleQueue[Any] = vars(worker)["queue"].SimpleQueue()
    return queue


def job() -> JobGraph:
    """``y = relu(x) + x``, on two devices."""
    builder = JobGraphBuilder("job", Placement.of_device("far:0"))
    x = builder.input("x", TensorSpec.of(X))
    with builder.placed(Placement.of_device("far:1")):
        (y,) = builder.op("relu", [x])
    builder.output("y", *builder.op("add", [y, x]))
    return builder.finish()


def run(seed: int) -> list[str]:
    """Several calls in flight under one seed; who went on, switch for switch."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    with (
        deterministic(seed) as schedule,
        CompiledJob(job(), registry, CompileOptions(concurrency=Concurrency(2))) as compiled,
    ):
        calls = [compiled._executor.submit({"x": X + number}) for number in range(3)]
        for number, call in enumerate(calls):
            expected = np.maximum(X + number, 0) + X + number
            np.testing.assert_array_equal(call.wait()["y"], expected)
    return schedule.log


def test_one_seed_gives_one_run() -> None:
    """Switch for switch, with the runtime's own workers and queues; and another seed another."""
    logs = [run(seed) for seed in range(5)]
    assert [run(seed) for seed in range(5)] == logs
    assert len({tuple(log) for log in logs}) == 5
    assert len(set(logs[0])) > 4


def test_a_message_that_is_lost_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits is told what for, at once."""
    monkeypatch.setattr(Worker, "post", lambda self, actor_id, event: None)
    with pytest.raises(DeadlockError, match=r"'main' waits for a.*waits for an item of a queue"):
        run(0)


def crossed_locks() -> None:
    """Two threads, each with the lock that the other wants."""
    with deterministic(1) as turns:
        one, two = bus.new_lock(), bus.new_lock()

        def take(first: Any, second: Any) -> None:
            for _ in range(100):
                with first:
                    turns.point()
                    with second:
                        pass

        turns.start("other", lambda: take(two, one))
        take(one, two)


def test_a_lock_that_is_never_given_back_is_a_deadlock() -> None:
    """Each thread is named with what it waits for."""
    with pytest.raises(DeadlockError, match="'main' waits for a lock; 'other' waits for a lock"):
        crossed_locks()


def idle_thread(error: Exception | None = None) -> None:
    """A block that leaves a thread which waits, and ends with an error of its own or none."""
    with deterministic(0) as turns:
        turns.start("idle", new_queue().get)
        if error is not None:
            raise error


def test_a_thread_that_outlives_the_block_is_an_error() -> None:
    """A worker that nobody stopped is named; it is ended all the same."""
    with pytest.raises(LeftBehindError, match="'idle' waits for an item of a queue"):
        idle_thread()


def test_an_error_in_the_block_is_not_hidden_by_threads_that_are_left() -> None:
    """What went wrong first is what is told."""
    with pytest.raises(ZeroDivisionError):
        idle_thread(ZeroDivisionError())


def test_messages_carry_the_time() -> None:
    """Who gets a message has waited until it was sent; who waits in vain, for the whole timeout."""
    with deterministic(0, in_time_order=True) as turns:
        inbox, heard = new_queue(), []

        def listen() -> None:
            heard.append((inbox.get(), turns.now()))
            with pytest.raises(Empty):
                inbox.get(timeout=5)
            heard.append(("nothing", turns.now()))

        thread = turns.start("listener", listen)
        turns.advance(3)
        inbox.put("hello")
        turns.join(thread)
    assert heard == [("hello", 3), ("nothing", 8)]


def test_behind_the_block_everything_is_as_before() -> None:
    """The runtime has its own threads and queues again."""
    with deterministic(0):
        assert type(new_queue()) is not SimpleQueue
        assert type(bus.new_lock()) is not type(Lock())
    assert type(new_queue()) is SimpleQueue
    assert type(bus.new_lock()) is type(Lock())


FIRST = """
import numpy as np
from toy_backends import far

import headrace as flow
import headrace.typing as tp
from headrace.registry import BackendRegistry
from headrace.testing.deterministic import deterministic

config = flow.FunctionConfig()
config.concurrency_width = 2
config.default_placement_scope(flow.scope.placement("far", "0:0"))
registry = BackendRegistry.from_modules({"far": far()})
with deterministic(0) as turns, flow.Session(registry) as session:

    @flow.global_function(function_config=config, session=session)
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return flow.relu(x)

    print(job(np.array([-1, 2], np.float32)).tolist(), len(set(turns.log)) > 1)
"""


def test_the_first_thing_that_a_process_runs_has_no_real_thread() -> None:
    """What the runtime imports as late as it can takes turns as well."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env={"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("[0.0, 2.0] True\n", "", 0)
