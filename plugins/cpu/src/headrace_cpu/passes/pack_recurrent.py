"""Pack the weights of recurrent layers where they are constant."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace.ops.recurrent import backwards
from headrace_cpu.kernels.recurrent import usual_layers
from headrace_cpu.ops.recurrent import LAYERS, flat_shape, weight_groups
from headrace_cpu.passes.own_ops import KnownOps


class PackRecurrent:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: each ``lstm`` and ``gru`` of float32 with the usual activations and
    constant weights is a ``cpu.lstm`` or ``cpu.gru``, whose weights are packed when
    the passes have run.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        chosen = {op.call.name for op in graph.ops if self._is_packed(op, graph)}
        return replace_ops(graph, chosen, _packed, ops=self._ops)

    def _is_packed(self, op: JobOp, graph: JobGraph) -> bool:
        here = op.placement.tag == self._tag and op.placement.parallel_num == 1
        constant = here and all(name in graph.constants for name in op.inputs[1:3])
        return constant and op.call.op in LAYERS and usual_layers(op.call)


def _packed(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    call, layer = op.call, LAYERS[op.call.op]
    x, w, r, b, _, *states = new.read_by(op)
    panels: list[Tensor] = []
    for weight, groups in zip((w, r), weight_groups(layer, len(backwards(call))), strict=True):
        assert weight is not None
        (flat,) = new.op("reshape", [weight], shape=flat_shape(weight.spec))
        panels += new.op("cpu.pack", [flat], groups=groups, transposed=True)
    names = {attr.name for attr in layer.attrs} - {"hidden"}
    attrs = {name: call.attrs[name] for name in sorted(names)} | {"hidden": call.input(2).shape[2]}
    return new.op(
        layer.name,
        [x, *panels, b, *states[: len(layer.inputs) - 4]],
        outputs=call.output_count,
        name=call.name,
        location=call.location,
        attrs=attrs,
    )
