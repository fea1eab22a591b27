"""Random jobs over streams and devices, whose work is done early or late: as numpy says, always.

The fake devices refuse to copy from or to memory of the host that is not pinned.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_jobs import Case, Spreading, cases, check, feeds_of

import headrace_cpu.plugin as cpu
import headrace_fakedevice.plugin as fakedevice
from headrace.compiler.concurrency import Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.device import Device, DeviceContextEntry, StreamIndexEntry
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.hookspecs import hookimpl
from headrace.registry import BackendRegistry
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.pinned import PAGEABLE_VARIABLE
from headrace_fakedevice.stream import Work


@pytest.fixture(autouse=True, scope="module")
def _refuse_pageable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PAGEABLE_VARIABLE, "refuse")
        yield


DEVICES = ("cpu:0", "fakedevice:0", "fakedevice:1", "fakedevice:2")
CALLS = 5


def hurried(seed: int) -> Callable[[Device, int], FakeContext]:
    """Streams that do what is queued at once now and then, and else as late as they may."""

    class Hurried(FakeContext):
        def __init__(self, device: Device, stream_index: int) -> None:
            super().__init__(device, stream_index)
            self._random = random.Random(f"{seed} {device.index} {stream_index}")

        def enqueue(self, work: Work, *what: object, **more: object) -> None:
            super().enqueue(work, *what, **more)  # type: ignore[arg-type]
            if self._random.random() < 0.5:
                self.record_event().synchronize()

    return Hurried


def registry(seed: int) -> BackendRegistry:
    """Both installed backends, the fake devices with two compute streams each."""
    hooks = dict(vars(fakedevice))
    hooks["headrace_device_contexts"] = hookimpl(
        lambda: [DeviceContextEntry("fakedevice", hurried(seed))]
    )
    hooks["headrace_stream_index_generators"] = hookimpl(
        lambda: [StreamIndexEntry("fakedevice", Spreading)]
    )
    return BackendRegistry.from_modules({"cpu": cpu, "fakedevice": SimpleNamespace(**hooks)})


@settings(max_examples=100)
@given(
    cases(DEVICES, most=24),
    st.integers(0, 99),
    st.booleans(),
    st.builds(Concurrency, st.integers(1, 3), st.integers(1, 3)),
)
def test_memory_is_never_written_too_early(
    case: Case, seed: int, together: bool, concurrency: Concurrency
) -> None:
    """Memory that is fresh is poison, so what is read too early shows as well.

    The verifier has proved each plan before it runs (HEADRACE_VERIFY); calls overlap or do not.
    """
    with CompiledJob(
        case.graph,
        registry(seed),
        CompileOptions(memory=MemoryOptions(), concurrency=concurrency),
    ) as job:
        all_feeds = [feeds_of(case, number) for number in range(CALLS)]
        names = list(case.compute(all_feeds[0]))
        if together:
            calls = [job.submit(feeds) for feeds in all_feeds]
            results = [call.wait() for call in calls]
        else:
            results = [job.run(feeds) for feeds in all_feeds]
        for feeds, result in zip(all_feeds, results, strict=True):
            check(case, feeds, {name: result[name] for name in names})
