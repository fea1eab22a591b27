"""A call that fails takes no other with it that was under way beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
import headrace_cpu.plugin as cpu
import headrace_fakedevice.plugin as fakedevice
from headrace.device import KernelEntry
from headrace.errors import RunError
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry
from headrace.testing.deterministic import deterministic
from headrace_fakedevice.kernels import FakeKernel

BAD = 13
Three = tp.Numpy.Placeholder((3,))
PLUGINS = {"cpu": (cpu, NumpyKernel), "fakedevice": (fakedevice, FakeKernel)}


def registry(look: Callable[[float], None]) -> BackendRegistry:
    """Both installed backends, whose ``relu`` has ``look`` see the first value that it reads."""

    def relu(call: Any, inputs: Any, outputs: Any) -> None:
        look(float(inputs[0][0]))
        np.maximum(inputs[0], 0, out=outputs[0])

    modules = {}
    for tag, (plugin, kernel) in PLUGINS.items():
        entries = [e for e in plugin.headrace_kernels() if e.op != "relu"]
        entries.append(KernelEntry(tag, "relu", partial(kernel, function=relu)))
        hooks = {**vars(plugin), "headrace_kernels": answering(entries)}
        hooks["headrace_passes"] = answering([])  # which would put relu into other kernels
        modules[tag] = SimpleNamespace(**hooks)
    return BackendRegistry.from_modules(modules)


def answering(entries: list[Any]) -> Callable[[], list[Any]]:
    """A hook that has this answer."""
    return hookimpl(lambda: entries)


def refuse(value: float) -> None:
    """Some values cannot be computed."""
    if value == BAD:
        raise ArithmeticError("unlucky")


def on(session: flow.Session, tag: str, width: int) -> Callable[..., Any]:
    """``global_function`` for a device and so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    return flow.global_function(function_config=config, session=session)


@pytest.mark.parametrize("tag", PLUGINS)
@given(bad=st.lists(st.booleans(), min_size=1, max_size=12), width=st.integers(1, 6))
@settings(max_examples=40)
def test_only_calls_that_fail_are_told_so(tag: str, bad: list[bool], width: int) -> None:
    """However many are under way, and whichever of them: each of the others gets its result."""
    with flow.Session(registry(refuse)) as session:

        @on(session, tag, width)
        def work(x: Three) -> tp.Numpy:
            return flow.relu(x) + x

        values = [BAD if b else n + 100 for n, b in enumerate(bad)]
        futures = [work.submit(np.full(3, value, np.float32)) for value in values]
        for value, future in zip(values, futures, strict=True):
            if value == BAD:
                with pytest.raises(RunError, match="unlucky"):
                    future.result()
            else:
                assert future.result().tolist() == [2 * value] * 3
        assert work(np.ones(3, np.float32)).tolist() == [2] * 3


@pytest.mark.parametrize("tag", PLUGINS)
def test_an_error_that_happens_once_is_raised_once(tag: str) -> None:
    """A call that failed is not tried again behind its caller's back."""
    seen: list[float] = []

    def once(value: float) -> None:
        seen.append(value)
        if len(seen) == 4:
            raise ArithmeticError("once")

    with flow.Session(registry(once)) as session:

        @on(session, tag, 3)
        def work(x: Three) -> tp.Numpy:
            return flow.relu(x)

        futures = [work.submit(np.full(3, n, np.float32)) for n in range(8)]
        errors = [n for n, future in enumerate(futures) if future.exception() is not None]
    assert errors == [3]
    assert seen.count(3) == 1


def test_calls_that_write_variables_are_not_repeated() -> None:
    """How far they came is not known: they are told of the error, and change nothing twice."""
    reached, let_go = threading.Event(), threading.Event()

    def look(value: float) -> None:
        refuse(value)
        if value == 1:
            reached.set()
            assert let_go.wait(20)

    with flow.Session(registry(look)) as session:

        @on(session, "fakedevice", 2)
        def count(x: Three) -> tp.Numpy:
            total = flow.get_variable("total", (3,))
            flow.assign(total, total + flow.relu(x))
            return total

        @on(session, "cpu", 2)
        def fail(x: Three) -> tp.Numpy:
            return flow.relu(x)

        @on(session, "fakedevice", 1)
        def read() -> tp.Numpy:
            return flow.get_variable("total", (3,)) + 0

        counted = count.submit(np.ones(3, np.float32))
        assert reached.wait(20)
        with pytest.raises(RunError, match="unlucky"):
            fail(np.full(3, BAD, np.float32))
        let_go.set()
        with pytest.raises(RunError, match="unlucky"):
            counted.result()
        assert read().tolist() in ([0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize("tag", PLUGINS)
@pytest.mark.parametrize("seed", range(15))
def test_no_order_of_threads_loses_a_call(tag: str, seed: int) -> None:
    """Two callers, futures and callbacks, calls that fail among them, threads that take turns."""
    with deterministic(seed) as schedule, flow.Session(registry(refuse)) as session:

        @on(session, tag, 2 + seed % 2)
        def work(x: Three) -> tp.Numpy:
            return flow.relu(x) + x

        @on(session, tag, 2)
        def tell(x: Three) -> tp.Callback[tp.Numpy]:
            return flow.relu(x) + x

        told: list[float] = []

        def other_caller() -> None:
            for n in range(4):
                tell(np.full(3, n, np.float32))(lambda y: told.append(y[0].item()))

        other = schedule.start("other", other_caller)
        values = [BAD if (n + seed) % 3 == 0 else 100 + n for n in range(8)]
        futures = [work.submit(np.full(3, value, np.float32)) for value in values]
        for value, future in zip(values, futures, strict=True):
            if value == BAD:
                with pytest.raises(RunError, match="unlucky"):
                    future.result()
            else:
                assert future.result().tolist() == [2 * value] * 3
        schedule.join(other)
        session.sync()
        assert told == [0, 2, 4, 6]
