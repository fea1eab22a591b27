"""Integers of 8 and 16 bits on a device that computes in int32 alone."""

from __future__ import annotations

import numpy as np
import pytest
from toy_backends import near

from headrace.device import KernelEntry, OpCall, dtypes
from headrace.errors import UnsupportedError
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry
from headrace.testing import Case, check_case
from headrace.testing.conformance import test_binary, test_gather, test_logic, test_reduce

NARROW = ("int8", "uint8", "int16", "uint16")
COMPUTED = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "mod", "equal",
    "greater", "reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin",
    "top_k", "matmul", "scatter_nd", "bit_shift",
)  # fmt: skip
CASES = [
    case
    for family in (test_binary, test_gather, test_logic, test_reduce)
    for case in family.CASES
    if case.op in COMPUTED and str(case.inputs[0].dtype) in NARROW
    if case.op != "scatter_nd" or case.attrs.get("reduction")
]


def registry() -> BackendRegistry:
    """With a device that casts anything, and computes in int32."""
    more = [KernelEntry("near", op, NumpyKernel, dtypes("int32")) for op in COMPUTED]
    return BackendRegistry.from_modules({"near": near(("cast",), more=more)})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_the_device_does_not_compute_in_is_widened(case: Case) -> None:
    """Every bit is right: sums wrap around where the narrow dtype ends."""
    check_case("near:0", case, registry())


@pytest.mark.parametrize("dtype", ["int64", "uint32", "uint64"])
def test_what_is_not_narrow_is_refused(dtype: str) -> None:
    """In the words of the op that was asked for."""
    x = np.ones(2, dtype)
    with pytest.raises(UnsupportedError, match=f"cannot run add of {dtype}"):
        check_case("near:0", Case("wide", "add", (x, x)), registry())


def test_a_kernel_of_the_devices_own_goes_first() -> None:
    """Nothing is cast where nothing need be."""
    calls: list[OpCall] = []

    def kernel(call: OpCall) -> NumpyKernel:
        calls.append(call)
        return NumpyKernel(call)

    x = np.array([127, 1], np.int8)
    check_case(
        "near:0",
        Case("own", "add", (x, x)),
        BackendRegistry.from_modules({"near": near(("add", "cast"), kernel)}),
    )
    assert {call.op for call in calls} == {"add"}


def test_an_extreme_of_nothing_is_the_dtypes_own() -> None:
    """That of int32, cut to 8 bits, would be another number."""
    empty = Case("empty", "reduce_max", (np.zeros((2, 0), np.int8),), {"axes": (1,)})
    with pytest.raises(UnsupportedError, match="cannot run reduce_max of int8"):
        check_case("near:0", empty, registry())
