"""Let convolutions of few outputs compute several positions as columns of one product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.tensor_spec import Array
from headrace_cpu.ops.places import ADDEND, BIAS, PANEL, packed_window, panel_count
from headrace_cpu.passes.own_ops import KnownOps

LEAST_GAIN = 1.25
"""How many times fewer multiplications are worth a copy of the weights."""


class WidenColumns:
    """The pass, for the ops of device ``tag``.

    Before: a ``cpu.conv`` makes a column for each output, and a panel has sixteen. After: where
    that leaves much of a panel empty, the columns are the outputs at several positions of a row,
    side by side as they lie in the result, and the window is as wide as all of theirs. The weights
    are repeated, shifted, with zeros around: an infinity in the image reaches these positions as
    "not a number" too, if it is in the window of one of them.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these convolutions."""
        packed = _packed_constants(graph)
        convs = graph.of_kind("cpu.conv")
        factors = {op.call.name: self._factor(op, graph, packed) for op in convs}
        wide = {name: factor for name, factor in factors.items() if factor > 1}

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            return _widened(op, new.read_by(op), wide[op.call.name], graph, packed, new)

        return replace_ops(graph, wide, make, ops=self._ops)

    def _factor(self, op: JobOp, graph: JobGraph, packed: Mapping[str, str]) -> int:
        """Positions that make one row of the product; 1 for an op that stays as it is."""
        if op.placement.tag != self._tag:
            return 1
        bias = op.inputs[BIAS]
        if op.inputs[1] not in packed or not (bias is None or bias in graph.constants):
            return 1
        return widening(op.call)


def _packed_constants(graph: JobGraph) -> dict[str, str]:
    """The constants that are packed with columns first, by what is made of them."""
    return {
        op.outputs[0]: op.inputs[0]
        for op in graph.of_kind("cpu.pack")
        if op.call.flag_attr("transposed")
        if op.inputs[0] is not None and op.inputs[0] in graph.constants
    }


def widening(call: OpCall) -> int:
    """How many positions of a row a ``cpu.conv`` had best make at once."""
    columns = call.int_attr("columns")
    # So much of a panel is empty at most, and a wider window costs more.
    if call.int_attr("groups") > 1 or panel_count(columns) * PANEL < LEAST_GAIN * columns:
        return 1
    window = packed_window(call)
    kernel, stride, positions = window.kernel[-1], window.strides[-1], call.outputs[0].shape[-2]
    if window.dilations[-1] > 1 or kernel <= stride:  # windows that do not meet share nothing
        return 1
    # Asked last, and of few: it is asked of sizes that may be symbolic.
    paying = _paying(columns, kernel, stride)
    return next((count for count in paying if positions % count == 0), 1)


@lru_cache(maxsize=256)
def _paying(columns: int, kernel: int, stride: int) -> tuple[int, ...]:
    """The counts of positions that are worth it, the best first."""
    plain = panel_count(columns) * kernel
    gains = {
        count: plain * count / (panel_count(count * columns) * (kernel + (count - 1) * stride))
        for count in range(2, PANEL + 1)
    }
    pays = (count for count in gains if gains[count] >= LEAST_GAIN)
    return tuple(sorted(pays, key=gains.__getitem__, reverse=True))


def _widened(
    op: JobOp,
    read: list[Tensor | None],
    count: int,
    graph: JobGraph,
    packed: Mapping[str, str],
    new: GraphRewriter,
) -> tuple[Tensor, ...]:
    call, (panels, bias) = op.call, op.inputs[1:ADDEND]
    window, columns = packed_window(call), call.int_attr("columns")
    assert panels is not None
    weight = graph.constants[packed[panels]].reshape(columns, -1)
    kernel = (*window.kernel[:-1], window.kernel[-1] + (count - 1) * window.strides[-1])
    matrix = _shifted(weight, window.kernel, window.strides[-1], count)
    (wide,) = new.op("cpu.pack", [new.constant(matrix)], transposed=True)
    inputs = [read[0], wide, None, None]
    if bias is not None:
        inputs[BIAS] = new.constant(np.tile(graph.constants[bias].reshape(-1), count))
    *lead, positions, _ = call.outputs[0].shape
    shape = (*lead, positions // count, count * columns)
    if read[ADDEND] is not None:
        (inputs[ADDEND],) = new.op("reshape", [read[ADDEND]], location=call.location, shape=shape)
    strides = (*window.strides[:-1], window.strides[-1] * count)
    attrs = call.attrs | {"kernel": kernel, "strides": strides, "columns": count * columns}
    (y,) = new.op("cpu.conv", inputs, name=call.name, location=call.location, attrs=attrs)
    return new.op("reshape", [y], location=call.location, shape=call.outputs[0].shape)


def _shifted(weight: Array, kernel: tuple[int, ...], stride: int, count: int) -> Array:
    """T[count * m, taps of all windows * c] out of T[m, taps * c]."""
    lines, width, columns = math.prod(kernel[:-1]), kernel[-1], weight.shape[0]
    taps = weight.reshape(columns, lines, width, -1)
    wide = width + (count - 1) * stride
    matrix = np.zeros((count, columns, lines, wide, taps.shape[3]), weight.dtype)
    for position, columns_there in enumerate(matrix):
        begin = position * stride
        columns_there[:, :, begin : begin + width] = taps
    return matrix.reshape(count * columns, -1)
