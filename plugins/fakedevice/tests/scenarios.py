"""The suite of the runtime: what is done under one seed after another, with nothing left behind.

Each scenario is a function of a seed that raises when anything is wrong: numbers, errors, memory,
threads, or that nobody can go on. ``mutants.py`` says which bugs they find.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from small_jobs import JOBS, compiled, executor
from watched import watched

import headrace as flow
import headrace.typing as tp
from headrace.errors import OutOfMemoryError, RunError, SessionError
from headrace.memory_case import MemoryCase
from headrace.testing.opened import OpenedDevice
from headrace_fakedevice import Fault, InjectedFault, plugin
from headrace_fakedevice.device import BYTES_VARIABLE

SHARED = ("chain", "shared out", "many readers", "two devices")
"""Jobs of sessions that come and go."""


def device_bytes(name: str, width: int) -> int:
    """What a job needs of device 0."""
    chunks = compiled(name, width).plan.chunks
    return sum(chunk.nbytes for chunk in chunks if chunk.memory == MemoryCase(plugin.TAG))


def room_for(nbytes: int) -> AbstractContextManager[object]:
    """Devices that are opened in the block have so much memory, and no more."""
    return patch.dict(os.environ, {BYTES_VARIABLE: str(nbytes)})


Three = tp.Numpy.Placeholder((3,))


def calls(name: str, seed: int, count: int = 4) -> None:
    """Several calls of a small job in flight, and one when they are over."""
    job = JOBS[name]
    with watched(seed):
        ready = executor(name, 1 + seed % 3)
        try:
            begun = [ready.submit(job.feeds(number)) for number in range(count)]
            for number, call in enumerate(begun):
                results = call.wait()
                job.check(number, job.picked(results))
            kept = ready.run(job.feeds(9))
            ready.run(job.feeds(10))
            job.check(9, kept)
        finally:
            ready.close()


def two_executors(seed: int) -> None:
    """Two jobs on one device: one is closed, and the other goes on."""
    job = JOBS["chain"]
    registry = job.registry()
    with watched(seed):
        one, other = (executor("chain", registry=registry) for _ in range(2))
        try:
            call = one.submit(job.feeds(1))
            job.check(2, other.run(job.feeds(2)))
            call.wait()
            one.close()
            job.check(3, other.run(job.feeds(3)))
        finally:
            one.close()
            other.close()


def fails_and_goes_on(seed: int) -> None:
    """One piece of work fails, with several calls in flight: all hear of it, the next are right."""
    kinds = ("copy", "launch")
    name = ("chain", "two devices", "two streams", "many readers")[seed % 4]
    job, kind = JOBS[name], kinds[seed % 2]
    with watched(seed, [Fault(kind, 2 + seed % 7, at_once=bool(seed % 3))]) as (_, seen):
        ready = executor(name, 1 + seed % 3)
        try:
            failed = 0
            for number in range(6):
                begun = [ready.submit(job.feeds(number)) for _ in range(2)]
                for call in begun:
                    try:
                        results = call.wait()
                    except RunError as error:
                        assert isinstance(error.__cause__, InjectedFault)  # noqa: PT017
                        where = error.device.replace(f"{plugin.TAG}:", "").split("/s")
                        stream = f"stream {where[1]} of {plugin.TAG}:{where[0]} fails"
                        assert stream in str(error.__cause__)  # noqa: PT017
                        failed += 1
                        continue
                    job.check(number, job.picked(results))
            assert bool(failed) == bool(seen.struck)
        finally:
            ready.close()


def a_write_fails(seed: int) -> None:
    """A call without results fails on the device: its caller hears of it, and no other one."""
    faults = [Fault("launch", 1 + seed % 9)]
    with watched(seed, faults) as (_, seen), flow.Session(JOBS["chain"].registry()) as session:
        config = flow.FunctionConfig()
        config.default_placement_scope(flow.scope.placement(plugin.TAG, "0:0"))

        @flow.global_function(function_config=config, session=session)
        def count(x: Three) -> None:
            total = flow.get_variable("total", (3,))
            flow.assign(total, flow.relu(total + x))

        for _ in range(4):
            struck = len(seen.struck)
            try:
                count(np.ones(3, np.float32))
            except RunError as error:
                assert isinstance(error.__cause__, InjectedFault)  # noqa: PT017
                assert len(seen.struck) == struck + 1
            else:
                session.sync()
                assert len(seen.struck) == struck


def close_during_calls(seed: int) -> None:
    """Calls in flight end well or say that the job was closed; later ones are refused."""
    name = ("chain", "two devices", "many readers")[seed % 3]
    job = JOBS[name]
    with watched(seed) as (schedule, _):
        ready = executor(name, 2)

        def call(number: int) -> None:
            for _ in range(3):
                try:
                    job.check(number, ready.run(job.feeds(number)))
                except SessionError as error:
                    assert "closed" in str(error)  # noqa: PT017

        callers = [
            schedule.start(f"caller {number}", lambda number=number: call(number))
            for number in range(3)
        ]
        for _ in range(seed):
            schedule.point()
        ready.close()
        for caller in callers:
            schedule.join(caller)
        with pytest.raises(SessionError):
            ready.run(job.feeds(0))


def does_not_open(seed: int) -> None:
    """An allocation fails while a job is made ready: it says so, and can be made ready later."""
    name = ("many readers", "chain", "two devices", "shared out")[seed % 4]
    with watched(seed, [Fault("allocation", 1 + seed // 4)]) as (_, seen):
        registry = JOBS[name].registry()
        for _ in range(2):
            struck = len(seen.struck)
            try:
                ready = executor(name, 2, registry)
            except OutOfMemoryError as error:
                assert len(seen.struck) == struck + 1
                assert "was told to fail" in str(error)  # noqa: PT017
            else:
                assert len(seen.struck) == struck
                job = JOBS[name]
                job.check(1, ready.run(job.feeds(1)))
                ready.close()


def variables(seed: int) -> None:
    """Two jobs count one variable up from two threads, and a third reads it, on two devices."""
    with watched(seed) as (schedule, _), flow.Session(JOBS["chain"].registry()) as session:

        def job(function: Callable[..., object]) -> Callable[..., object]:
            config = flow.FunctionConfig()
            config.concurrency_width = 1 + seed % 2
            config.default_placement_scope(flow.scope.placement(plugin.TAG, "0:0"))
            return flow.global_function(function_config=config, session=session)(function)

        @job
        def count(x: Three) -> tp.Numpy:
            total = flow.get_variable("total", (3,))
            flow.assign(total, total + x)
            return total

        @job
        def count_down(x: Three) -> tp.Numpy:
            total = flow.get_variable("total", (3,))
            flow.assign(total, total - x)
            return total

        @job
        def read() -> tp.Numpy:
            return flow.get_variable("total", (3,)) + 0

        def up(job: Callable[..., object], by: int) -> None:
            for _ in range(4):
                job(np.array([by, 0, by], np.float32))

        threads = [
            schedule.start("up", lambda: up(count, 5)),
            schedule.start("down", lambda: up(count_down, 2)),
            schedule.start("reader", lambda: [read() for _ in range(3)]),
        ]
        for thread in threads:
            schedule.join(thread)
        assert np.array_equal(read(), [12, 0, 12])


def callbacks(seed: int) -> None:
    """Two jobs give results to callbacks, which raise, wait for other calls, or register more."""
    config = flow.FunctionConfig()
    config.concurrency_width = 1 + seed % 3
    config.default_placement_scope(flow.scope.placement(plugin.TAG, "0:0"))
    heard: list[BaseException | None] = []
    hook = patch.object(threading, "excepthook", lambda arguments: heard.append(arguments[1]))
    with hook, watched(seed) as (schedule, _), flow.Session(JOBS["chain"].registry()) as session:

        @flow.global_function(function_config=config, session=session)
        def tell(x: Three) -> tp.Callback[tp.Numpy]:
            return flow.relu(x) + x

        @flow.global_function(function_config=config, session=session)
        def pass_on(x: Three) -> tp.Callback[tp.Numpy]:
            return x + x

        told: list[float] = []
        passed: list[float] = []
        again: list[float] = []

        def on_passed(z: np.ndarray) -> None:
            passed.append(z[0])
            for _ in range(2):
                tell(np.full(3, 1000, np.float32))(lambda y: again.append(y[0]))

        def on_told(y: np.ndarray) -> None:
            told.append(y[0])
            assert np.array_equal(y, np.full(3, y[0]))
            if y[0] % 3 == 0:
                pass_on(y)(on_passed)
            if y[0] % 4 == 0:  # a stream that was held up would never get there
                assert np.array_equal(tell.submit(y).result(), 2 * y)
            if len(told) % 4 == seed % 4:
                raise ZeroDivisionError(len(told))

        def call(first: int) -> None:
            for n in range(first, first + 12, 2):
                tell(np.full(3, n, np.float32))(on_told)

        others = [schedule.start("other", lambda: call(101))]
        call(2)
        for other in others:
            schedule.join(other)
        session.sync()
        even, odd = [[n for n in told if n % 4 == rest] for rest in (0, 2)]
        assert even == [2 * n for n in range(2, 14, 2)]
        assert odd == [2 * n for n in range(101, 113, 2)]
        assert passed == [2 * n for n in told if n % 3 == 0]
        assert again == [2000] * 2 * len(passed)
        assert len(heard) == sum(n % 4 == seed % 4 for n in range(1, 13))
        assert {type(error) for error in heard} <= {ZeroDivisionError}


def streams_by_hand(seed: int) -> None:
    """Streams of two devices hand a buffer on, by events alone."""
    registry = JOBS["chain"].registry()
    data = np.arange(64, dtype=np.uint8)
    with (
        watched(seed),
        OpenedDevice(f"{plugin.TAG}:0", registry) as first,
        OpenedDevice(f"{plugin.TAG}:1", registry) as second,
    ):
        for turn in range(12):
            source, result = first.host_copy(data + turn), first.host(64)
            here, there, back = first.allocate(64), second.allocate(64), first.allocate(64)
            h2d, compute, d2h = first.h2d(), first.compute(), first.d2h()
            peer = second.compute()
            h2d.copy_h2d(here, source)
            peer.wait_event(h2d.record_event())
            peer.copy_peer(there, here)
            arrived = peer.record_event()
            compute.wait_event(arrived)
            compute.capture([partial(compute.copy_peer, back, there)])()
            d2h.wait_event(compute.record_event())
            d2h.copy_d2h(result, back)
            if turn % 2:
                d2h.record_event().synchronize()
            else:
                d2h.synchronize()
            assert np.array_equal(result.memory, data + turn)
            again, later = first.host_copy(data + 100), first.host(64)
            compute.copy_d2h(result, here)  # reads before the next copy writes
            compute.copy_h2d(here, again)
            compute.copy_d2h(later, here)
            compute.synchronize()
            assert np.array_equal(result.memory, data + turn)
            assert np.array_equal(later.memory, data + 100)


def sessions_come_and_go(seed: int) -> None:
    """Three users open jobs on devices that they share, and close some while a call is under way.

    A device has room for what they need at once and for nothing more.
    """
    most = max(device_bytes(name, width) for name in SHARED for width in (1, 2))
    registry = JOBS["chain"].registry()

    def use(user: int) -> None:
        for turn in range(3):
            name = SHARED[(user + turn + seed) % len(SHARED)]
            job, fed = JOBS[name], user * 10 + turn
            ready = executor(name, 1 + turn % 2, registry)
            try:
                job.check(fed, ready.run(job.feeds(fed)))
                call = ready.submit(job.feeds(fed))
                if (user + turn) % 2:
                    call.wait()
            finally:
                ready.close()
            if (seed + turn) % 5 == 0:
                flow.release_cached_memory(registry)

    with room_for(3 * most), watched(seed) as (turns, _):
        users = [turns.start(f"user {number}", partial(use, number)) for number in range(3)]
        for user in users:
            turns.join(user)
    for one in flow.memory_statistics(registry):
        assert (one.in_use_bytes, one.cached_bytes, dict(one.users)) == (0, 0, {})


def makes_room(seed: int) -> None:
    """What a small job gave back is in the way of a larger one, while another is open."""
    registry = JOBS["chain"].registry()
    both = device_bytes("many readers", 1) + device_bytes("chain", 2)
    assert 0 < device_bytes("chain", 1) < device_bytes("chain", 2)
    with room_for(both), watched(seed):
        first = executor("many readers", registry=registry)
        executor("chain", registry=registry).close()
        second = executor("chain", 2, registry)
        for ready, name in ((first, "many readers"), (second, "chain")):
            JOBS[name].check(seed, ready.run(JOBS[name].feeds(seed)))
            ready.close()


SCENARIOS: dict[str, Callable[[int], None]] = {
    **{name: lambda seed, name=name: calls(name, seed) for name in JOBS},
    "two executors": two_executors,
    "sessions come and go": sessions_come_and_go,
    "makes room": makes_room,
    "does not open": does_not_open,
    "fails and goes on": fails_and_goes_on,
    "a write fails": a_write_fails,
    "close during calls": close_during_calls,
    "variables": variables,
    "callbacks": callbacks,
    "streams by hand": streams_by_hand,
}
