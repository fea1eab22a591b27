"""What passes know of ops that put elements elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.graph import GraphRewriter, JobOp
from headrace.ops import Tensor

MOVES = ("transpose", "reshape")
"""Ops that put elements elsewhere and change none, whatever the elements mean."""


def moves_to(tensor: str | None, makers: Mapping[str | None, JobOp]) -> tuple[JobOp, ...]:
    """The ops that ``tensor`` comes from without any arithmetic, the last one last."""
    moves: list[JobOp] = []
    op = makers.get(tensor)
    while op is not None and op.call.op in MOVES:
        moves.append(op)
        op = makers.get(op.inputs[0])
    return tuple(reversed(moves))


def moved(x: Tensor, moves: Sequence[JobOp], new: GraphRewriter) -> Tensor:
    """``x`` after the same moves."""
    for move in moves:
        call = move.call
        (x,) = new.op(call.op, [x], location=call.location, attrs=call.attrs)
    return x
