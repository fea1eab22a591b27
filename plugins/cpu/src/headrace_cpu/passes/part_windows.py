"""Say transposed convolutions whose windows do not meet as products and a move."""

from __future__ import annotations

import math

from headrace.data_format import CHANNELS_LAST
from headrace.graph import JobGraph, JobGraphBuilder, JobOp
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace_cpu.kernels.conv_transpose import parted


class PartWindows:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: no ``conv_transpose``, its channels last, has windows as large as its
    strides: each position of x is multiplied by itself, and what came of it is laid where its
    window is. Nothing is added up in memory.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        chosen = {op.call.name for op in graph.ops if self._is_parted(op)}
        if not chosen:
            return graph
        builder = JobGraphBuilder(graph.name, graph.placement)
        known = builder.begin_like(graph)
        builder.reserve(op.call.name for op in graph.ops)
        for op in graph.ops:
            read = [None if name is None else known[name] for name in op.inputs]
            if op.call.name in chosen:
                with builder.placed(op.placement):
                    made = _parted(op.call, read, builder)
            else:
                made = builder.adopt(op, [None if t is None else t.name for t in read])
            known.update(zip(op.outputs, made, strict=True))
        builder.end_like(graph, known)
        return builder.finish()

    def _is_parted(self, op: JobOp) -> bool:
        call = op.call
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return False
        if call.op != "conv_transpose" or call.str_attr("data_format") != CHANNELS_LAST:
            return False
        return parted(call)


def _parted(
    call: OpCall, read: list[Tensor | None], builder: JobGraphBuilder
) -> tuple[Tensor, ...]:
    x, weight, *bias = read
    assert x is not None
    assert weight is not None
    n, *spatial, channels = x.spec.shape
    *kernel, outputs = weight.spec.shape[1:]
    taps, rank = math.prod(kernel), len(kernel)

    def op(name: str, *inputs: Tensor, **attrs: object) -> Tensor:
        return builder.op(name, inputs, location=call.location, attrs=attrs)[0]

    y = op("matmul", x, op("reshape", weight, shape=(channels, taps * outputs)))
    if bias and bias[0] is not None:
        y = op("add", y, op("tile", bias[0], repeats=(taps,)))
    y = op("reshape", y, shape=(n, *spatial, *kernel, outputs))
    pairs = [axis for i in range(rank) for axis in (1 + i, 1 + rank + i)]
    y = op("transpose", y, perm=(0, *pairs, 1 + 2 * rank))
    return (op("reshape", y, shape=call.outputs[0].shape),)
