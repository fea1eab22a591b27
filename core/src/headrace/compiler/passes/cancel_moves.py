"""Let moves that follow each other become one, and those that move nothing none."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import DType
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.op_call import Attrs, OpCall
from headrace.ops import get_op
from headrace.ops.axes import permutation

MOVES = ("transpose", "reshape", "cast", "slice", "expand", "tile")
"""Ops that may make just what they read. Of the first three, two become one."""


def cancel_moves(graph: JobGraph) -> JobGraph:
    """Replace two moves of one kind by one that does what both do; leave out what moves nothing.

    Before: any ops. After: no transpose reads a transpose, no reshape a reshape, and no cast one
    that changes nothing of what it makes, where both are at one place; and none of ``MOVES`` makes
    just what it reads, as exporters write many. The first of two stays where others read it, and a
    tensor with a hint stays between them: it is to lie as that says. What is left without a reader
    is for ``remove_dead_ops``. A graph without such moves is given back itself.
    """
    if not _moves_in_vain(graph):
        return graph
    same: dict[str, str] = {}  # tensor -> the earlier one that it equals
    makers: dict[str | None, JobOp] = {}
    kept: list[JobOp] = []
    for op in graph.ops:
        op = op.reading(same) if same else op
        if op.call.op in MOVES:
            source, made = op.inputs[0], op.outputs[0]
            assert source is not None
            if graph.hints.keys().isdisjoint((source, made)):
                op = _after(makers.get(source), op)
                assert op.inputs[0] is not None
                if _is_nothing(op.call):
                    same[made] = op.inputs[0]
                    continue
            makers[made] = op
        kept.append(op)
    return graph if tuple(kept) == graph.ops else graph.rewired(kept, same)


def _moves_in_vain(graph: JobGraph) -> bool:
    """Whether a move reads one of its kind, or makes what it reads."""
    kinds, makers = graph.index.kinds, graph.index.makers
    for kind in MOVES:
        for op in kinds.get(kind, ()):
            before = makers.get(op.inputs[0])
            if (before is not None and before.call.op == kind) or _is_nothing(op.call):
                return True
    return False


def _after(before: JobOp | None, op: JobOp) -> JobOp:
    """The move that does what ``before`` and ``op`` do, in the place of ``op``; else ``op``."""
    if before is None or (before.call.op, before.placement) != (op.call.op, op.placement):
        return op
    joined = _joined(before.call, op.call)
    return op if joined is None else JobOp(joined, before.inputs, op.outputs, op.placement)


def _joined(first: OpCall, second: OpCall) -> OpCall | None:
    """The call that does what both do; None when nothing does."""
    attrs = second.attrs
    match second.op:
        case "transpose":
            inner, outer = permutation(first), permutation(second)
            attrs = Attrs({**attrs, "perm": tuple([inner[axis] for axis in outer])})
        case "reshape":
            attrs = Attrs({**attrs, "shape": second.outputs[0].shape})
        case "cast":
            if not _passes_unseen(first, second):
                return None
        case _:
            return None
    # Nothing has to be checked and inferred: it makes what the second makes.
    return OpCall(
        second.op,
        second.name,
        first.inputs,
        second.outputs,
        attrs,
        second.output_count,
        second.location,
    )


def _passes_unseen(first: OpCall, second: OpCall) -> bool:
    """True when nobody can tell from what ``second`` makes that it was cast before."""
    source, between = first.input(0).dtype, first.outputs[0].dtype
    target = second.outputs[0].dtype
    if between.is_float and source.is_int and target.is_int and not holds(target, source):
        return False  # what is too large: a float stops at the last integer, an integer wraps
    return holds(between, source)


def _is_nothing(call: OpCall) -> bool:
    """True for a move that makes what it reads."""
    return call.outputs[0] == call.inputs[0] and get_op(call.op).view(call) == 0


def holds(wide: DType, narrow: DType) -> bool:
    """True when every value of ``narrow`` is one of ``wide``.

    Example:
        >>> from headrace.dtypes import float32, int16, int32
        >>> holds(float32, int16), holds(float32, int32), holds(int32, float32)
        (True, False, False)
    """
    if wide == narrow:
        return True
    if not {wide.name, narrow.name} <= _EXACT_BITS.keys():
        return False
    (have_sign, have), (need_sign, need) = _EXACT_BITS[wide.name], _EXACT_BITS[narrow.name]
    if narrow.is_float:
        return wide.name in _WIDER_FLOATS.get(narrow.name, ())
    return have >= need and (have_sign or not need_sign)


# Whether there is a sign, and the bits of the largest run of integers that are all there.
_EXACT_BITS: Mapping[str, tuple[bool, int]] = {
    "bool": (False, 1),
    **{f"uint{n}": (False, n) for n in (8, 16, 32, 64)},
    **{f"int{n}": (True, n - 1) for n in (8, 16, 32, 64)},
    "float16": (True, 11),
    "bfloat16": (True, 8),
    "float32": (True, 24),
    "float64": (True, 53),
}
_WIDER_FLOATS = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
}
