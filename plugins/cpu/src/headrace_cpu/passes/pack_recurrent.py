"""Pack the weights of recurrent layers where they are constant."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.dtypes import uint8
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace.ops.recurrent import activations, backwards
from headrace_cpu.kernels.recurrent import usual_integer_layers, usual_layers
from headrace_cpu.ops.recurrent import LAYERS, PackedRnn, flat_shape, weight_groups
from headrace_cpu.ops.recurrent_integer import PackedLstmInteger
from headrace_cpu.passes.own_ops import KnownOps


class PackRecurrent:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: each ``lstm``, ``gru`` and ``rnn`` of float32 with the usual activations
    and constant weights is a ``cpu.lstm``, ``cpu.gru`` or ``cpu.rnn``, whose weights are packed
    when the passes have run; each such ``lstm_integer`` is a ``cpu.lstm_integer``.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        layers = graph.of_kind("lstm_integer", *LAYERS)
        chosen = {op.call.name for op in layers if self._is_packed(op, graph)}
        return replace_ops(graph, chosen, _packed, ops=self._ops)

    def _is_packed(self, op: JobOp, graph: JobGraph) -> bool:
        here = op.placement.tag == self._tag and op.placement.parallel_num == 1
        if not here:
            return False
        if op.call.op == "lstm_integer":
            weights = (name for name in op.inputs[1:4] if name is not None)
            is_usual = usual_integer_layers(op.call)
        else:
            weights = (name for name in op.inputs[1:3] if name is not None)
            is_usual = usual_layers(op.call)
        return is_usual and all(name in graph.constants for name in weights)


def _packed(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    if op.call.op == "lstm_integer":
        return _packed_integers(op, new)
    call, layer = op.call, LAYERS[op.call.op]
    x, w, r, *others = new.read_by(op)
    panels: list[Tensor] = []
    for weight, groups in zip((w, r), weight_groups(layer, len(backwards(call))), strict=True):
        assert weight is not None
        (flat,) = new.op("reshape", [weight], shape=flat_shape(weight.spec))
        panels += new.op("cpu.pack", [flat], groups=groups, transposed=True)
    names = sorted([attr.name for attr in layer.attrs if attr.name in call.attrs])
    attrs = {name: call.attrs[name] for name in names} | {"hidden": call.input(2).shape[2]}
    if layer is PackedRnn:
        attrs["activation"] = activations(call, 0)[0].name
    return new.op(
        layer.name,
        [x, *panels, *others[: len(layer.inputs) - 3]],
        outputs=call.output_count,
        name=call.name,
        location=call.location,
        attrs=attrs,
    )


def _packed_integers(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    call = op.call
    drive, r, scale, zero, h, c, _ = new.read_by(op)
    assert r is not None
    panels, sums = new.op("cpu.pack_integers", [r], outputs=2, transposed=True)
    zeros = np.zeros(r.spec.shape[0], np.int32)
    if zero is not None:
        given = new.value(zero)
        assert given is not None
        zeros += given.astype(np.int32).reshape(-1)
    if r.spec.dtype == uint8:
        zeros -= 128  # as the weights are moved when they are packed
    return new.op(
        PackedLstmInteger.name,
        [drive, panels, sums, scale, new.constant(zeros) if zeros.any() else None, h, c],
        outputs=call.output_count,
        name=call.name,
        location=call.location,
        direction=call.str_attr("direction"),
    )
