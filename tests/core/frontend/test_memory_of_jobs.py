"""The memory of a session: of jobs together, of an old and a new plan, when there is too little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from session_jobs import X, counter, on, with_hook
from toy_backends import FarAllocator, far

import headrace as flow
import headrace.typing as tp
from headrace.errors import OutOfMemoryError, ResourceLimitError
from headrace.registry import BackendRegistry

Big = tp.Numpy.Placeholder((256,))  # 1,024 bytes


class Fussy(FarAllocator):
    """Gives so many buffers at a time, and no more."""

    most = 99

    def allocate(self, nbytes: int) -> Any:
        if type(self).live >= type(self).most:
            raise OutOfMemoryError("the device is full")
        return super().allocate(nbytes)


@pytest.fixture
def fussy(monkeypatch: pytest.MonkeyPatch) -> Iterator[flow.Session]:
    """A session whose device has room for as many allocations as a test says."""
    module: Any = far()
    allocators = [replace(entry, create=Fussy) for entry in module.headrace_allocators()]
    made = with_hook(module, "headrace_allocators", allocators)
    monkeypatch.setattr(Fussy, "live", 0)
    monkeypatch.setattr(Fussy, "most", 99)
    with flow.Session(BackendRegistry.from_modules({"far": made})) as session:
        yield session
    assert Fussy.live == 0


def test_the_old_plan_makes_room_for_the_new_one(fussy: flow.Session) -> None:
    """Where the device cannot hold both, what variables hold waits on the host."""
    add, _ = counter(on(fussy, "far"))
    add(X)
    Fussy.most = Fussy.live

    @on(fussy, "far")
    def later() -> tp.Numpy:
        return flow.get_variable("total", (3,)) + 1

    assert later().tolist() == (X + 1).tolist()
    add(X)
    assert later().tolist() == (2 * X + 1).tolist()


def test_what_variables_hold_outlives_a_device_without_memory(fussy: flow.Session) -> None:
    """The new plan does not fit, and at first not even the old one again: nothing is lost."""
    add, read = counter(on(fussy, "far"))
    add(X)

    @on(fussy, "far")
    def later() -> tp.Numpy:
        return flow.get_variable("total", (3,)) + 1

    Fussy.most = 0
    for call in (later, read):
        with pytest.raises(OutOfMemoryError, match="the device is full"):
            call()
    Fussy.most = 99
    assert read().tolist() == X.tolist()
    assert later().tolist() == (X + 1).tolist()


def test_a_job_that_does_not_fit_with_the_others_is_left_out(
    monkeypatch: pytest.MonkeyPatch, session: flow.Session
) -> None:
    """It is refused when it is called, naming its tensors; the others run."""
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "20000")
    job = on(session, "near")
    add, read = counter(job)

    @job
    def large() -> tp.Numpy:
        return flow.relu(flow.get_variable("large", (10_000,))) + 1

    add(X)
    with pytest.raises(ResourceLimitError, match="large"):
        large()
    assert read().tolist() == X.tolist()


def _bytes(*functions: Callable[..., Any], registry: BackendRegistry) -> int:
    with flow.Session(registry) as session:
        for function in functions:
            on(session, "far")(function)
        return sum(chunk.nbytes for chunk in session.plan().chunks)


def test_jobs_that_exclude_each_other_share_memory(registry: BackendRegistry) -> None:
    """Two that write one variable need as much as the larger; two that read it need both."""

    def write(x: Big) -> None:
        flow.assign(flow.get_variable("v", (256,)), flow.relu(x))

    def write_too(x: Big) -> None:
        flow.assign(flow.get_variable("v", (256,)), flow.relu(x + 1))

    def read(x: Big) -> tp.Numpy:
        return flow.relu(x) + flow.get_variable("v", (256,))

    def read_too(x: Big) -> tp.Numpy:
        return flow.relu(x) + flow.get_variable("v", (256,))

    alone = _bytes(write, registry=registry)
    together = _bytes(write, write_too, registry=registry)
    assert together - alone <= 1024  # the constant 1, and what x + 1 needs beside x
    readers = _bytes(read, read_too, registry=registry)
    one = _bytes(read, registry=registry)
    assert readers - one >= 2 * 1024


def test_closing_ends_calls_and_frees_all(registry: BackendRegistry) -> None:
    """Variables lie on the device until then, and not after."""
    live = FarAllocator.live
    with flow.Session(registry) as session:
        add, _ = counter(on(session, "far"))
        add(X)
        assert FarAllocator.live > live
    assert FarAllocator.live == live
