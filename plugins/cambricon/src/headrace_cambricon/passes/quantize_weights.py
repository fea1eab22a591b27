"""Make the weights of products integers, once, while a job is built."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import float32
from headrace.graph import GraphRewriter, JobGraph, JobOp, replace_ops
from headrace.ops import Op, Tensor, make_call
from headrace_cambricon.ops import QuantizedConv, QuantizedMatmul
from headrace_cambricon.quantization import Quantization, fit, quantized

_OPS: dict[str, type[Op]] = {"conv": QuantizedConv, "matmul": QuantizedMatmul}
_RANKS = {"conv": 4, "matmul": 2}


class QuantizeWeights:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: every ``conv`` of images and every ``matmul`` of matrices, in float32
    and with a constant weight, is one of this backend's, whose weight is an integer constant. A
    weight that may be another in the next call is left: its product is quantized as a whole, in
    each.
    """

    def __init__(self, tag: str, dtype: str) -> None:
        self._tag = tag
        self._dtype = dtype

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        chosen = {op.call.name for op in graph.ops if self._has_known_weight(op, graph)}
        made: dict[str, tuple[Tensor, Quantization]] = {}  # several ops may read one weight

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            weight = op.inputs[1]
            assert weight is not None
            if weight not in made:
                made[weight] = self._quantized(graph, weight, new)
            read = new.read_by(op)
            read[1], _ = made[weight]
            names = [None if tensor is None else tensor.name for tensor in read]
            return new.adopt(_with_weight(op, *made[weight]), names)

        return replace_ops(graph, chosen, make)

    def _has_known_weight(self, op: JobOp, graph: JobGraph) -> bool:
        call = op.call
        if call.op not in _OPS or op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return False
        weight = graph.constants.get(op.inputs[1] or "")
        return (
            weight is not None
            and call.input(0).dtype == float32
            and call.input(0).rank == call.input(1).rank == _RANKS[call.op]
            and call.input(1).elements > 0
            and call.outputs[0].elements > 0
            and bool(np.isfinite(weight).all())
        )

    def _quantized(
        self, graph: JobGraph, weight: str, new: GraphRewriter
    ) -> tuple[Tensor, Quantization]:
        value = graph.constants[weight]
        meaning = fit(value, self._dtype)
        return new.constant(quantized(value, meaning, self._dtype)), meaning


def _with_weight(op: JobOp, weight: Tensor, meaning: Quantization) -> JobOp:
    """This backend's op in the place of core's."""
    call = op.call
    specs = [weight.spec if n == 1 else spec for n, spec in enumerate(call.inputs)]
    attrs = call.attrs | {"position": meaning.position, "scale": meaning.scale}
    made = make_call(_OPS[call.op], call.name, specs, attrs, outputs=1, location=call.location)
    read = tuple(weight.name if n == 1 else name for n, name in enumerate(op.inputs))
    return JobOp(made, read, op.outputs, op.placement)
