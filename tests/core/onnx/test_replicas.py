"""Calls of one model by several threads: side by side where the host does the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from forked import in_child
from onnx_models import info, model, node
from session_jobs import counter, on
from toy_backends import near

import headrace as flow
from headrace.aligned import address_of
from headrace.errors import RunError, SessionError
from headrace.numpy_ops import NumpyFunction, NumpyKernel
from headrace.onnx import Model, load
from headrace.op_call import OpCall
from headrace.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import Array

W = np.array([1, 2, 3], np.float32)
SHIFTED = model([node("Add", "x w", "y")], [info("x", [3])], weights={"w": W})
X = np.zeros(3, np.float32)


class Meeting:
    """A backend ``near`` whose launches wait until so many are under way at once.

    Attributes:
        xs, weights: where the operands of what was launched lie.
        most: how many launches were under way at once.
        all_but_one: set when one more is waited for.
    """

    def __init__(self, parties: int) -> None:
        self.xs: set[int] = set()
        self.weights: set[int] = set()
        self.most = 0
        self.all_but_one = threading.Event()
        self._under_way = 0
        self._counting = threading.Lock()
        self.parties(parties)
        self.registry = adding(self.add)

    def parties(self, number: int) -> None:
        """So many from now on."""
        self._parties, self._barrier = number, threading.Barrier(number, timeout=20)

    def add(self, call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """The op, when all that should be there are."""
        x, w = inputs
        assert x is not None
        assert w is not None
        self.xs.add(address_of(x))
        self.weights.add(address_of(w))
        self.hold(lambda: np.add(x, w, outputs[0]))

    def hold(self, work: Callable[[], object]) -> None:
        """Do some work when all that should be there are."""
        with self._counting:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            if self._under_way == self._parties - 1:
                self.all_but_one.set()
        self._barrier.wait()
        work()
        with self._counting:
            self._under_way -= 1


def adding(function: NumpyFunction) -> BackendRegistry:
    """A backend ``near`` that adds by ``function``."""
    kernel = partial(NumpyKernel, function=function)
    return BackendRegistry.from_modules({"near": near(("add",), kernel)})


def in_threads(loaded: Model, calls: int, threads: int | None = None) -> list[list[float]]:
    """What calls give that begin on so many threads; the n-th is fed n."""
    with ThreadPoolExecutor(threads or calls) as pool:
        runs = [pool.submit(loaded.run, {"x": X + n}) for n in range(calls)]
        return [run.result()["y"].tolist() for run in runs]


def sums(calls: int) -> list[list[float]]:
    """What they should give."""
    return [[n + 1, n + 2, n + 3] for n in range(calls)]


@pytest.mark.parametrize("callers", [2, 8])
def test_calls_of_several_threads_are_under_way_at_once(callers: int) -> None:
    """Each in memory of its own, with weights that lie once."""
    meeting = Meeting(callers)
    with load(SHIFTED, "near", registry=meeting.registry) as loaded:
        for _ in range(3):
            assert in_threads(loaded, callers) == sums(callers)
    assert len(meeting.xs) == callers
    assert len(meeting.weights) == 1


def test_what_threads_submit_is_under_way_at_once() -> None:
    """As what they run is."""
    meeting = Meeting(2)
    with (
        load(SHIFTED, "near", registry=meeting.registry) as loaded,
        ThreadPoolExecutor(2) as pool,
    ):
        calls = [pool.submit(loaded.submit, {"x": X + n}) for n in range(2)]
        made = [call.result().result()["y"].tolist() for call in calls]
    assert made == sums(2)


def test_a_job_for_which_there_is_no_memory_has_that_of_idle_replicas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No replica is made that does not fit, and none is in the way of what is needed."""
    doubled = model([node("Add", "x x", "y")], [info("x", ["n"])])
    meeting = Meeting(2)
    with load(doubled, "near", registry=meeting.registry) as loaded:
        a, b = (np.ones(n, np.float32) for n in (100_000, 110_000))

        def twice(x: Array) -> list[float]:
            with ThreadPoolExecutor(2) as pool:
                runs = [pool.submit(loaded.run, {"x": x}) for _ in range(2)]
                return [run.result()["y"].max() for run in runs]

        assert twice(a) == [2, 2]
        one_of_each = 2 * (a.nbytes + b.nbytes)
        monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", str(one_of_each + a.nbytes // 4))
        meeting.parties(1)
        assert loaded.run({"x": b})["y"].max() == 2
        assert twice(b) == [2, 2]


