"""Every way that an op says it can be shared out gives what one device gives, on devices."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import settings

from headrace.compiler.sharding.signature import signatures
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import CORE_OPS, JobGraphBuilder, SbpHint
from headrace.ops import OPS, SbpSignature
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum
from headrace.tensor_spec import TensorSpec
from headrace.testing import Case, conformance
from headrace.testing.run import call_of, compare
from headrace.testing.tolerances import tolerance_of

PLACES = (("0:0-1", (2,)), ("0:0-2", (3,)), ("0:0-3", (2, 2)))
Shared = tuple[str, tuple[int, ...], tuple[SbpSignature, ...]]

EVERY_DTYPE = settings.default.max_examples > 1000
"""With ``--hypothesis-profile long``: every case; else one of each op, attributes and signature."""

WHOLE = {"arange", "dynamic_quantize", "lstm_integer"}
"""Ops that say no way: a range has nothing to share out, and one scale is for a whole tensor."""


OVERFLOW = ("conv-float16-accumulates-wider",)
"""Beginnings of cases whose sum fits into the dtype and whose terms, each rounded to it, do not."""


def _is_finite(case: Case) -> bool:
    """False where terms say less than their sum: one may be zero, and zero times inf is nan."""
    arrays = [array for array in case.inputs if array is not None and array.dtype.kind == "f"]
    return all(np.isfinite(array).all() for array in arrays)


def families() -> Iterator[tuple[str, tuple[Case, ...]]]:
    for module in pkgutil.iter_modules(conformance.__path__):
        cases = getattr(import_module(f"{conformance.__name__}.{module.name}"), "CASES", None)
        if cases is not None:
            yield module.name, tuple(cases)


def ways(case: Case, seen: set[tuple[object, ...]]) -> list[Shared]:
    """Ways to share a case out that were not tried yet, but for all of it everywhere."""
    call, found = call_of(case), []
    for devices, hierarchy in PLACES:
        for number, signature in enumerate(signatures(call, hierarchy, CORE_OPS)):
            sides = {sbp for axis in signature for sbp in (*axis.inputs, *axis.outputs)}
            if sides == {Broadcast()} or (len(hierarchy) > 1 and number % 5):
                continue
            if PartialSum() in sides and (str(case).startswith(OVERFLOW) or not _is_finite(case)):
                continue
            key = (case.op, str(case.attrs), hierarchy, signature)
            if EVERY_DTYPE or key not in seen:
                seen.add(key)
                found.append((devices, hierarchy, signature))
    return found


def run(case: Case, shared: list[Shared]) -> None:
    """One job with the case once for each way, its inputs and outputs hinted to be that way."""
    builder = JobGraphBuilder(str(case), Placement.parse("fakedevice", "0:0"), fold=False)
    feeds, wanted = {}, {}
    for number, (devices, hierarchy, signature) in enumerate(shared):
        with builder.placed(Placement.parse("fakedevice", devices, hierarchy)):
            inputs = []
            for index, array in enumerate(case.inputs):
                fed = None
                if array is not None:
                    fed = builder.input(f"x{index}_{number}", TensorSpec.of(array))
                    feeds[fed.name] = array
                    builder.hint(fed, SbpHint(tuple(axis.inputs[index] for axis in signature)))
                inputs.append(fed)
            made = builder.op(case.op, inputs, outputs=case.outputs, attrs=dict(case.attrs))
        for index, tensor in enumerate(made):
            sbp = NdSbp(tuple(axis.outputs[index] for axis in signature))
            builder.hint(tensor, SbpHint(sbp.axes))
            builder.output(f"y{index}_{number}", tensor)
            wanted[tensor.name] = sbp
    with CompiledJob(builder.finish()) as job:
        results = job.run(feeds)
        lies = {boxed.tensor: boxed.source_sbp for boxed in job.boxing}
    assert {name: lies[name] for name in wanted} == wanted
    # Each device rounds its terms, so there is more rounding than in one sum.
    tolerances = [tolerance_of(spec.dtype) for spec in call_of(case).outputs]
    loose = replace(
        case,
        rtol=max(case.rtol or 0, *(3 * t.rtol for t in tolerances)),
        atol=max(case.atol or 0, *(3 * t.atol for t in tolerances)),
    )
    for number, (devices, hierarchy, signature) in enumerate(shared):
        is_partial = any(PartialSum() in axis.outputs for axis in signature)
        where = f"on {devices} {hierarchy} as {'; '.join(map(str, signature))}"
        got = tuple(results[f"y{index}_{number}"] for index in range(case.outputs))
        compare(loose if is_partial else case, got, where)


@pytest.mark.parametrize("family", dict(families()))
def test_every_signature_gives_what_one_device_gives(family: str) -> None:
    """Over two devices, three, and two by two, with inputs laid just as the signature says."""
    seen: set[tuple[object, ...]] = set()
    for case in dict(families())[family]:
        shared = ways(case, seen)
        if shared:
            run(case, shared)


def test_every_op_can_be_shared_out() -> None:
    """Some case of each op has another way to run than all of it on every device."""
    can: set[str] = set()
    for _, cases in families():
        can |= {case.op for case in cases if case.op not in can and ways(case, set())}
    assert OPS.keys() - can == WHOLE
