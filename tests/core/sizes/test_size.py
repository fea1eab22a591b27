"""Symbolic sizes: what is computed of them, and what of that is recorded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ShapeError
from headrace.sizes import MARK, Scope, Size, has_sizes
from headrace.tensor_spec import TensorSpec

ARITHMETIC: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    max,
    min,
)
DECISIONS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    lambda a, b: bool(a),
    lambda a, b: a in (b, 7),
    lambda a, b: f"{a}" if b > 10 else "",
    lambda a, b: a * 0.5 if a > b else 0.0,
    lambda a, b: a <= 10.5,
    lambda a, b: b > 7.0,
    lambda a, b: a < math.inf,
    lambda a, b: int(np.zeros(3)[min(abs(a), 2)]),
)
numbers = st.integers(2, 12)
steps = st.lists(
    st.tuples(
        st.integers(0, len(ARITHMETIC) + len(DECISIONS) - 1), st.integers(0, 99), st.integers(0, 99)
    ),
    min_size=1,
    max_size=12,
)


def run(unknowns: list[Any], program: list[tuple[int, int, int]]) -> tuple[list[Any], list[Any]]:
    """What a program computes of sizes or numbers, and all that it decides."""
    values: list[Any] = [*unknowns, 0, 1, 3, 8]
    decided: list[Any] = []
    for op, first, second in program:
        a, b = values[first % len(values)], values[second % len(values)]
        if op >= len(ARITHMETIC):
            decided.append(DECISIONS[op - len(ARITHMETIC)](a, b))
            continue
        try:
            values.append(ARITHMETIC[op](a, b))
        except ZeroDivisionError:
            decided.append("divided by 0")
    return values, decided


@given(st.lists(numbers, min_size=2, max_size=2), st.lists(numbers, min_size=2, max_size=2), steps)
def test_what_was_decided_holds_wherever_it_is_said_to(
    examples: list[int], others: list[int], program: list[tuple[int, int, int]]
) -> None:
    """Any program decides and computes the same of numbers, for all of which the scope says so."""
    scope = Scope(examples)
    computed, decided = run(list(scope.unknowns), program)
    for unknowns in (examples, others):
        values = scope.values(unknowns)
        if values is None:
            assert unknowns != examples
            continue
        wanted, wanted_decisions = run(list(unknowns), program)
        assert decided == wanted_decisions
        assert [values.of(value) for value in computed] == wanted


@given(st.lists(numbers, min_size=2, max_size=2), steps)
def test_arithmetic_alone_holds_everywhere(
    others: list[int], program: list[tuple[int, int, int]]
) -> None:
    """Sums, differences and products decide nothing."""
    program = [(op % 3, first, second) for op, first, second in program]
    scope = Scope([5, 9])
    computed, _ = run(list(scope.unknowns), program)
    values = scope.values(others)
    assert values is not None
    assert [values.of(value) for value in computed] == run(list(others), program)[0]


def test_what_is_equal_as_written_is_one_object_and_no_decision() -> None:
    """Terms cancel, divide and are put in order."""
    scope = Scope([16, 5])
    a, b = scope.unknowns
    assert a + 1 - a == 1
    assert type(a + 1 - a) is int
    assert (a * 384) // 64 is a * 6
    assert (a * b * 6) // b is 6 * a
    assert (2 * a + 2 * b) // (a + b) == 2
    assert (a + b) * (a - b) is a * a - b * b
    assert (8 * a) % 4 == 0
    assert math.prod((2, a, 3)) is a * 6
    assert scope.values([2, 2]) is not None


def test_sizes_are_no_less_than_two() -> None:
    """So that nobody need ask whether a dimension is empty, or repeated."""
    scope = Scope([16])
    (a,) = scope.unknowns
    assert a
    assert a > 1
    assert 6 * a != 0
    assert 1 not in (a, 2 * a)
    assert scope.values([2]) is not None
    assert scope.values([1]) is None
    assert scope.values([0]) is None


@pytest.mark.parametrize(
    "ask",
    [
        operator.index,
        int,
        float,
        str,
        "{}".format,
        "{:3d}".format,
        lambda a: a / 2,
        lambda a: a**2,
        lambda a: 1 << a,
        lambda a: np.zeros(a),
        lambda a: np.array([a], np.int64),
        lambda a: range(a),
        lambda a: [0] * a,
        lambda a: a.bit_length(),
        lambda a: a * 0.5,
    ],
)
def test_who_is_told_the_number_is_told_that_of_the_example(ask: Callable[[Any], object]) -> None:
    """And what comes of it is right for no other one."""
    scope = Scope([9, 9])
    ask(scope.unknowns[0])
    assert scope.values([9, 8]) is not None
    assert scope.values([8, 9]) is None
    assert list(scope.pins.values()) == [9]


def test_a_size_prints_what_it_is_made_of() -> None:
    """With a mark, by which a text that holds it is known; no number is told."""
    scope = Scope([9])
    assert MARK in f"{(scope.unknowns[0], 2)}"
    assert not scope.pins


def test_scopes_do_not_meet() -> None:
    """What is kept by sizes of one is not found by those of another."""
    one, other = Scope([9]), Scope([9])
    known = {(one.unknowns[0], 3): "kept"}
    assert (other.unknowns[0], 3) not in known
    assert one.unknowns[0] != other.unknowns[0]
    assert not one.pins
    assert not other.pins


def test_specs_take_sizes() -> None:
    """Their elements and bytes are sizes; a dimension that may be negative is looked at."""
    scope = Scope([9])
    (a,) = scope.unknowns
    spec = TensorSpec((2, a), "float32")
    assert has_sizes(spec.shape)
    assert type(spec.nbytes) is Size
    assert spec == TensorSpec((2, 1 * a), "float32")
    assert isinstance(a, int)
    with pytest.raises(ShapeError, match="negative"):
        TensorSpec((-a,), "float32")
    TensorSpec((a - 4,), "float32")
    assert scope.values([3]) is None
    assert scope.values([4]) is not None
