"""What handlers of signals raise is passed on, wherever it comes out of the code of a plugin."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from toy_backends import FarContext, FarKernel, far, near

from headrace.device import DeviceContext, DeviceEntry, Launch
from headrace.errors import PluginError, RunError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.op_call import OpCall
from headrace.placement import Placement
from headrace.registry import BackendRegistry, State
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
ENDS = [SystemExit("terminated"), TimeoutError("too late")]


@contextmanager
def handled(handler: Callable[..., object]) -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Program:
    """Handlers that raise ``error``, in every way in which they are written."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def stop(self, *signal_and_frame: object) -> None:
        raise self.error

    __call__ = stop

    def handlers(self) -> list[Callable[..., object]]:
        return [self.stop, self, partial(self.stop, "with an argument"), lambda *_: self.stop()]


def job(tag: str = "near") -> JobGraph:
    """``y = relu(x)``."""
    builder = JobGraphBuilder("job", Placement.of_device(tag))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return builder.finish()


def registry_of(at: str, now: Callable[[], None]) -> BackendRegistry:
    """``near`` with a kernel that calls ``now`` when it is created, bound or launched."""

    class Kernel(NumpyKernel):
        def __init__(self, call: OpCall) -> None:
            super().__init__(call)
            if at == "create":
                now()

        def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
            if at == "bind":
                now()

            def launch() -> None:
                if at == "launch":
                    now()
                work()

            return launch

    return BackendRegistry.from_modules({"near": near(kernel=Kernel)})


@pytest.mark.parametrize("error", ENDS, ids=type)
@pytest.mark.parametrize("handler", range(4))
def test_a_call_that_a_handler_ends_raises_what_it_raised(
    error: BaseException, handler: int
) -> None:
    """A program that is told to end does, and the job stays usable where it goes on."""
    told = [True, False]

    def now() -> None:
        if told.pop(0):
            signal.raise_signal(signal.SIGTERM)

    registry = registry_of("launch", now)
    with CompiledJob(job(), registry) as compiled:
        with handled(Program(error).handlers()[handler]), pytest.raises(type(error)) as caught:
            compiled.run({"x": X})
        assert caught.value is error
        assert compiled.run({"x": X})["y"].tolist() == [1, 0, 3]


def test_a_wait_for_a_device_that_a_handler_ends_raises_what_it_raised() -> None:
    """The stream keeps the error, and nobody hears of it again."""
    told = [True, False]

    class Kernel(FarKernel):
        def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
            def later() -> None:
                if told.pop(0):
                    signal.raise_signal(signal.SIGTERM)
                work()

            assert isinstance(context, FarContext)
            return lambda: context.queue.append(later)

    error = TimeoutError("too late")
    registry = BackendRegistry.from_modules({"far": far(kernel=Kernel)})
    with CompiledJob(job("far"), registry) as compiled, handled(Program(error).stop):
        with pytest.raises(TimeoutError) as caught:
            compiled.run({"x": X})
        assert caught.value is error
        assert compiled.run({"x": X})["y"].tolist() == [1, 0, 3]


@pytest.mark.parametrize("error", ENDS, ids=type)
@pytest.mark.parametrize("at", ["create", "bind"])
def test_making_a_job_ready_ends_with_what_a_handler_raised(error: BaseException, at: str) -> None:
    registry = registry_of(at, lambda: signal.raise_signal(signal.SIGTERM))
    with handled(Program(error).stop), pytest.raises(type(error)) as caught:
        CompiledJob(job(), registry)
    assert caught.value is error


@pytest.mark.parametrize("error", ENDS, ids=type)
def test_a_plugin_is_not_refused_for_what_a_handler_raised_while_it_loaded(
    error: BaseException,
) -> None:
    """The next question loads it."""
    told = [True, False]

    @hookimpl
    def headrace_devices() -> list[DeviceEntry]:
        if told.pop(0):
            signal.raise_signal(signal.SIGTERM)
        return [DeviceEntry("near")]

    plugin = SimpleNamespace(**{**vars(near()), "headrace_devices": headrace_devices})
    registry = BackendRegistry.from_modules({"near": plugin})
    with handled(Program(error).stop), pytest.raises(type(error)) as caught:
        registry.backend("near")
    assert caught.value is error
    assert registry.records()[0].state is State.FOUND
    assert registry.backend("near").tag == "near"


@pytest.mark.parametrize(("at", "kind"), [("bind", PluginError), ("launch", RunError)])
def test_what_a_kernel_raises_itself_is_its_failure_though_there_are_handlers(
    at: str, kind: type[Exception]
) -> None:
    """``SystemExit`` of a plugin ends nobody's program."""

    def leave() -> None:
        raise SystemExit(3)

    registry = registry_of(at, leave)
    with (
        handled(Program(SystemExit()).stop),
        pytest.raises(kind),
        CompiledJob(job(), registry) as compiled,
    ):
        compiled.run({"x": X})
