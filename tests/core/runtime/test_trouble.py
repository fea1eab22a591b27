"""What goes wrong while calls are under way: nothing hangs or is lost, the next call works."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from forked import in_child
from gated_kernels import Gate
from toy_backends import FarAllocator, FarBuffer, FarContext, far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import compile_job
from headrace.device import Buffer, DeviceContext, DeviceContextEntry, HostBuffer, Launch
from headrace.errors import LaunchError, PlanError, RunError, SessionError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.runtime.inline import InlineEngine
from headrace.runtime.worker import Worker
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
W = np.array([10, 20, 30], np.float32)


def job(device: str) -> JobGraph:
    """``y = relu(x) + w``."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    x = builder.input("x", TensorSpec.of(X))
    (y,) = builder.op("relu", [x], name="first")
    builder.output("y", *builder.op("add", [y, builder.constant(W, "w")], name="last"))
    return builder.finish()


def check(compiled: CompiledJob) -> None:
    assert compiled.run({"x": X})["y"].tolist() == [11, 20, 33]


@pytest.mark.parametrize("device", ["near", "far"])
def test_a_job_without_inputs_and_results_ends(registry: BackendRegistry, device: str) -> None:
    """A call with nothing to do is over at once, any number of times."""
    graph = JobGraphBuilder("empty", Placement.of_device(device)).finish()
    with CompiledJob(graph, registry) as compiled:
        assert compiled.run({}) == {}
        assert compiled.run({}) == {}


@pytest.mark.parametrize("at", ["begin", "launch"])
def test_ctrl_c_on_the_callers_thread_reaches_the_caller_and_harms_no_later_call(
    monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Wherever an inline call is interrupted, the next one neither hangs nor takes its inputs."""
    pressed = False

    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    class Kernel(NumpyKernel):
        def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
            return lambda: interrupt() if pressed else work()

    registry = BackendRegistry.from_modules({"near": near(kernel=Kernel)})
    with CompiledJob(job("near"), registry) as compiled:
        check(compiled)
        with monkeypatch.context() as patch:
            if at == "begin":
                patch.setattr(InlineEngine, "run", interrupt)
            pressed = True
            with pytest.raises(KeyboardInterrupt):
                compiled.run({"x": X + 1})
            pressed = False
        check(compiled)


def test_ctrl_c_while_waiting_leaves_the_job_usable() -> None:
    """A caller that is interrupted while the device works gets its exception before that ends."""
    gate = Gate()
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel)})
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:

        def interrupt() -> None:
            assert gate.reached.wait(20)
            signal.pthread_kill(main, signal.SIGINT)

        call = compiled._executor.submit({"x": X + 1})
        old = signal.signal(signal.SIGINT, signal.default_int_handler)
        main, thread = threading.get_ident(), threading.Thread(target=interrupt)

        def start_and_wait() -> None:
            thread.start()
            call.wait()

        try:
            with pytest.raises(KeyboardInterrupt):
                start_and_wait()
        finally:
            gate.open.set()
            thread.join()
            signal.signal(signal.SIGINT, old)
        check(compiled)


def test_an_error_ends_every_call_in_flight() -> None:
    """All callers get the error of the first that fails; the next call starts afresh."""
    gate = Gate()
    gate.broken = True
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel)})
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(5))) as compiled:
        calls = [compiled._executor.submit({"x": X}) for _ in range(5)]
        gate.open.set()
        for call in calls:
            with pytest.raises(RunError, match="on fire"):
                call.wait()
        gate.broken = False
        check(compiled)


def test_an_error_between_a_look_and_a_begin_starts_the_call_anew(
    registry: BackendRegistry,
) -> None:
    """A call that is numbered after the engine failed does not wait for that engine."""
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:
        check(compiled)
        compiled._executor._threaded._calls.fail(ArithmeticError("late news of an earlier call"))
        check(compiled)


def test_close_during_calls_tells_their_callers() -> None:
    """Calls in flight when a job closes finish or say that it was closed; none waits for ever."""
    gate = Gate()
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel)})
    compiled = CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(4)))
    calls = [compiled._executor.submit({"x": X}) for _ in range(4)]
    assert gate.reached.wait(20)
    closing = threading.Thread(target=compiled.close)
    closing.start()
    gate.open.set()
    closing.join()
    for call in calls:
        try:
            assert call.wait()["y"].tolist() == [11, 20, 33]
        except SessionError as error:
            assert "closed while it ran" in str(error)  # noqa: PT017 - one of two good ends


def test_an_interrupted_close_can_be_repeated(
    registry: BackendRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while threads end leaves nothing behind once close is called again."""
    live = FarAllocator.live
    compiled = CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2)))
    check(compiled)

    def interrupt(worker: Worker) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "join", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compiled.close()
    with pytest.raises(SessionError, match="closed"):
        compiled.run({"x": X})
    compiled.close()
    assert FarAllocator.live == live


