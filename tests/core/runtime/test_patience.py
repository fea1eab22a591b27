"""Waiting for a device where Ctrl-C is heard: the main thread asks before it waits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from toy_backends import FarContext, far

from headrace.device import Device, DeviceContextEntry, Event
from headrace.errors import RunError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.runtime.group import GroupEvent
from headrace.runtime.patience import wait_for
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)


class Asked(Event):
    """Says False so many times, then True; to wait before that would take for ever."""

    def __init__(self, answers: int, error: Exception | None = None) -> None:
        self.answers = answers
        self.asked = self.waited = 0
        self.error = error

    def is_reached(self) -> bool:
        self.asked += 1
        return self.asked > self.answers

    def synchronize(self) -> None:
        self.waited += 1
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, whatever runs the tests does with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("answers", [0, 1, 100])
def test_the_main_thread_asks_until_there_is_nothing_to_wait_for(answers: int) -> None:
    """Then it waits once, as that is who tells errors."""
    event = Asked(answers, ArithmeticError("on fire"))
    with pytest.raises(ArithmeticError, match="on fire"):
        wait_for(event)
    assert event.asked > answers
    assert event.waited == 1


def test_another_thread_waits_at_once() -> None:
    """It gets no signals, and has nothing to be patient for."""
    event = Asked(5)
    thread = threading.Thread(target=wait_for, args=(event,))
    thread.start()
    thread.join()
    assert (event.asked, event.waited) == (0, 1)


@pytest.mark.parametrize("event", [Event(), SimpleNamespace(synchronize=lambda: None)], ids=type)
def test_an_event_that_cannot_be_asked_is_waited_for(event: Event) -> None:
    """One that says so, and one of an older contract."""
    wait_for(event)


def test_ctrl_c_is_heard_while_the_device_is_asked() -> None:
    """Nobody waits inside a driver that does not come back."""

    class Hangs(Asked):
        def is_reached(self) -> bool:
            signal.raise_signal(signal.SIGINT)
            return False

    event = Hangs(0)
    with pytest.raises(KeyboardInterrupt):
        wait_for(event)
    assert not event.waited


def test_a_group_is_reached_with_its_last_part() -> None:
    """And cannot be asked when one of its parts cannot."""
    group = GroupEvent([Asked(0), Asked(2)])
    assert [group.is_reached() for _ in range(3)] == [False, False, True]
    assert GroupEvent([Asked(0), Event()]).is_reached() is None


def job() -> JobGraph:
    """``y = relu(x)`` on ``far``."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    builder.output("y", *builder.op("relu", [builder.input("x", TensorSpec.of(X))]))
    return builder.finish()


def check(compiled: CompiledJob) -> None:
    assert compiled.run({"x": X})["y"].tolist() == [1, 0, 3]


def far_that(wait: Callable[[], None]) -> tuple[BackendRegistry, list[str]]:
    """``far``, which calls ``wait`` when an event is waited for; and what was asked of it."""
    done: list[str] = []

    class Context(FarContext):
        def __init__(self, device: Device, stream_index: int) -> None:
            super().__init__(device, stream_index)
            record = super().record_event

            class Waits(Event):
                def __init__(self) -> None:
                    self.event = record()

                def synchronize(self) -> None:
                    done.append("waited")
                    wait()
                    self.event.synchronize()

            self.record_event = Waits

        def wait_event(self, event: Event) -> None:
            self.queue.append(vars(event)["event"].synchronize)

        def copy_h2d(self, *given: object) -> None:
            done.append("launched")
            super().copy_h2d(*given)

        def synchronize(self) -> None:
            done.append("settled")
            super().synchronize()

    hooks = dict(vars(far()))
    hooks["headrace_device_contexts"] = hookimpl(lambda: [DeviceContextEntry("far", Context)])
    return BackendRegistry.from_modules({"far": SimpleNamespace(**hooks)}), done


def test_ctrl_c_while_the_caller_waits_for_the_device_comes_at_once() -> None:
    """What the device still does is waited for by the next call, before it launches anything."""
    pressed = [False]

    def wait() -> None:
        if pressed.pop():
            signal.raise_signal(signal.SIGINT)

    registry, done = far_that(wait)
    with CompiledJob(job(), registry) as compiled:
        check(compiled)
        done.clear()
        pressed.append(True)
        with pytest.raises(KeyboardInterrupt):
            compiled.run({"x": X + 1})
        assert done == ["launched", "waited"]
        done.clear()
        pressed.append(False)
        check(compiled)
        assert done.index("settled") < done.index("launched")
        done.clear()
        pressed.append(False)
        check(compiled)
        assert "settled" not in done


def test_an_error_is_still_settled_before_it_reaches_the_caller() -> None:
    """Its streams are clean when the job is closed, and the memory may be kept."""

    def wait() -> None:
        raise ArithmeticError("on fire")

    registry, done = far_that(wait)
    with CompiledJob(job(), registry) as compiled:
        with pytest.raises(RunError, match="on fire"):
            compiled.run({"x": X})
        assert done[-1] == "settled"