def test_a_job_for_which_there_is_no_memory_waits_for_that_of_busy_replicas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls that are under way come to their end; the replica goes then, and the job is opened."""
    doubled = model([node("Add", "x x", "y")], [info("x", ["n"])])
    a, b = (np.ones(n, np.float32) for n in (100_000, 110_000))
    under_way, wanted = threading.Semaphore(0), threading.Event()

    def add(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        (x, _) = inputs
        assert x is not None
        if x.size == a.size:
            under_way.release()
            assert wanted.wait(20)
        np.add(x, x, outputs[0])

    registry = adding(add)
    with load(doubled, "near", registry=registry) as loaded, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(loaded.run, {"x": a}) for _ in range(2)]
        for _ in runs:
            assert under_way.acquire(timeout=20)
        held = sum(m.in_use_bytes for m in flow.memory_statistics(registry))
        monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", str(held + b.nbytes))
        real = Executor.close

        def close(executor: Executor) -> None:
            if executor.is_under_way:
                wanted.set()
            real(executor)

        monkeypatch.setattr(Executor, "close", close)
        with load(doubled, "near", registry=registry) as other:
            assert other.run({"x": b})["y"].max() == 2
        assert [run.result()["y"].max() for run in runs] == [2, 2]


def test_a_replica_takes_no_memory_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for a second input and result, and not for a second weight."""
    ones = np.ones(100_000, np.float32)
    shifted = model([node("Add", "x w", "y")], [info("x", [ones.size])], weights={"w": ones})
    meeting = Meeting(1)
    with load(shifted, "near", registry=meeting.registry) as loaded, ThreadPoolExecutor(2) as pool:
        loaded.run({"x": ones})
        held = sum(m.in_use_bytes for m in flow.memory_statistics(meeting.registry))
        monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", str(held + 2 * ones.nbytes + 4096))
        meeting.parties(2)
        runs = [pool.submit(loaded.run, {"x": ones}) for _ in range(2)]
        assert [run.result()["y"].max() for run in runs] == [2, 2]
        more = sum(m.in_use_bytes for m in flow.memory_statistics(meeting.registry)) - held
        assert more < 2.1 * ones.nbytes


def test_more_callers_than_there_may_be_replicas_wait_for_one_that_is_idle() -> None:
    """And each gets its own results."""
    registry = BackendRegistry.from_modules({"near": near()})
    with load(SHIFTED, "near", registry=registry) as loaded:
        assert in_threads(loaded, 2_000, 40) == sums(2_000)


def test_a_call_that_fails_fails_for_its_caller_alone() -> None:
    """One beside it, in another replica, gives its result."""

    both = threading.Barrier(2, timeout=20)

    def add(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        both.wait()
        x, w = inputs
        assert x is not None
        assert w is not None
        if x[0] == 1:
            raise ArithmeticError("the chip is on fire")
        np.add(x, w, outputs[0])

    with load(SHIFTED, "near", registry=adding(add)) as loaded, ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            fine, bad = (pool.submit(loaded.run, {"x": X + n}) for n in (0, 1))
            assert fine.result()["y"].tolist() == W.tolist()
            with pytest.raises(RunError, match="the chip is on fire"):
                bad.result()


def test_a_model_that_is_closed_meanwhile_ends_its_calls_first() -> None:
    """In all replicas; whoever calls it later is told."""
    meeting = Meeting(3)
    loaded = load(SHIFTED, "near", registry=meeting.registry)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(loaded.run, {"x": X + n}) for n in range(2)]
        with ThreadPoolExecutor(1) as closing:
            assert meeting.all_but_one.wait(20)
            closed = closing.submit(loaded.close)
            meeting.hold(lambda: None)
            closed.result()
        assert [run.result()["y"].tolist() for run in runs] == sums(2)
    with pytest.raises(SessionError, match="closed"):
        loaded.run({"x": X})


def test_a_child_of_a_process_whose_replicas_are_busy_is_refused() -> None:
    """It waits for none of them; the calls of the parent come to their ends."""
    meeting = Meeting(3)
    with (
        load(SHIFTED, "near", registry=meeting.registry) as loaded,
        ThreadPoolExecutor(2) as pool,
    ):
        runs = [pool.submit(loaded.run, {"x": X + n}) for n in range(2)]
        assert meeting.all_but_one.wait(20)
        told = in_child(lambda: loaded.run({"x": X}))
        meeting.hold(lambda: None)
        assert [run.result()["y"].tolist() for run in runs] == sums(2)
    assert "was compiled before this process was forked" in told


def test_a_job_with_variables_has_no_replicas() -> None:
    """A call finds what the one before left."""
    meeting = Meeting(1)
    with flow.Session(meeting.registry) as session:
        add, read = counter(on(session, "near"))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, [X + n for n in range(200)]))
        assert read().tolist() == [sum(range(200))] * 3
    assert meeting.most == 1