def test_threads_that_cannot_all_start_leave_none_behind(
    registry: BackendRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the second thread does not start the first one ends, and a later call works."""
    started = Worker.start
    count = iter(range(100))

    def start(worker: Worker) -> None:
        if next(count) == 1:
            raise RuntimeError("can't start new thread")
        started(worker)

    before = threading.active_count()
    with CompiledJob(job("far"), registry, CompileOptions(concurrency=Concurrency(2))) as compiled:
        with monkeypatch.context() as patch:
            patch.setattr(Worker, "start", start)
            with pytest.raises(RuntimeError, match="can't start"):
                compiled.run({"x": X})
        assert threading.active_count() == before
        check(compiled)


class Unprintable(Exception):
    """An error that cannot say what it is."""

    def __repr__(self) -> str:
        raise ValueError("no")


@pytest.mark.parametrize("error", [Unprintable(), LaunchError(99)], ids=type)
def test_an_error_that_cannot_be_described_still_ends_the_call(error: Exception) -> None:
    """Odd exceptions of a plugin reach the caller."""

    class Context(FarContext):
        def capture(self, launches: object) -> Launch:
            def run() -> None:
                raise error

            return run

    hooks = far_with(Context)
    registry = BackendRegistry.from_modules({"far": hooks})
    with CompiledJob(job("far"), registry) as compiled, pytest.raises((Unprintable, RunError)):
        compiled.run({"x": X})


def far_with(context: type[FarContext]) -> object:
    """The backend ``far`` with another context."""
    hooks = dict(vars(far()))
    hooks["headrace_device_contexts"] = hookimpl(lambda: [DeviceContextEntry("far", context)])
    return SimpleNamespace(**hooks)


def test_what_synchronize_and_close_raise_keeps_nothing_back() -> None:
    """A context that fails at every turn still has its memory and its device given back."""

    class Context(FarContext):
        tired = False

        def synchronize(self) -> None:
            super().synchronize()
            if Context.tired:
                raise OSError("gone")

        def close(self) -> None:
            raise OSError("not closing")

    live = FarAllocator.live
    registry = BackendRegistry.from_modules({"far": far_with(Context)})
    compiled = CompiledJob(job("far"), registry)
    check(compiled)
    Context.tired = True
    with pytest.raises(OSError, match="not closing"):
        compiled.close()
    assert FarAllocator.live == live


def test_two_jobs_on_one_device_do_not_disturb_each_other(registry: BackendRegistry) -> None:
    """They share the opened device; one closes and the other goes on."""
    with CompiledJob(job("far"), registry) as one:
        with CompiledJob(job("far"), registry) as other:
            calls = [c._executor.submit({"x": X}) for c in (one, other, one, other)]
            assert {tuple(call.wait()["y"]) for call in calls} == {(11, 20, 33)}
        check(one)


def test_weights_that_are_not_those_of_the_plan_are_refused(registry: BackendRegistry) -> None:
    """A weight that is missing or of another shape is named; nothing stays allocated."""
    compiled = compile_job(job("far"), registry)
    plan, graph = compiled.plan, compiled
    live = FarAllocator.live
    with pytest.raises(PlanError, match=r"weight 'w' of float32\[3\], and it is missing"):
        Executor(plan, registry, {})
    with pytest.raises(PlanError, match=r"weight 'w' .* is float32\[1\]"):
        Executor(plan, registry, {"w": W[:1]})
    assert FarAllocator.live == live
    assert dict(graph.constants).keys() == {"w"}


@pytest.mark.parametrize("late", [False, True])
def test_a_device_that_fails_while_weights_are_brought_says_which(late: bool) -> None:
    """The error names job, weight and device, nothing stays allocated, and a second try works."""
    broken = [True]

    class Context(FarContext):
        def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
            def fail() -> None:
                raise ArithmeticError("the chip is on fire")

            if not broken:
                super().copy_h2d(destination, source)
            elif late:
                self.queue.append(fail)
            else:
                fail()

    registry = BackendRegistry.from_modules({"far": far_with(Context)})
    live = FarAllocator.live
    weight = "one of the weights" if late else "weight 'w'"
    with pytest.raises(
        RunError, match=f"job 'job': {weight} could not .* far:0: .* fire"
    ) as caught:
        CompiledJob(job("far"), registry)
    assert (caught.value.task, caught.value.device) == (weight, "far:0")
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert FarAllocator.live == live
    broken.clear()
    with CompiledJob(job("far"), registry) as compiled:
        check(compiled)


def test_the_source_of_a_weight_lives_until_its_copy_is_done() -> None:
    """A strided weight is loaded from a temporary; that stays until the loader is synchronised."""
    lost: list[int] = []

    class Context(FarContext):
        def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
            assert isinstance(destination, FarBuffer)
            alive = weakref.ref(source.memory.base)

            def copy() -> None:
                found = alive()
                if found is None:
                    lost.append(destination.nbytes)

            self.queue.append(copy)

    registry = BackendRegistry.from_modules({"far": far_with(Context)})
    plan = compile_job(job("far"), registry).plan
    strided = np.repeat(W, 2)[::2]
    Executor(plan, registry, {"w": strided}).close()
    assert not lost


def test_a_registry_and_its_pool_of_devices_are_collected() -> None:
    """Nothing keeps a registry alive once its jobs are closed and nobody holds it."""
    registry = BackendRegistry.from_modules({"near": near()})
    with CompiledJob(job("near"), registry) as compiled:
        check(compiled)
    gone = weakref.ref(registry)
    del registry, compiled
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("device", ["near", "far"])
def test_a_job_that_was_dropped_is_closed_when_the_next_is_made(
    registry: BackendRegistry, device: str
) -> None:
    """Threads and memory of a job that nobody holds any more do not stay for ever."""
    live, threads = FarAllocator.live, threading.active_count()
    compiled = CompiledJob(job(device), registry)
    check(compiled)
    del compiled
    gc.collect()
    with CompiledJob(job("near"), registry) as compiled:
        assert (FarAllocator.live, threading.active_count()) == (live, threads)
        check(compiled)


@pytest.mark.parametrize("device", ["near", "far"])
def test_a_forked_process_is_refused_with_a_reason(registry: BackendRegistry, device: str) -> None:
    """A child may neither run its parent's job nor open its devices; closing does nothing."""
    live = FarAllocator.live
    with CompiledJob(job(device), registry) as compiled:
        check(compiled)
        assert "SessionError: job 'job' was compiled before this process was forked" in in_child(
            lambda: compiled.run({"x": X})
        )
        assert "DeviceError: device" in in_child(lambda: CompiledJob(job(device), registry))
        assert in_child(compiled.close) == "nothing"
        check(compiled)
    assert FarAllocator.live == live
    assert in_child(lambda: check_alone(registry, device)) == "nothing"


def check_alone(registry: BackendRegistry, device: str) -> None:
    """Compile, run and close."""
    with CompiledJob(job(device), registry) as compiled:
        check(compiled)
