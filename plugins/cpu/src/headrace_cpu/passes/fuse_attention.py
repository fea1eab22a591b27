"""Put attention in the place of the products, the mask and the softmax that spell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from headrace.dtypes import float32
from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace_cpu.ops.attention import ROWS_FIRST, Attention


@dataclass(frozen=True, slots=True)
class _Side:
    """A tensor of heads before what only moves or scales it."""

    tensor: str
    scale: float = 1.0
    rows_first: bool = False
    transposed: bool = False


class FuseAttention:
    """The pass, for the ops of device ``tag``.

    Before: a ``softmax`` over the last of four axes between two products of matrices. After: one
    ``cpu.attention``, which reads and writes heads where they lie: transposes that only brought
    heads to the front, numbers that scale, a mask that is added and the zeros that exporters put
    where a softmax is no number are in it.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        finder = _Finder(graph, self._tag)
        for softmax in finder.editor.ops("softmax"):
            finder.fuse(softmax)
        return finder.editor.finish()


class _Finder:
    def __init__(self, graph: JobGraph, tag: str) -> None:
        self.editor = GraphEditor(graph, tag)
        self._graph = graph
        self._kept = {tensor.name for _, tensor in graph.results} | graph.hints.keys()

    def fuse(self, softmax: JobOp) -> None:
        """Put an attention in the place of what stands around ``softmax``, if that is one."""
        call = softmax.call
        rank = call.input(0).rank
        if rank != 4 or call.int_attr("axis") % rank != 3 or call.input(0).dtype != float32:
            return
        before = self._scores(softmax)
        after = self._values(softmax)
        if before is None or after is None or softmax.placement.parallel_num > 1:
            return
        chain, (q, k), mask, scale = before
        more, v, nan_is_zero = after
        *_, last = more
        first = "".join(name for name, side in (("q", q), ("k", k), ("v", v)) if side.rows_first)
        turned = self._turned(last)
        if turned is not None:
            more, first = [*more, turned], first + "y"
        if len({op.placement for op in (*chain, softmax, *more)}) > 1 or not self._fits(k, v):
            return
        attrs = {
            "scale": scale * q.scale * k.scale,
            "k_transposed": k.transposed,
            "rows_first": first,
            "nan_is_zero": nan_is_zero,
        }
        inputs = [q.tensor, k.tensor, v.tensor, mask]
        self.editor.replace([*chain, softmax, *more], Attention, inputs, attrs)

    def _fits(self, k: _Side, v: _Side) -> bool:
        specs = [self.editor.tensor(side.tensor).spec for side in (k, v)]
        if any(spec.rank != 4 or 0 in spec.shape for spec in specs):
            return False
        heads = [
            spec.shape[0:3:2] if side.rows_first else spec.shape[:2]
            for spec, side in zip(specs, (k, v), strict=True)
        ]
        return heads[0] == heads[1]

    def _scores(
        self, softmax: JobOp
    ) -> tuple[list[JobOp], tuple[_Side, _Side], str | None, float] | None:
        """What makes the scores, in order; queries and keys; the mask; the scale."""
        chain: list[JobOp] = []
        reader, tensor, mask, scale = softmax, softmax.inputs[0], None, 1.0
        while (op := self._private(tensor, reader)) is not None:
            chain.insert(0, op)
            if op.call.op == "matmul":
                sides = self._queries_and_keys(op)
                return None if sides is None else (chain, sides, mask, scale)
            if op.call.op == "add" and mask is None and scale == 1.0:
                found = self._mask(op)
                if found is None:
                    return None
                mask, tensor = found
            elif (factor := self._factor(op)) is not None:
                scale, tensor = scale * factor, op.inputs[0]
            else:
                return None
            reader = op
        return None

    def _mask(self, add: JobOp) -> tuple[str, str] | None:
        """The mask and the scores: the latter come of a product, the former fits all keys."""
        shape = add.call.outputs[0].shape
        for scores, mask in (add.inputs[:2], add.inputs[1::-1]):
            made = self.editor.maker(scores)
            if made is None or made.call.op not in ("matmul", "multiply", "divide"):
                continue
            assert scores is not None and mask is not None
            own = self.editor.tensor(mask).spec.shape
            whole = self.editor.tensor(scores).spec.shape == shape
            if whole and len(own) == 4 and own[3] == shape[3]:
                return mask, scores
        return None

    def _queries_and_keys(self, matmul: JobOp) -> tuple[_Side, _Side] | None:
        call = matmul.call
        ranks = {call.input(index).rank for index in (0, 1)}
        if call.flag_attr("transpose_a") or ranks != {4}:
            return None
        if call.input(0).shape[:2] != call.input(1).shape[:2]:
            return None
        q = self._side(matmul.inputs[0])
        k = self._keys(matmul.inputs[1], transposed=not call.flag_attr("transpose_b"))
        return q, k

    def _values(self, softmax: JobOp) -> tuple[list[JobOp], _Side, bool] | None:
        """What reads the shares, up to the product with the values; the values."""
        users, shares, chain = self.editor.users(softmax.outputs[0]), softmax.outputs[0], []
        if shares in self._kept:
            return None
        nan_is_zero = len(users) == 2
        if nan_is_zero:
            is_nan, where = sorted(users, key=lambda op: op.call.op)
            if not self._zeroes(is_nan, where, shares):
                return None
            chain, shares = [is_nan, where], where.outputs[0]
            users = self.editor.users(shares)
        if len(users) != 1 or shares in self._kept or users[0].call.op != "matmul":
            return None
        matmul = users[0]
        call = matmul.call
        if matmul.inputs[0] != shares or matmul.inputs[1] == shares or call.input(1).rank != 4:
            return None
        if call.flag_attr("transpose_a") or call.flag_attr("transpose_b"):
            return None
        if call.input(0).shape[:2] != call.input(1).shape[:2]:
            return None
        side = self._side(matmul.inputs[1], scales=False)
        return [*chain, matmul], side, nan_is_zero

    def _zeroes(self, is_nan: JobOp, where: JobOp, shares: str) -> bool:
        """Whether the two put 0 where ``shares`` are no number."""
        if (is_nan.call.op, where.call.op) != ("is_nan", "where"):
            return False
        zero = self._graph.constants.get(where.inputs[1] or "")
        return (
            where.inputs[0] == is_nan.outputs[0]
            and where.inputs[2] == shares
            and self.editor.is_private(is_nan, where)
            and zero is not None
            and not zero.any()
            and where.call.outputs[0] == where.call.input(2)
        )

    def _turned(self, matmul: JobOp) -> JobOp | None:
        """The transpose that puts rows before heads again, if that is all that reads the result."""
        users = self.editor.users(matmul.outputs[0])
        if len(users) != 1 or matmul.outputs[0] in self._kept:
            return None
        user = users[0]
        return user if _turns(user, ROWS_FIRST) and user.placement == matmul.placement else None

    def _side(self, tensor: str | None, *, scales: bool = True) -> _Side:
        """Heads before a number that scales them and a transpose that brings them to the front.

        These may have other readers: they stay for them.
        """
        assert tensor is not None
        scale = 1.0
        op = self.editor.maker(tensor)
        if op is not None and scales and (factor := self._factor(op)) is not None:
            scale, tensor = factor, str(op.inputs[0])
            op = self.editor.maker(tensor)
        if _turns(op, ROWS_FIRST):
            return _Side(str(op.inputs[0]), scale, rows_first=True)
        return _Side(tensor, scale)

    def _keys(self, tensor: str | None, *, transposed: bool) -> _Side:
        """Keys as ``_side`` has heads, before their rows and columns were exchanged as well."""
        assert tensor is not None
        side = self._side(tensor)
        op = self.editor.maker(side.tensor)
        if not transposed or side.rows_first:
            return side if not transposed else _Side(tensor, 1.0, transposed=True)
        source = None if op is None else self._exchanged(op)
        if source is None:
            if _turns(op, (0, 2, 3, 1)):  # [batch, keys, heads, depth]
                return _Side(str(op.inputs[0]), side.scale, rows_first=True)
            return _Side(side.tensor, side.scale, transposed=True)
        inner = self._side(source)
        return _Side(inner.tensor, side.scale * inner.scale, inner.rows_first)

    def _exchanged(self, op: JobOp) -> str | None:
        """Of what ``op`` makes its result by an exchange of the last two axes.

        By itself, or as a transpose between two reshapes.
        """
        if _turns(op, (0, 1, 3, 2)):
            return op.inputs[0]
        turn = self.editor.maker(op.inputs[0]) if op.call.op == "reshape" else None
        if not _turns(turn, (0, 2, 1)):
            return None
        inner = self.editor.maker(turn.inputs[0])
        if inner is None or inner.call.op != "reshape" or inner.call.input(0).rank != 4:
            return None
        before, after = inner.call.input(0).shape, op.call.outputs[0].shape
        same = (*before[:2], before[3], before[2]) == after
        return inner.inputs[0] if same and turn.call.input(0).shape[1:] == before[2:] else None

    def _factor(self, op: JobOp) -> float | None:
        """The number that ``op`` multiplies its first input by; None if that is not all it does."""
        if op.call.op not in ("multiply", "divide") or op.call.outputs[0] != op.call.input(0):
            return None
        value = self._graph.constants.get(op.inputs[1] or "")
        if value is None or value.size != 1:
            return None
        number = float(value.reshape(()))
        return number if op.call.op == "multiply" else 1 / number if number else None

    def _private(self, tensor: str | None, reader: JobOp) -> JobOp | None:
        """What makes ``tensor``, for ``reader`` alone."""
        op = self.editor.maker(tensor)
        if op is None or tensor in self._kept or self.editor.users(str(tensor)) != (reader,):
            return None
        return op


def _turns(op: JobOp | None, perm: tuple[int, ...]) -> TypeGuard[JobOp]:
    """Whether ``op`` is a transpose by ``perm``."""
    return op is not None and op.call.op == "transpose" and op.call.ints_attr("perm") == perm
