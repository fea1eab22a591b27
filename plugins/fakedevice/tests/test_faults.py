"""Whatever fails, and whenever: the right error, nothing left, and the next call is right."""

from __future__ import annotations

from contextlib import closing
from itertools import count

import numpy as np
import pytest
from random_faults import random_run
from small_jobs import JOBS, executor
from watched import watched

import headrace as flow
import headrace.typing as tp
from headrace.errors import DeviceError, OutOfMemoryError, RunError
from headrace_fakedevice import Fault, InjectedFault, plugin

KINDS = [
    Fault("allocation", 1),
    Fault("copy", 1),
    Fault("copy", 1, at_once=True),
    Fault("launch", 1),
    Fault("launch", 1, at_once=True),
    Fault("event", 1),
    Fault("synchronize", 1),
]


def check_open_error(error: Exception, fault: Fault) -> None:
    """What a job that could not be made ready says."""
    if fault.kind == "allocation":
        assert isinstance(error, OutOfMemoryError)
        assert "fakedevice:" in str(error)
    else:
        assert isinstance(error, RunError)
        assert "weight" in error.task
        assert error.device in str(error)
        assert error.device.startswith("fakedevice:")
        assert isinstance(error.__cause__, InjectedFault)


def check_run_error(error: RunError, fault: Fault) -> None:
    """What a call that failed says: where it was, and why."""
    assert error.task
    assert error.device.startswith("fakedevice:")
    assert error.device in str(error)
    assert isinstance(error.__cause__, InjectedFault)
    assert f"{fault.kind} {fault.number} was told to" in str(error)
    if fault.kind == "launch":
        assert error.op


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.kind + " at once" * f.at_once)
@pytest.mark.parametrize("name", JOBS)
def test_a_job_survives_the_failure_of_its_n_th(name: str, kind: Fault) -> None:
    """For n = 1, 2, 3, ... until a run meets no fault."""
    job = JOBS[name]
    for n in count(1):
        fault = Fault(kind.kind, n, at_once=kind.at_once)
        with watched(n, [fault]) as (_, seen):
            try:
                ready = executor(name, 2)
            except (DeviceError, RunError) as error:
                check_open_error(error, fault)
                ready = executor(name, 2)
            with closing(ready):
                calls = [ready.submit(job.feeds(number)) for number in range(2)]
                for number, call in enumerate(calls):
                    try:
                        results = call.wait()
                    except RunError as error:
                        check_run_error(error, fault)
                    else:
                        job.check(number, job.picked(results))
                try:
                    job.check(2, ready.run(job.feeds(2)))
                except RunError as error:  # its number came only now
                    check_run_error(error, fault)
                    job.check(3, ready.run(job.feeds(3)))
        if not seen.struck:
            assert n > 1 or not seen.counts.get(kind.kind)
            return


def count_twice(fault: Fault, session: flow.Session) -> bool:
    """Two calls of a job that counts in a variable, from a value that is loaded; False if it fails.

    What a variable holds after a failed update is not known: whoever wants to know loads it.
    """
    try:
        session.load_variables({"total": np.zeros(3, np.float32)})
        results = [session.run("count_up", (np.arange(3, dtype=np.float32),)) for _ in range(2)]
    except OutOfMemoryError as error:
        check_open_error(error, fault)
        return False
    except RunError as error:
        check_run_error(error, fault)
        return False
    assert [array.tolist() for array in results] == [[0, 0, 0], [0, 1, 2]]
    return True


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.kind + " at once" * f.at_once)
def test_variables_survive_the_failure_of_the_n_th(kind: Fault) -> None:
    """Also while the session is made ready and its variable gets the value it begins with."""
    for n in count(1):
        fault = Fault(kind.kind, n, at_once=kind.at_once)
        registry = JOBS["two devices"].registry()
        with watched(n, [fault]) as (_, seen), flow.Session(registry) as session:

            @flow.global_function(session=session)
            def count_up(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
                with flow.scope.placement(plugin.TAG, "0:0"):
                    total = flow.get_variable("total", (3,))
                with flow.scope.placement(plugin.TAG, "0:1"):
                    flow.assign(total, total + x)
                    return total

            while not count_twice(fault, session):
                pass
        if not seen.struck:
            assert n > 1 or not seen.counts.get(kind.kind)
            return


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_a_job_survives_random_faults(first: int) -> None:
    """Two hundred runs with up to three faults each; ``bench/faulty_runs.py`` makes more."""
    assert sum(random_run(seed) for seed in range(first, first + 50)) > 25
