"""Let products of bytes that are quantized again do so by one factor."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace.tensor_spec import Array
from headrace_cpu.ops.integer import SCALE, Y_SCALE, IntegerProduct
from headrace_cpu.ops.places import ADDEND, BIAS
from headrace_cpu.passes.own_ops import KnownOps


class FoldOutputScales:
    """The pass, for the ops of device ``tag``.

    Before: a product of bytes has a constant scale, and a constant ``y_scale`` by which its result
    is divided. After: the quotient of both is its scale, and ``y_scale`` is 1; bias and limits are
    divided as well. Sums are then rounded once less; kernels do all that follows them in registers.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)
        self._products = {
            name for name, entry in own.items() if issubclass(entry.op, IntegerProduct)
        }

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these scales."""
        products = graph.of_kind(*self._products)
        folded = {op.call.name for op in products if self._folds(op, graph.constants)}

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            return _folded(op, new.read_by(op), graph.constants, new)

        return replace_ops(graph, folded, make, ops=self._ops)

    def _folds(self, op: JobOp, constants: Mapping[str, Array]) -> bool:
        call = op.call
        if op.placement.tag != self._tag:
            return False
        if not call.has_input(Y_SCALE) or call.has_input(ADDEND):
            return False
        if call.str_attr("activation") not in ("none", "clamp"):
            return False
        read = [name for name in (op.inputs[SCALE], op.inputs[Y_SCALE], op.inputs[BIAS]) if name]
        if not all(name in constants for name in read):
            return False
        y_scale = float(constants[read[1]].reshape(()))
        return y_scale != 1 and 0 < y_scale < math.inf


def _folded(
    op: JobOp, read: list[Tensor | None], constants: Mapping[str, Array], new: GraphRewriter
) -> tuple[Tensor, ...]:
    names = op.inputs
    y_scale = constants[names[Y_SCALE] or ""].reshape(())
    for place in (SCALE, BIAS):
        if names[place] is not None:
            read[place] = new.constant(constants[names[place] or ""] / y_scale)
    read[Y_SCALE] = new.constant(np.ones((), np.float32))
    call, attrs = op.call, dict(op.call.attrs)
    if call.str_attr("activation") == "clamp":
        for limit in ("alpha", "beta"):
            attrs[limit] = float(np.float32(call.float_attr(limit)) / y_scale)
    return new.op(call.op, read, name=call.name, location=call.location, attrs=attrs)
