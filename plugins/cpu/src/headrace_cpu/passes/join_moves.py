"""Let transposes with reshapes between them be one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from headrace.graph import GraphRewriter, JobGraph, JobOp, replace_ops
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.ops.axes import permutation
from headrace_cpu.passes.moves import MOVES


class JoinMoves:
    """The pass, for the ops of device ``tag``.

    Before: ``transpose(reshape(transpose(x)))``, with any reshapes, and nobody else reads what lies
    between. After: ``reshape(transpose(reshape(x)))``, if one transpose can do what both do: an
    image whose channels are shuffled, or which is made of them, was else turned to have its
    channels first, and back. A reshape moves nothing.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these moves."""
        if len(graph.of_kind("transpose")) < 2:
            return graph
        joined = {chain[-1].call.name: (chain, move) for chain, move in self._found(graph)}
        inner = {op.call.name for chain, _ in joined.values() for op in chain[:-1]}

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            chain, move = joined[op.call.name]
            (source, *_) = chain[0].inputs
            assert source is not None
            return (_moved(new.tensor(source), move, op.call, new),)

        return replace_ops(graph, joined, make, gone=inner)

    def _found(self, graph: JobGraph) -> list[tuple[list[JobOp], _Move]]:
        readers, results = graph.index.readers, {tensor.name for _, tensor in graph.results}
        kept = results | graph.hints.keys()
        chains: dict[str | None, list[JobOp]] = {}  # by the tensor that the last op makes
        for op in graph.of_kind(*MOVES):
            if not self._is_here(op):
                continue
            source = op.inputs[0]
            may_go_on = len(readers[source]) == 1 and source not in kept
            chain = chains.pop(source, []) if may_go_on else []
            chains[op.outputs[0]] = [*chain, op]
        found = ((chain, _joined(chain)) for chain in chains.values())
        return [(chain, move) for chain, move in found if move is not None]

    def _is_here(self, op: JobOp) -> bool:
        return op.placement.tag == self._tag and op.placement.parallel_num == 1


class _Move(NamedTuple):
    """A transpose of what is seen as ``shape``."""

    shape: tuple[int, ...]
    perm: tuple[int, ...]


def _moved(x: Tensor, move: _Move, last: OpCall, new: GraphRewriter) -> Tensor:
    (y,) = new.op("reshape", [x], shape=move.shape, location=last.location)
    if move.perm != tuple(range(len(move.perm))):
        (y,) = new.op("transpose", [y], perm=move.perm, location=last.location)
    (y,) = new.op("reshape", [y], shape=last.outputs[0].shape, location=last.location)
    return y


class _Piece:
    """A run of indices that stay together: an axis, or a part of one; compared by identity."""

    def __init__(self, size: int) -> None:
        self.size = size


def _joined(chain: Sequence[JobOp]) -> _Move | None:
    """One move for all of a chain; None where there is none, or nothing is won."""
    shape = chain[0].call.input(0).shape
    if sum(op.call.op == "transpose" for op in chain) < 2 or 0 in shape:
        return None
    axes = [[_Piece(size)] if size > 1 else [] for size in shape]
    source = [piece for axis in axes for piece in axis]
    for op in chain:
        if op.call.op == "transpose":
            axes = [axes[axis] for axis in permutation(op.call)]
            continue
        regrouped = _regrouped(axes, op.call.outputs[0].shape, source)
        if regrouped is None:
            return None
        axes = regrouped
    place = {piece: at for at, piece in enumerate(source)}
    runs: list[list[int]] = []  # of places that follow each other on both sides
    for at in (place[piece] for axis in axes for piece in axis):
        if runs and runs[-1][-1] + 1 == at:
            runs[-1].append(at)
        else:
            runs.append([at])
    ordered = sorted(runs)
    sizes = tuple(math.prod(source[at].size for at in run) for run in ordered)
    return _Move(sizes, tuple(ordered.index(run) for run in runs))


def _regrouped(
    axes: list[list[_Piece]], shape: Sequence[int], source: list[_Piece]
) -> list[list[_Piece]] | None:
    """The pieces as axes of ``shape``; those that two axes share are cut, in ``source`` as well."""
    left = [piece for axis in axes for piece in axis][::-1]
    made: list[list[_Piece]] = []
    for size in shape:
        axis: list[_Piece] = []
        while size > 1:
            piece = left.pop()
            if piece.size > size:
                if piece.size % size:
                    return None
                rest = _Piece(piece.size // size)
                piece.size = size
                source.insert(source.index(piece) + 1, rest)
                left.append(rest)
            if size % piece.size:
                return None
            size //= piece.size
            axis.append(piece)
        made.append(axis)
    return made
