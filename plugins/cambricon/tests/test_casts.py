"""Ways from one dtype to another: through casts that the library is known to have, and by bytes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.cast import cast_steps, holds
from headrace_cambricon.library import library

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "bfloat16", "float32", "float64",
)  # fmt: skip
WHOLE = DTYPES[1:9]


def way(source: str, target: str) -> str:
    return " ".join(f"{step.way}:{step.target}" for step in cast_steps(source, target))


def test_the_table_has_what_the_stand_in_publishes() -> None:
    """Both say which casts were seen in callers of the library."""
    names = vendor._CAST_NAMES
    for source, target in itertools.permutations(names, 2):
        number = library().stand_in_enum(f"CNNL_CAST_{names[source]}_TO_{names[target]}")
        assert (number is not None) == (target in vendor.CASTS[source]), (source, target)


@pytest.mark.parametrize(
    ("source", "target", "steps"),
    [
        ("float32", "float16", "vendor:float16"),
        ("float16", "bfloat16", "vendor:float32 vendor:bfloat16"),
        ("int8", "int64", "vendor:int32 vendor:int64"),
        (
            "int64",
            "int8",
            "low:int8",
        ),  # what the library does with numbers that do not fit, is not said
        ("uint16", "uint64", "zeros:uint64"),
        ("int8", "uint32", "vendor:int32 low:uint32"),
        ("uint32", "float32", "zeros:int64 vendor:float32"),
        ("float32", "uint16", "vendor:int32 clamp:int32 low:uint16"),
        ("float64", "int8", ""),  # float32 would round it first
        ("uint64", "float32", ""),
        ("int64", "bfloat16", ""),
        ("int4", "int8", ""),
        ("bfloat16", "bfloat16", ""),  # nothing is cast
    ],
)
def test_the_shortest_way_that_loses_nothing_before_its_end(
    source: str, target: str, steps: str
) -> None:
    """No way is better than one that rounds twice."""
    assert way(source, target) == steps


@pytest.mark.parametrize(("source", "target"), tuple(itertools.permutations(WHOLE, 2)))
def test_integers_are_cast_to_each_other(source: str, target: str) -> None:
    """All of them, and never by a cast of the library into fewer bits."""
    steps = cast_steps(source, target)
    assert steps
    before = source
    for step in steps:
        assert step.way != "vendor" or holds(step.target, before)
        before = step.target


@pytest.mark.parametrize(("source", "target"), tuple(itertools.product(DTYPES[:9], DTYPES)))
def test_what_holds_what_is_what_numpy_casts_safely(source: str, target: str) -> None:
    """bfloat16, which numpy has not, holds what has eight bits."""
    if target == "bfloat16":
        assert holds(target, source) == (source in ("bool", "int8", "uint8"))
    elif target != "bool":
        assert holds(target, source) == np.can_cast(source, target, "safe") or target == "float64"
