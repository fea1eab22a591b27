"""Put products with packed weights in the place of convolutions and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping

from headrace.data_format import CHANNELS_LAST
from headrace.dtypes import float32
from headrace.graph import JobGraph, JobGraphBuilder, JobOp, OpEntry
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace_cpu.kernels.depthwise import depthwise_last
from headrace_cpu.kernels.product import conv_products
from headrace_cpu.passes.own_ops import KnownOps

FEW_ROWS = 8
"""A product with fewer rows reads its matrix once, and is slower if that is packed first."""


class PackProducts:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: every ``conv`` of float32 whose channels are last and that is a product
    is ``cpu.conv``, one of each channel by itself is ``cpu.depthwise_conv``, and a ``matmul`` with
    a matrix of weights on its right is ``cpu.matmul``.
    Weights that are constant are packed here, others by a ``cpu.pack`` in each call.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        packed = [op.call.name for op in graph.ops if self._is_packed(op, graph)]
        if not packed:
            return graph
        chosen = set(packed)
        builder = JobGraphBuilder(graph.name, graph.placement, ops=self._ops)
        known = builder.begin_like(graph)
        builder.reserve(op.call.name for op in graph.ops if op.call.name not in chosen)
        panels: dict[tuple[str, int], Tensor] = {}
        for op in graph.ops:
            read = [None if name is None else known[name] for name in op.inputs]
            if op.call.name in chosen:
                with builder.placed(op.placement):
                    made = _packed(op, read, builder, panels)
            else:
                made = builder.adopt(op, [None if t is None else t.name for t in read])
            known.update(zip(op.outputs, made, strict=True))
        builder.end_like(graph, known)
        return builder.finish()

    def _is_packed(self, op: JobOp, graph: JobGraph) -> bool:
        call = op.call
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return False
        if call.op == "conv":
            is_last = call.str_attr("data_format") == CHANNELS_LAST
            return is_last and (conv_products(call) or depthwise_last(call))
        if call.op == "matmul":
            constant = op.inputs[1] in graph.constants
            return _has_weights(call) and (constant or _rows(call) >= FEW_ROWS)
        return False


def _has_weights(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    return a.dtype == float32 and b.rank == 2 and not call.flag_attr("transpose_a")


def _rows(call: OpCall) -> int:
    return math.prod(call.input(0).shape[:-1])


def _packed(
    op: JobOp,
    read: list[Tensor | None],
    builder: JobGraphBuilder,
    packed: dict[tuple[str, int], Tensor],
) -> tuple[Tensor, ...]:
    call, (x, weight, *bias) = op.call, read
    assert weight is not None
    is_conv = call.op == "conv"
    if is_conv and not conv_products(call):
        return _depthwise(op, read, builder, packed)
    groups = call.int_attr("groups") if is_conv else 1
    transposed = is_conv or call.flag_attr("transpose_b")
    key = (weight.name, groups + (transposed << 32))
    if key not in packed:
        attributes = {"groups": groups, "transposed": transposed}
        (packed[key],) = builder.op("cpu.pack", [weight], location=call.location, attrs=attributes)
    attrs: dict[str, object] = {"columns": weight.spec.shape[0 if transposed else 1]}
    if is_conv:
        attrs["kernel"] = weight.spec.shape[1:-1]
        attrs |= {name: call.attrs[name] for name in ("strides", "dilations", "pads", "groups")}
    return builder.op(
        "cpu.conv" if is_conv else "cpu.matmul",
        [x, packed[key], *bias],
        name=call.name,
        location=call.location,
        attrs=attrs,
    )


def _depthwise(
    op: JobOp,
    read: list[Tensor | None],
    builder: JobGraphBuilder,
    packed: dict[tuple[str, int], Tensor],
) -> tuple[Tensor, ...]:
    call, (x, weight, *bias) = op.call, read
    assert weight is not None
    key = (weight.name, 0)
    if key not in packed:
        flat = (weight.spec.shape[0], math.prod(weight.spec.shape[1:]))
        packed[key] = builder.op("reshape", [weight], shape=flat)[0]
        packed[key] = builder.op("transpose", [packed[key]], perm=(1, 0))[0]
    attrs: dict[str, object] = {"columns": weight.spec.shape[0]}
    attrs["kernel"] = weight.spec.shape[1:-1]
    attrs |= {name: call.attrs[name] for name in ("strides", "dilations", "pads")}
    return builder.op(
        "cpu.depthwise_conv",
        [x, packed[key], *bias],
        name=call.name,
        location=call.location,
        attrs=attrs,
    )
