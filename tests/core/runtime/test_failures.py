"""Threads that die, processes that end, kernels that want to end them: nothing hangs or is lost."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from programs import output
from toy_backends import FarAllocator, FarKernel, far, near

from headrace.compiler.concurrency import Concurrency
from headrace.device import DeviceContext, Launch
from headrace.errors import RunError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.numpy_ops import NumpyKernel
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
LIMIT_SECONDS = 30


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """A test that hangs is ended, and its memory and threads are counted."""

    def bark(*signal_and_frame: object) -> None:
        raise TimeoutError(f"the test has not ended after {LIMIT_SECONDS} seconds")

    live, old = FarAllocator.live, signal.signal(signal.SIGALRM, bark)
    signal.alarm(LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    assert FarAllocator.live == live


def job(device: str) -> JobGraph:
    """``y = relu(x) + x``."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    x = builder.input("x", TensorSpec.of(X))
    (y,) = builder.op("relu", [x], name="first")
    builder.output("y", *builder.op("add", [y, x], name="last"))
    return builder.finish()


def check(compiled: CompiledJob) -> None:
    assert compiled.run({"x": X})["y"].tolist() == [2, -2, 6]


def backend(tag: str, raising: Callable[[], BaseException | None]) -> BackendRegistry:
    """``near`` or ``far``, the launches of which raise what ``raising`` returns."""
    base: type[NumpyKernel] = NumpyKernel if tag == "near" else FarKernel

    class Kernel(base):  # type: ignore[misc, valid-type]
        def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
            launch: Launch = super().enqueue(context, work)

            def raise_or_launch() -> None:
                error = raising()
                if error is not None:
                    raise error
                launch()

            return raise_or_launch

    make = near if tag == "near" else far
    return BackendRegistry.from_modules({tag: make(kernel=Kernel)})


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=type)
def test_a_kernel_that_would_end_the_process_ends_its_call(error: BaseException) -> None:
    """On a thread of the runtime it is an error of the run, and the next call works."""
    errors: list[BaseException] = [error]
    registry = backend("far", lambda: errors.pop() if errors else None)
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:
        with pytest.raises(RunError, match=r"from relu 'first' .* failed on far:0/s0") as caught:
            compiled.run({"x": X})
        assert caught.value.__cause__ is error
        check(compiled)


def test_a_kernel_that_calls_exit_on_the_callers_thread_ends_its_call() -> None:
    """The program would end there with the kernel's exit code, and not a word."""
    errors: list[BaseException] = [SystemExit(0)]
    registry = backend("near", lambda: errors.pop() if errors else None)
    with CompiledJob(job("near"), registry) as compiled:
        with pytest.raises(RunError, match=r"failed on near:0/s0: SystemExit\(0\)"):
            compiled.run({"x": X})
        check(compiled)


@pytest.mark.parametrize(("tag", "width"), [("near", 1), ("far", 1), ("far", 2)])
def test_an_error_carries_the_last_transitions_of_its_actor(tag: str, width: int) -> None:
    """What it was told and asked for, the act that failed last; inline as on threads."""
    errors = [ArithmeticError("on fire")]
    registry = backend(tag, lambda: errors.pop() if errors else None)
    with CompiledJob(
        job(tag), registry, CompileOptions(concurrency=Concurrency(width))
    ) as compiled:
        with pytest.raises(RunError, match="on fire") as caught:
            compiled.run({"x": X})
        told = caught.value.transitions
        assert told[-1].startswith("RegisterReady(register=")
        assert told[-1].endswith(") -> Act(number=0)")
        check(compiled)


def thread_named(text: str) -> int:
    (found,) = (t.ident for t in threading.enumerate() if text in t.name and t.ident is not None)
    return found


@pytest.mark.parametrize("stream", ["s0", "s1", "s2"])
def test_a_thread_of_a_stream_that_dies_is_replaced(stream: str) -> None:
    """Killed while it waits, it is missed by the call that needs it; the next one works."""
    registry = BackendRegistry.from_modules({"far": far()})
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:
        check(compiled)
        ident = ctypes.c_ulong(thread_named(f"far:0/{stream}"))
        kill = ctypes.pythonapi.PyThreadState_SetAsyncExc
        assert kill(ident, ctypes.py_object(SystemExit)) == 1
        with pytest.raises(RunError, match=f"thread of stream far:0/{stream} ended: Sys") as caught:
            compiled.run({"x": X})
        assert isinstance(caught.value.__cause__, SystemExit)
        assert caught.value.device == f"far:0/{stream}"
        check(compiled)
    assert not [t for t in threading.enumerate() if t.name.startswith("headrace")]


def test_a_process_that_is_forked_during_a_call_disturbs_nobody() -> None:
    """The child ends by itself, and the call of the parent comes to its end."""
    reached, may_go_on = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        assert may_go_on.wait(LIMIT_SECONDS)

    registry = backend("far", wait)
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:
        call = compiled._executor.submit({"x": X})
        assert reached.wait(LIMIT_SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
            child = os.fork()
        if child == 0:
            signal.alarm(10)
            try:
                compiled.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        may_go_on.set()
        assert call.wait()["y"].tolist() == [2, -2, 6]
        check(compiled)


PROGRAM = """
import sys, threading, time
import numpy as np
import headrace as flow
import headrace.typing as tp
from headrace.registry import BackendRegistry
from toy_backends import FarKernel, far

begun, how = threading.Event(), sys.argv[1]

class Kernel(FarKernel):
    def enqueue(self, context, work):
        def slow():
            begun.set()
            time.sleep(0.3)
            work()
        return super().enqueue(context, slow)

session = flow.Session(BackendRegistry.from_modules({"far": far(kernel=Kernel)}))

config = flow.FunctionConfig()
config.concurrency_width = 2

@flow.global_function(function_config=config, session=session)
def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
    with flow.scope.placement("far", "0:0"):
        return flow.relu(x)

def call():
    try:
        job(np.array([-1, 2], np.float32))
    except flow.errors.SessionError:
        pass

if how == "submitted":
    future = job.submit(np.array([-1, 2], np.float32))
else:
    threading.Thread(target=call, daemon=how == "daemon").start()
begun.wait()
print("end")
if how == "raised":
    raise SystemExit(7)
"""


@pytest.mark.parametrize(
    ("how", "code"), [("submitted", 0), ("daemon", 0), ("thread", 0), ("raised", 7)]
)
def test_an_interpreter_that_ends_during_a_call_ends(how: str, code: int) -> None:
    """Whoever waits for the call, or nobody; without a word of complaint."""
    assert output(PROGRAM, how) == ("end\n", "", code)
