"""Run one op on a device, and check what it gives against the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.compiler.pipeline import compile_job
from headrace.dtypes import DType
from headrace.errors import UnsupportedError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.op_call import OpCall
from headrace.ops import make_call
from headrace.placement import Placement
from headrace.plan import TaskKind
from headrace.registry import BackendRegistry, default_registry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.oracle import wanted
from headrace.testing.tolerances import EXACT, Tolerance, tolerance_of


class UncoveredError(UnsupportedError):
    """The device offers no kernels for a case, and does not pretend to."""


def run_op(device: str, case: Case, registry: BackendRegistry | None = None) -> tuple[Array, ...]:
    """Run the op of ``case`` on ``device`` (``TAG`` or ``TAG:INDEX``) as a job of one op.

    The op may be a plugin's own. ``registry`` is where devices and their ops come from; default:
    the installed plugins.

    Every input is an input of the job, so that nothing is folded and the device does the work.

    Raises:
        UncoveredError: the device has no kernels for it.
        UnsupportedError: it has one that matches, and that refuses all the same.
        HeadraceError: the case is not legal, or running it failed.
    """
    registry = registry or default_registry()
    graph = graph_of(device, case, registry)
    try:
        job = CompiledJob(graph, registry)
    except UnsupportedError as error:
        # A kernel that matches a call has claimed it: what it then refuses is a failure, no gap.
        kernels = registry.backend(Placement.of_device(device).tag).kernels
        if kernels.select(call_of(case, registry)) is not None:
            raise
        raise UncoveredError(str(error)) from error
    feeds = {
        f"input_{index}": array for index, array in enumerate(case.inputs) if array is not None
    }
    with job:
        results = job.run(feeds)
    return tuple(results[name] for name, _ in graph.outputs)


def graph_of(device: str, case: Case, registry: BackendRegistry) -> JobGraph:
    """The job of ``run_op``.

    Raises:
        HeadraceError: the case is not legal.
    """
    builder = JobGraphBuilder(str(case), Placement.of_device(device), fold=False, ops=registry)
    tensors = [
        None if array is None else builder.input(f"input_{index}", TensorSpec.of(array))
        for index, array in enumerate(case.inputs)
    ]
    attrs: dict[str, Any] = dict(case.attrs)
    made = builder.op(case.op, tensors, outputs=case.outputs, location=str(case), **attrs)
    for index, tensor in enumerate(made):
        builder.output(f"output_{index}", tensor)
    return builder.finish()


def computes_nothing(device: str, case: Case, registry: BackendRegistry | None = None) -> bool:
    """True when the op, decomposed, folds to constants: a recurrence of no steps, for example."""
    registry = registry or default_registry()
    plan = compile_job(graph_of(device, case, registry), registry).plan
    return all(task.kind is not TaskKind.COMPUTE for task in plan.tasks)


def check_case(device: str, case: Case, registry: BackendRegistry | None = None) -> None:
    """Run ``case`` on ``device`` and compare shapes, dtypes and values with the oracle.

    Raises:
        AssertionError: something differs; names the case, the worst element and both values.
        HeadraceError: the case is not legal, the device cannot run it, or nothing says what it
            should give.
    """
    compare(case, run_op(device, case, registry), f"on {device}", registry)


def compare(
    case: Case,
    results: tuple[Array, ...],
    where: str,
    registry: BackendRegistry | None = None,
) -> None:
    """Compare ``results`` of ``case`` with the op's inference and with the oracle.

    Raises:
        AssertionError: something differs; names the case, the worst element and both values.
    """
    registry = registry or default_registry()
    call = call_of(case, registry)
    answer = wanted(case, call, registry)
    if len(results) != case.outputs or len(answer) < case.outputs:
        raise AssertionError(
            f"{case} {where}: {len(results)} outputs and {len(answer)} of the oracle, "
            f"not {case.outputs}"
        )
    for index, (got, want, spec) in enumerate(zip(results, answer, call.outputs, strict=False)):
        label = f"{case} {where}: output {index}"
        for array, source in ((got, "it"), (want, "the oracle")):
            if array.shape != spec.shape or array.dtype != spec.dtype.numpy:
                raise AssertionError(
                    f"{label} should be {spec}; {source} gives {array.dtype}{list(array.shape)}"
                )
        _compare_values(label, got, want, _tolerance(case, spec.dtype))


def call_of(case: Case, registry: BackendRegistry | None = None) -> OpCall:
    """The checked call of ``case``, with all attributes and the inferred outputs.

    Raises:
        OpError: the case is not legal.
    """
    specs = [None if array is None else TensorSpec.of(array) for array in case.inputs]
    op = (registry or default_registry()).op(case.op).op
    return make_call(op, case.op, specs, case.attrs, outputs=case.outputs)


def _tolerance(case: Case, dtype: DType) -> Tolerance:
    default = tolerance_of(dtype)
    if default == EXACT:  # a case that loosens its floats does not loosen its indices
        return EXACT
    return Tolerance(
        default.rtol if case.rtol is None else case.rtol,
        default.atol if case.atol is None else case.atol,
    )


def _compare_values(label: str, got: Array, want: Array, tolerance: Tolerance) -> None:
    """Fail when an element is further away than ``tolerance``; NaN equals NaN, inf equals inf."""
    if tolerance == EXACT and got.dtype.kind in "biu":
        bad = got != want
        excess = bad.astype(np.float64)
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):  # inf - inf
            excess = np.abs(a - b) - (tolerance.atol + tolerance.rtol * np.abs(b))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        # A comparison with NaN, or of inf with a number, is neither far nor near: it is wrong.
        excess = np.where(np.isfinite(excess), excess, np.inf)
        bad = ~same & (excess > 0)
    if not bad.any():
        return
    worst = np.unravel_index(int(np.argmax(np.where(bad, excess, -np.inf))), got.shape)
    at = tuple(int(index) for index in worst)
    raise AssertionError(
        f"{label}: {int(bad.sum())} of {bad.size} elements differ by more than "
        f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}; the worst is {list(at)}: "
        f"{got[at]!r}, and should be {want[at]!r}"
    )
