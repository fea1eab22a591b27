"""Handlers of signals, and kernels, that ask for what this thread is in the middle of."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_backends
from onnx_models import info, model, node
from toy_backends import FarKernel, far, near

import headrace as flow
import headrace.typing as tp
from headrace import collector
from headrace.device import Buffer, Launch
from headrace.errors import ResourceLimitError, RunError, SessionError
from headrace.frontend import delivery
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry
from headrace.runtime import memories, replicas, shelter
from headrace.runtime.executor import Executor

X = np.array([1, -2, 3], np.float32)
ITSELF = "that this very thread has to bring to its end first"
DOUBLED = model([node("Add", "x x", "y")], [info("x", ["n"])])


class Within:
    """Something to do once, in the middle of a call, by a handler or by the kernel itself."""

    def __init__(self) -> None:
        self.handle: Callable[[], object] | None = None
        self.work: Callable[[], object] | None = None
        self.told: list[Any] = []

    def handler(self, number: int, frame: object) -> None:
        """Do it, and keep what comes of it."""
        handle, self.handle = self.handle, None
        assert handle is not None
        try:
            self.told.append(handle())
        except SessionError as error:
            self.told.append(str(error))

    def now(self) -> None:
        """Where a kernel works, or is made."""
        if self.work is not None:
            work, self.work = self.work, None
            work()
        if self.handle is not None:
            signal.raise_signal(signal.SIGUSR1)

    def registry(self) -> BackendRegistry:
        """Backends ``near`` and ``far`` whose kernels come to it."""

        def over(kind: type[NumpyKernel]) -> type[NumpyKernel]:
            class Reached(kind):  # type: ignore[misc,valid-type]
                def enqueue(inner, context: Any, work: Callable[[], None]) -> Launch:
                    def reach() -> None:
                        self.now()
                        work()

                    launch: Launch = super().enqueue(context, reach)
                    return launch

            return Reached

        plugins = {"near": near(kernel=over(NumpyKernel)), "far": far(kernel=over(FarKernel))}
        return BackendRegistry.from_modules(plugins)


@pytest.fixture
def within() -> Iterator[Within]:
    """Nothing yet."""
    made = Within()
    before = signal.signal(signal.SIGUSR1, made.handler)
    yield made
    signal.signal(signal.SIGUSR1, before)


def session_on(tag: str, within: Within, width: int = 1) -> tuple[flow.Session, Any, Any]:
    """A session with a job that ran, and another that is not compiled."""
    session = flow.Session(within.registry())
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))

    @flow.global_function(function_config=config, session=session)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(x) + x

    job(X)

    @flow.global_function(function_config=config, session=session)
    def other(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(x)

    return session, job, other


@pytest.mark.parametrize("tag", ["near", "far"])
@pytest.mark.parametrize("what", ["close", "cancel", "sync", "variables", "other", "plan"])
def test_what_would_wait_for_the_call_that_a_handler_interrupted_is_refused(
    within: Within, tag: str, what: str
) -> None:
    """The call goes on; afterwards all of it can be had."""
    session, job, other = session_on(tag, within)
    ask = {
        "close": session.close,
        "cancel": lambda: session.close(cancel=True),
        "sync": session.sync,
        "variables": session.get_all_variables,
        "other": lambda: other(X),
        "plan": session.plan,
    }[what]
    within.handle = ask
    assert job(X).tolist() == [2, -2, 6]
    assert len(within.told) == 1
    assert ITSELF in str(within.told[0])
    ask()
    session.close()


@pytest.mark.parametrize(("tag", "waits"), [("near", False), ("far", True)])
def test_a_handler_may_call_what_can_run_beside_the_call(
    within: Within, tag: str, waits: bool
) -> None:
    """As a replica in the host's memory can; a device has one queue."""
    session, job, _ = session_on(tag, within)
    within.handle = lambda: job(X).tolist()
    assert job(X).tolist() == [2, -2, 6]
    assert (ITSELF in str(within.told[0])) if waits else (within.told == [[2, -2, 6]])
    session.close()


