"""A pytest plugin: every job that runs agrees with a twin whose tensors share no memory.

    pytest -p twin_jobs ...

It changes ``CompiledJob``, the door through which jobs get to a device. The twin is compiled from
the same graph, for the same registry, and gets the same calls; a bit that differs fails the call,
and with it the test that made it. ``TWIN_JOBS`` names a file for what was compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.job_graph import JobGraph
from headrace.plan import Plan
from headrace.tensor_spec import Array

REPORT_VARIABLE = "TWIN_JOBS"
APART = MemoryOptions(inplace=False, reuse=False)

_twins: dict[int, CompiledJob] = {}  # by id of the job
_counts = {"calls": 0, "jobs": 0, "smaller": 0}
_being_made: list[bool] = []  # not empty while a twin is made: it has none itself

_init, _run, _close = CompiledJob.__init__, CompiledJob.run, CompiledJob.close


def pytest_configure(config: pytest.Config) -> None:
    for name, function in (("__init__", init), ("run", run), ("close", close)):
        setattr(CompiledJob, name, function)


def pytest_sessionfinish(session: pytest.Session) -> None:
    report = os.environ.get(REPORT_VARIABLE)
    if report is not None:
        Path(report).write_text(json.dumps(_counts), "utf-8")


def init(self: CompiledJob, graph: JobGraph, *args: Any, **options: Any) -> None:
    _init(self, graph, *args, **options)
    if _being_made:
        return
    _being_made.append(True)
    try:
        chosen: CompileOptions = options.pop("options", args[1] if len(args) > 1 else AS_USUAL)
        apart = chosen._replace(memory=APART)
        _twins[id(self)] = CompiledJob(graph, *args[:1], options=apart, **options)
    except BaseException:
        _close(self)
        raise
    finally:
        _being_made.pop()
    _counts["jobs"] += 1
    _counts["smaller"] += held(self.plan) < held(_twins[id(self)].plan)


def run(self: CompiledJob, feeds: Mapping[str, Array], job: int = 0) -> dict[str, Array]:
    results = _run(self, feeds, job)
    twin = _twins.get(id(self))
    if twin is not None:
        alone = _run(twin, feeds, job)
        assert results.keys() == alone.keys()
        for name, array in results.items():
            assert array.tobytes() == alone[name].tobytes(), f"{name} depends on the memory plan"
        _counts["calls"] += 1
    return results


def close(self: CompiledJob) -> None:
    twin = _twins.pop(id(self), None)
    try:
        if twin is not None:
            _close(twin)
    finally:
        _close(self)


def held(plan: Plan) -> int:
    """Bytes of all chunks."""
    return sum(chunk.nbytes for chunk in plan.chunks)
