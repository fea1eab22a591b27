"""A backend that leaves compound ops to their decompositions passes the suite like any other."""

from __future__ import annotations

import pytest
from toy_backends import near

from headrace.numpy_ops import FUNCTIONS
from headrace.registry import BackendRegistry
from headrace.testing.conformance import test_errors
from headrace.testing.conformance.test_recurrent import CASES
from headrace.testing.run import check_case, computes_nothing

COMPOUND = ("rnn", "gru", "lstm")


def registry(*missing: str) -> BackendRegistry:
    """``near`` with a kernel for every op but ``missing``."""
    ops = tuple(op for op in FUNCTIONS if op not in missing)
    return BackendRegistry.from_modules({"near": near(ops)})


def test_a_recurrence_of_no_steps_has_nothing_to_compute() -> None:
    """Decomposed it is a constant, so no kernel can be seen at work; the results are right."""
    installed = registry(*COMPOUND)
    idle = [case for case in CASES if computes_nothing("near", case, installed)]
    assert {case.op for case in idle} == set(COMPOUND)
    for case in idle:
        assert case.inputs[0] is not None and case.inputs[0].shape[0] == 0
        check_case("near", case, installed)


def test_with_a_kernel_even_no_steps_are_computed() -> None:
    """The kernel is what runs, whatever it has to do."""
    assert not any(computes_nothing("near", case, registry()) for case in CASES)


@pytest.mark.parametrize("missing", ["cast", "matmul", "multiply"])
def test_gaps_deep_inside_a_decomposition_are_said(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the op that was asked for with its dtypes, and what is missing."""
    installed = registry(*COMPOUND, "matmul_integer", "swish", missing)
    monkeypatch.setattr("headrace.testing.run.default_registry", lambda: installed)
    test_errors.test_every_gap_of_this_device_is_said("near", installed.backend("near"))
