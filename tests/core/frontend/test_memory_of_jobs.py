"""Jobs of a session that never overlap have their tensors in the same memory, and others do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from session_jobs import on
from toy_backends import far, near

import headrace as flow
import headrace.typing as tp
from headrace.compiler.verify.memory import verify_memory
from headrace.errors import GraphError
from headrace.memory_case import MemoryCase
from headrace.plan import CriticalSection, Plan
from headrace.registry import BackendRegistry

Wide = tp.Numpy.Placeholder((16, 64))
WIDE_BYTES = 4096


def job(kind: str, number: int) -> Callable[..., Any]:
    """All compute the same; one ``writes`` a variable, ``reads`` it, or is ``alone``."""

    def compute(x: Wide) -> tp.Numpy:  # type: ignore[valid-type]
        y = flow.relu(x + x) + x
        if kind == "alone":
            return y
        variable = flow.get_variable("total", (16, 64))
        if kind == "writes":
            flow.assign(variable, variable + y)
        return y + variable

    compute.__name__ = f"{kind}_{number}"
    return compute


def plan_of(device: str, *kinds: str) -> Plan:
    """The plan of a session with jobs of these kinds, proved."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    with flow.Session(registry) as session:
        for number, kind in enumerate(kinds):
            on(session, device)(job(kind, number))
        plan = session.plan()
    verify_memory(plan)
    return plan


def held(plan: Plan) -> dict[MemoryCase, int]:
    """Bytes of each memory, without the variable."""
    variable = {plan.registers[register].chunk for register in plan.persistent()}
    return {
        chunk.memory: chunk.nbytes - WIDE_BYTES * (number in variable)
        for number, chunk in enumerate(plan.chunks)
    }


def add(*plans: Plan) -> dict[MemoryCase, int]:
    """What plans hold together."""
    return {memory: sum(held(plan)[memory] for plan in plans) for memory in held(plans[0])}


@pytest.mark.parametrize("device", ["near", "far"])
@pytest.mark.parametrize("kinds", [("writes",) * 2, ("writes",) * 5, ("writes", "reads")])
def test_jobs_that_exclude_each_other_need_no_more_than_one(
    device: str, kinds: tuple[str, ...]
) -> None:
    """One writes what the other reads or writes; the variable's own share with all."""
    most = plan_of(device, "writes")
    assert held(plan_of(device, *kinds)) == held(most)


@pytest.mark.parametrize("device", ["near", "far"])
@pytest.mark.parametrize("kinds", [("reads",) * 2, ("alone",) * 3, ("alone", "writes")])
def test_jobs_that_may_overlap_have_memory_of_their_own(
    device: str, kinds: tuple[str, ...]
) -> None:
    """Those that only read the same, and those that share nothing."""
    assert held(plan_of(device, *kinds)) == add(*(plan_of(device, kind) for kind in kinds))


@pytest.mark.parametrize("device", ["near", "far"])
def test_the_proof_needs_the_critical_sections(device: str) -> None:
    """Of a plan that would let such jobs overlap it names two tensors on one byte."""
    plan = plan_of(device, "writes", "writes")
    open_to_all = tuple(
        CriticalSection(section.job, (), (), arena) for arena, section in enumerate(plan.sections)
    )
    with pytest.raises(GraphError, match=r"may be needed at the same time, by .*writes_0"):
        verify_memory(plan._replace(sections=open_to_all))
