"""Fold a batch norm into the convolution before it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from headrace.dtypes import float32, float64
from headrace.graph.job_graph import JobGraph, JobGraphBuilder, JobOp
from headrace.ops.data_format import channel_axis
from headrace.tensor_spec import Array

FOLDED = (float32, float64)
"""Dtypes of weights that are folded: 16 bits would round the product of weight and scale."""


def fold_normalization(graph: JobGraph) -> JobGraph:
    """Replace ``normalization(conv(x, w, b))`` by ``conv(x, w', b')``.

    Before: any ops. After: no normalization along the channels reads a convolution with constant
    weights that nobody else reads, where its own vectors are constant too. With
    ``s = gamma / sqrt(variance + epsilon)``, w' is ``w * s`` and b' is ``(b - mean) * s + beta``,
    both computed in float64. Where one of these tensors has a hint, nothing is folded: it would
    not be there to lie so.
    """
    pairs = _pairs(graph)
    if not pairs:
        return graph
    builder = JobGraphBuilder(graph.name, graph.placement)
    known = builder.begin_like(graph)
    folded = {conv.call.name for conv in pairs.values()}
    builder.reserve(op.call.name for op in graph.ops if op.call.name not in pairs)
    for op in graph.ops:
        if op.call.name in folded:
            continue
        if op.call.name not in pairs:
            read = [None if name is None else known[name].name for name in op.inputs]
            made = builder.adopt(op, read)
        else:
            conv = pairs[op.call.name]
            weight, bias = _folded(graph, conv, op)
            assert conv.inputs[0] is not None
            with builder.placed(op.placement):
                made = builder.op(
                    "conv",
                    [known[conv.inputs[0]], builder.constant(weight), builder.constant(bias)],
                    name=op.call.name,
                    location=conv.call.location,
                    attrs=conv.call.attrs,
                )
        known.update(zip(op.outputs, made, strict=True))
    builder.end_like(graph, known)
    return builder.finish()


def _pairs(graph: JobGraph) -> dict[str, JobOp]:
    """The convolution to fold, by the name of the normalization that reads it."""
    readers = Counter(name for op in graph.ops for name in op.inputs)
    readers.update(tensor.name for _, tensor in graph.results)
    makers = {name: op for op in graph.ops for name in op.outputs if op.call.op == "conv"}
    pairs = {}
    for op in graph.ops:
        conv = makers.get(op.inputs[0] or "") if op.call.op == "normalization" else None
        if conv is None or readers[conv.outputs[0]] != 1 or conv.placement != op.placement:
            continue
        constant = [*op.inputs[1:], *conv.inputs[1:]]
        if (
            graph.hints.keys().isdisjoint((*constant, *conv.outputs))
            and all(name is None or name in graph.constants for name in constant)
            and conv.call.input(1).dtype in FOLDED
            and op.call.int_attr("axis") % op.call.input(0).rank == channel_axis(conv.call)
        ):
            pairs[op.call.name] = conv
    return pairs


def _folded(graph: JobGraph, conv: JobOp, norm: JobOp) -> tuple[Array, Array]:
    def wide(name: str | None) -> Array:
        assert name is not None
        return graph.constants[name].astype(np.float64)

    weight = wide(conv.inputs[1])
    bias = np.zeros(len(weight)) if conv.inputs[2] is None else wide(conv.inputs[2])
    mean, variance, gamma, beta = map(wide, norm.inputs[1:])
    scale = gamma / np.sqrt(variance + norm.call.float_attr("epsilon"))
    dtype = conv.call.input(1).dtype.numpy
    tail = (1,) * (weight.ndim - 1)
    return (
        (weight * scale.reshape(-1, *tail)).astype(dtype),
        ((bias - mean) * scale + beta).astype(dtype),
    )
