"""Guesses: sizes that are as they were, although the numbers that they are computed from change.

The body of a loop often takes a part of a tensor at the place that a counter says. The length of
the part decides a shape; the place need not. A job that is built for the length serves every turn,
as long as it is the same in each: that is guessed from one turn, and looked at after each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.light_tuple import NamedTuple
from headrace.tensor_spec import Array

if TYPE_CHECKING:
    from headrace.ops import Tensor

GUESSED_ELEMENTS = 64
"""Numbers of a tensor whose value is followed through a job that is built for a guess."""


class Assumption(NamedTuple):
    """What a job is built for: ``holds`` of the values of the tensors."""

    tensors: tuple[Tensor, ...]
    holds: Callable[..., bool]


class Check(NamedTuple):
    """An assumption of a job that is compiled: the names of outputs, and what holds of them."""

    outputs: tuple[str, ...]
    holds: Callable[..., bool]


def checks_of(assumptions: Sequence[Assumption]) -> tuple[Check, ...]:
    """The names that outputs of the job get for its assumptions."""
    return tuple(
        Check(
            tuple(f"assumed {number}/{index}" for index in range(len(assumption.tensors))),
            assumption.holds,
        )
        for number, assumption in enumerate(assumptions)
    )


def all_hold(checks: Sequence[Check], made: Mapping[str, Array]) -> bool:
    """True when a job was right to assume what it did, by its outputs."""
    return all(check.holds(*(made[name] for name in check.outputs)) for check in checks)