@pytest.mark.parametrize("what", ["sync", "close", "callback"])
def test_a_handler_may_come_while_a_callback_is_given(
    within: Within, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for callbacks, or gives another one, would wait for that to be given."""
    session, _, _ = session_on("near", within)
    heard: list[list[float]] = []

    @flow.global_function(session=session)
    def tell(x: tp.Numpy.Placeholder((3,))) -> tp.Callback[tp.Numpy]:
        with flow.scope.placement("near", "0:0"):
            return flow.relu(x)

    def start(thread: Any) -> None:
        within.now()
        shelter.start(thread)

    monkeypatch.setattr(delivery, "start", start)
    another, give = tell(X), tell(X)
    within.handle = {
        "sync": session.sync,
        "close": session.close,
        "callback": lambda: another(lambda made: heard.append(made.tolist())),
    }[what]
    give(lambda made: heard.append(made.tolist()))
    session.sync()
    assert heard == [[1, 0, 3]]
    assert ITSELF in str(within.told[0])
    session.close()


def test_a_handler_that_calls_what_it_interrupts_comes_to_an_end(within: Within) -> None:
    """The innermost of them is refused when all replicas are those further out."""
    session, job, _ = session_on("near", within)

    def again() -> object:
        within.handle = again
        return job(X)

    within.handle = again
    assert job(X).tolist() == [2, -2, 6]
    assert ITSELF in str(within.told[0])
    assert all(ITSELF in str(told) or told.tolist() == [2, -2, 6] for told in within.told)
    session.close()


@pytest.mark.parametrize("tag", ["near", "far"])
def test_what_a_handler_is_told_may_end_the_program(within: Within, tag: str) -> None:
    """A handler that closes and exits gets the error; the session is closed by its block."""
    session, job, _ = session_on(tag, within)
    caught = pytest.raises(SessionError, match=ITSELF)
    before = signal.signal(signal.SIGUSR1, lambda *_: session.close())
    within.handle = session.close  # asked for, by the other handler
    with caught, session:
        job(X)
    signal.signal(signal.SIGUSR1, before)
    assert session.status is flow.SessionStatus.CLOSED


@pytest.mark.parametrize("tag", ["near", "far"])
def test_a_plan_says_the_same(within: Within, tag: str, tmp_path: Path) -> None:
    """It can be closed when the run is over."""
    session, _, _ = session_on(tag, within)
    session.save_plan("job", tmp_path / "job.plan")
    session.close()
    with flow.load_plan(tmp_path / "job.plan", registry=within.registry()) as plan:
        within.handle = plan.close
        (made,) = plan.run({"x": X}).values()
    assert made.tolist() == [2, -2, 6]
    assert ITSELF in str(within.told[0])


@pytest.mark.parametrize("tag", ["near", "far"])
def test_a_model_that_a_handler_closes_is_closed_when_the_run_is_over(
    within: Within, tag: str
) -> None:
    """The run gives its results."""
    registry = within.registry()
    loaded = flow.onnx.load(DOUBLED, tag, registry=registry)
    loaded.run({"x": X})
    within.handle = loaded.close
    assert loaded.run({"x": X})["y"].tolist() == [2, -4, 6]
    assert within.told == [None]
    assert [one.in_use_bytes for one in flow.memory_statistics(registry)] in ([0], [0, 0])
    with pytest.raises(SessionError, match="closed"):
        loaded.run({"x": X})


@pytest.mark.parametrize("what", ["close", "run"])
def test_a_handler_may_come_while_a_job_of_a_model_is_made(
    within: Within, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is closed as soon as it has run; a run would wait for itself."""
    registry = within.registry()
    loaded = flow.onnx.load(DOUBLED, "near", registry=registry)
    loaded.run({"x": X})
    make = loaded._jobs._maker.make

    def make_slowly(*arguments: Any) -> object:
        within.now()
        return make(*arguments)

    monkeypatch.setattr(loaded._jobs._maker, "make", make_slowly)
    within.handle = {"close": loaded.close, "run": lambda: loaded.run({"x": X[:1]})}[what]
    assert loaded.run({"x": X[:2]})["y"].tolist() == [2, -4]
    assert within.told == [None] if what == "close" else ITSELF in str(within.told[0])
    loaded.close()
    assert [one.in_use_bytes for one in flow.memory_statistics(registry)] == [0]


@pytest.mark.parametrize("what", ["session", "model"])
def test_a_kernel_that_closes_its_own_job_is_told(within: Within, what: str) -> None:
    """On a thread of its stream as well, which closing would have to end."""
    session, job, _ = session_on("near", within, width=2)
    loaded = flow.onnx.load(DOUBLED, "near", registry=within.registry(), concurrency_width=2)
    within.work = {"session": session.close, "model": loaded.close}[what]
    future = job.submit(X) if what == "session" else loaded.submit({"x": X})
    with pytest.raises(RunError, match=ITSELF):
        future.result()
    session.close()
    loaded.close()


@pytest.mark.parametrize("what", ["load", "close"])
def test_a_plugin_may_hold_a_lock_while_it_works(
    within: Within, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that comes then opens and closes on its own thread, which may have it again."""
    lock = threading.RLock()

    class Locked(toy_backends.FarAllocator):
        def allocate(self, nbytes: int) -> toy_backends.FarBuffer:
            with lock:
                return super().allocate(nbytes)

        def free(self, buffer: Buffer) -> None:
            with lock:
                super().free(buffer)

    monkeypatch.setattr(toy_backends, "FarAllocator", Locked)
    registry = within.registry()
    loaded, other = (flow.onnx.load(DOUBLED, "far", registry=registry) for _ in range(2))
    with loaded, other:
        for one in (loaded, other):
            one.run({"x": X})

        def load() -> list[float]:
            with flow.onnx.load(DOUBLED, "far", registry=registry) as another:
                return list(another.run({"x": X})["y"].tolist())

        def work() -> None:
            with lock:
                signal.raise_signal(signal.SIGUSR1)

        within.handle = {"load": load, "close": other.close}[what]
        within.work = work
        assert loaded.run({"x": X})["y"].tolist() == [2, -4, 6]
        assert within.told == [{"load": [2, -4, 6], "close": None}[what]]


@pytest.mark.parametrize("moment", ["made", "waited for"])
@pytest.mark.parametrize("what", ["run", "load"])
def test_a_handler_may_come_while_a_replica_is_had(
    within: Within, moment: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would wait for that is refused, no memory is asked back for it; the call goes on."""
    main, others, go_on = threading.get_ident(), threading.Semaphore(0), threading.Event()

    def busy() -> None:
        if threading.get_ident() != main:
            others.release()
            assert go_on.wait(20)

    monkeypatch.setattr(within, "now", busy)
    registry = within.registry()
    loaded, x = flow.onnx.load(DOUBLED, "near", registry=registry), {"x": X}
    if moment == "waited for":
        monkeypatch.setattr(replicas, "_FEW", 2)
        monkeypatch.setattr(replicas, "processors", lambda: 1)
    with loaded, ThreadPoolExecutor(2) as pool:
        loaded.run(x)
        runs = [pool.submit(loaded.run, x) for _ in range(2)]
        for _ in runs:
            assert others.acquire(timeout=20)

        def load() -> object:
            monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "1")
            with (
                pytest.raises(ResourceLimitError),
                flow.onnx.load(DOUBLED, "near", registry=registry) as another,
            ):
                another.run(x)
            monkeypatch.delenv("HEADRACE_MEMORY_LIMIT")
            return ITSELF

        within.handle = {"run": lambda: loaded.run(x), "load": load}[what]
        step = {"made": "replica", "waited for": "stand_back"}[moment]
        real = getattr(Executor, step)

        def interrupted(executor: Executor, *args: Any, **named: Any) -> object:
            if within.handle is not None and threading.get_ident() == main:
                signal.raise_signal(signal.SIGUSR1)
                go_on.set()
            return real(executor, *args, **named)

        monkeypatch.setattr(Executor, step, interrupted)
        assert loaded.run(x)["y"].tolist() == [2, -4, 6]
        assert [run.result()["y"].tolist() for run in runs] == [[2, -4, 6]] * 2
    assert len(within.told) == 1
    assert ITSELF in str(within.told[0])


@pytest.mark.parametrize("what", ["statistics", "close"])
def test_a_handler_may_come_while_memories_are_looked_at(
    within: Within, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock of theirs is held by the thread that handles signals."""
    registry = within.registry()
    loaded = flow.onnx.load(DOUBLED, "near", registry=registry)
    loaded.run({"x": X})

    @contextmanager
    def interrupted(lock: threading.Lock) -> Iterator[None]:
        with collector.held(lock):
            if within.handle is not None:
                signal.raise_signal(signal.SIGUSR1)
            yield

    monkeypatch.setattr(memories, "held", interrupted)
    statistics = partial(flow.memory_statistics, registry)
    within.handle = {"statistics": statistics, "close": loaded.close}[what]
    assert len(statistics()) == 1
    assert len(within.told) == 1
    loaded.close()
    assert [one.in_use_bytes for one in statistics()] == [0]
