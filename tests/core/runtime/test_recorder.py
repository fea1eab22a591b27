"""What a recorder costs: with one, a clock is read around every task; without one, nothing is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest
from toy_backends import OPS, FarContext, far, near

from headrace.device import DeviceContextEntry, Launch
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.runtime.recorder import Recorder
from headrace.tensor_spec import TensorSpec

X = {"x": np.array([-1, 2], np.float32)}
CLOCKS = {"perf_counter_ns", "perf_counter", "monotonic", "monotonic_ns", "time", "time_ns"}
RECORDER = Recorder.__module__


def job(device: str) -> JobGraph:
    """Three ops that are one chain."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    x = builder.input("x", TensorSpec((2,), "float32"))
    (a,) = builder.op("add", [x, x])
    (b,) = builder.op("relu", [a])
    builder.output("y", *builder.op("add", [b, b]))
    return builder.finish()


@contextmanager
def watched() -> Iterator[set[str]]:
    """The modules whose functions are entered, and a clock if ours read one, on new threads too."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event == "call":
            seen.add(module)
        elif event == "c_call" and argument.__name__ in CLOCKS and module.startswith("headrace"):
            seen.add("a clock")  # what a test's plugins do while the collector runs is their own

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize("device", ["near", "far"])
def test_without_a_recorder_nobody_looks_at_a_clock(registry: BackendRegistry, device: str) -> None:
    """No function of the recorder is entered in a run, inline or on the threads of streams."""
    with CompiledJob(job(device), registry) as plain, watched() as seen:
        np.testing.assert_array_equal(plain.run(X)["y"], [0, 8])
    assert "headrace.runtime.executor" in seen
    assert {RECORDER, "a clock"} & seen == set()


@pytest.mark.parametrize("device", ["near", "far"])
def test_with_a_recorder_both_are_seen(registry: BackendRegistry, device: str) -> None:
    """The watch of the other test sees what it looks for, and results are the same."""
    recorder = Recorder()
    with CompiledJob(job(device), registry, recorder=recorder) as slow, watched() as seen:
        np.testing.assert_array_equal(slow.run(X)["y"], [0, 8])
    assert {RECORDER, "a clock"} <= seen
    assert len(recorder.spans()) == len(slow.plan.tasks)


class Captures(FarContext):
    """Keeps what it was asked to capture; what it gives counts its calls."""

    asked: ClassVar[list[Sequence[Launch]]] = []
    called: ClassVar[list[int]] = []

    def capture(self, launches: Sequence[Launch]) -> Launch:
        number = len(self.asked)
        self.asked.append(tuple(launches))

        def sequence() -> None:
            self.called.append(number)
            for launch in launches:
                launch()

        return sequence


@pytest.fixture
def capturing() -> BackendRegistry:
    """The two backends, ``far`` with streams of class ``Captures``."""
    Captures.asked, Captures.called = [], []
    module: Any = far(OPS)
    module.headrace_device_contexts = hookimpl(lambda: [DeviceContextEntry("far", Captures)])
    return BackendRegistry.from_modules({"near": near(), "far": module})


def test_without_a_recorder_a_chain_is_the_launch_that_its_stream_captured(
    capturing: BackendRegistry,
) -> None:
    """Of three ops, called once in each run; the copies before and after are chains as well."""
    with CompiledJob(job("far"), capturing) as plain:
        plain.run(X)
        plain.run(X)
    assert sorted(map(len, Captures.asked)) == [1, 1, 3]
    assert sorted(Captures.called) == [0, 0, 1, 1, 2, 2]


def test_with_a_recorder_nothing_is_captured(capturing: BackendRegistry) -> None:
    """Each task is launched by itself, so that its time is its own."""
    recorder = Recorder()
    with CompiledJob(job("far"), capturing, recorder=recorder) as slow:
        slow.run(X)
    assert Captures.asked == []
    assert len(recorder.spans()) == len(slow.plan.tasks) == 7
