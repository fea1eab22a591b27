"""Put products of bytes in the place of products of quantized numbers that are both computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.dtypes import float32
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace.ops.axes import per_tensor, permutation
from headrace_cpu.kernels.integer_batch import A_ZERO, B_ZERO, multiplies_matrices
from headrace_cpu.ops.integer import SCALE, WEIGHT_ZEROS, X_ZERO, Y_ZERO
from headrace_cpu.ops.integer_batch import MATRICES
from headrace_cpu.ops.pack_integers import BYTES, MOST_DEPTH
from headrace_cpu.passes.moves import moved, moves_to
from headrace_cpu.passes.own_ops import KnownOps

_ON_THE_WAY = frozenset({"add", "multiply", "divide", "subtract", "where"})
"""What is done to scores before a softmax."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Bytes, and how they come to be what a product reads; tensors by name."""

    bytes: str
    zero: str | None
    scale: str | None = None
    moves: tuple[JobOp, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sides:
    """What a product is of."""

    left: _Side
    right: _Side
    turned: bool  # the right one has its columns first


class BatchIntegers:
    """The pass, for the ops of device ``tag``; it follows the one that packs constant weights.

    Before: any ops. After: every ``matmul_integer`` of matrices is a ``cpu.integer_batch_matmul``,
    and so is a ``matmul`` of what ``dequantize`` made of bytes as a whole, turned or shaped anew
    since or not, unless it makes the scores of an attention in floats, which is one op. Sums are
    exact, where those of floats are rounded.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these products."""
        products = graph.of_kind("matmul_integer")
        if graph.of_kind("dequantize"):
            products += graph.of_kind("matmul")
        finder = _Finder(graph)
        found = {
            op.call.name: sides
            for op in products
            if op.placement.tag == self._tag
            and op.placement.parallel_num == 1
            and (sides := finder.sides(op)) is not None
        }

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            return _product(op, found[op.call.name], new)

        return replace_ops(graph, found, make, ops=self._ops)


class _Finder:
    """Looks for products of bytes in one graph."""

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph
        self._makers, self._readers = graph.index.makers, graph.index.readers

    def sides(self, op: JobOp) -> _Sides | None:
        """What ``op`` is a product of; None when it is none of computed bytes."""
        call, (a, b) = op.call, op.inputs[:2]
        assert a is not None and b is not None
        if call.op == "matmul_integer":
            if not multiplies_matrices(call):
                return None
            left, right = _Side(a, op.inputs[A_ZERO]), _Side(b, op.inputs[B_ZERO])
            return _Sides(left, right, call.flag_attr("transpose_b"))
        x, y = call.input(0), call.input(1)
        if min(x.rank, y.rank) < 2 or call.flag_attr("transpose_a") or 0 in (*x.shape, *y.shape):
            return None
        if x.shape[-1] > MOST_DEPTH:  # floats do not wrap around
            return None
        of_a, of_b = self._dequantized(a), self._dequantized(b)
        if of_a is None or of_b is None or self._makes_scores(op):
            return None
        turned = call.flag_attr("transpose_b")
        if of_b.moves and _turns_matrices(of_b.moves[-1]):
            of_b = _Side(of_b.bytes, of_b.zero, of_b.scale, of_b.moves[:-1])
            turned = not turned
        return _Sides(of_a, of_b, turned)

    def _dequantized(self, tensor: str) -> _Side | None:
        """The computed bytes that ``tensor`` is made of, by one scale."""
        moves = moves_to(tensor, self._makers)
        source = self._makers.get(moves[0].inputs[0] if moves else tensor)
        if source is None or source.call.op != "dequantize" or not per_tensor(source.call):
            return None
        call, (numbers, scale, zero) = source.call, source.inputs
        dtypes = {call.input(1).dtype, call.outputs[0].dtype}
        if call.input(0).dtype not in BYTES or dtypes != {float32}:
            return None
        if numbers is None or numbers in self._graph.constants:
            return None
        return _Side(numbers, zero, scale, moves)

    def _makes_scores(self, op: JobOp) -> bool:
        """Whether nothing but arithmetic is between ``op`` and a softmax."""
        while True:
            readers = self._readers.get(op.outputs[0], ())
            if len(readers) != 1:
                return False
            (op,) = readers
            if op.call.op not in _ON_THE_WAY:
                return op.call.op == "softmax"


def _turns_matrices(move: JobOp) -> bool:
    """Whether a move makes rows of columns, and nothing else."""
    call = move.call
    rank = call.input(0).rank
    if call.op != "transpose" or rank < 2:
        return False
    return tuple(permutation(call)) == (*range(rank - 2), rank - 1, rank - 2)


def _product(op: JobOp, sides: _Sides, new: GraphRewriter) -> tuple[Tensor, ...]:
    left, right, call = sides.left, sides.right, op.call
    inputs: list[Tensor | None] = [None] * (Y_ZERO + 1)
    inputs[0] = moved(new.tensor(left.bytes), left.moves, new)
    matrices = inputs[MATRICES] = moved(new.tensor(right.bytes), right.moves, new)
    for place, zero in ((X_ZERO, left.zero), (WEIGHT_ZEROS, right.zero)):
        inputs[place] = None if zero is None else new.tensor(zero)
    columns = matrices.spec.shape[-2 if sides.turned else -1]
    attrs: dict[str, object] = {"columns": columns, "transpose_b": sides.turned}
    if left.scale is not None and right.scale is not None:
        attrs["dtype"] = float32
        scales = [new.tensor(scale) for scale in (left.scale, right.scale)]
        (inputs[SCALE],) = new.op("multiply", scales, location=call.location)
    return new.op(
        "cpu.integer_batch_matmul", inputs, name=call.name, location=call.location, attrs=attrs
    )
