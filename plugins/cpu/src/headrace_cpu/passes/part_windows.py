"""Say transposed convolutions as products, or as plain convolutions, and a move."""

from __future__ import annotations

import math

from headrace.data_format import CHANNELS_LAST
from headrace.graph import GraphRewriter, JobGraph, JobOp, replace_ops
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace_cpu.kernels.conv_transpose import Phases, parted, windows_do_not_meet


class PartWindows:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: no ``conv_transpose``, its channels last, has windows as large as its
    strides: each position of x is multiplied by itself, and what came of it is laid where its
    window is. Nor has one windows that meet, unless dilations or wide pads are in the way:
    a convolution makes what is a stride apart, as channels, and these are laid side by side.
    Nothing is added up in memory.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        chosen = {op.call.name for op in graph.ops if self._is_parted(op)}
        return replace_ops(graph, chosen, _without_sums)

    def _is_parted(self, op: JobOp) -> bool:
        call = op.call
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return False
        if call.op != "conv_transpose" or call.str_attr("data_format") != CHANNELS_LAST:
            return False
        return parted(call)


def _without_sums(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    part = _parted if windows_do_not_meet(op.call) else _convolved
    return part(op.call, new.read_by(op), new)


def _parted(call: OpCall, read: list[Tensor | None], new: GraphRewriter) -> tuple[Tensor, ...]:
    x, weight, *bias = read
    assert x is not None
    assert weight is not None
    n, *spatial, channels = x.spec.shape
    *kernel, outputs = weight.spec.shape[1:]
    taps, rank = math.prod(kernel), len(kernel)

    def op(name: str, *inputs: Tensor, **attrs: object) -> Tensor:
        return new.op(name, inputs, location=call.location, attrs=attrs)[0]

    y = op("matmul", x, op("reshape", weight, shape=(channels, taps * outputs)))
    if bias and bias[0] is not None:
        y = op("add", y, op("tile", bias[0], repeats=(taps,)))
    y = op("reshape", y, shape=(n, *spatial, *kernel, outputs))
    pairs = [axis for i in range(rank) for axis in (1 + i, 1 + rank + i)]
    y = op("transpose", y, perm=(0, *pairs, 1 + 2 * rank))
    return (op("reshape", y, shape=call.outputs[0].shape),)


def _convolved(call: OpCall, read: list[Tensor | None], new: GraphRewriter) -> tuple[Tensor, ...]:
    x, weight, *bias = read
    assert x is not None
    assert weight is not None
    n, outputs = x.spec.shape[0], weight.spec.shape[-1]
    channels, *kernel = weight.spec.shape[:-1]
    rank, groups = len(kernel), call.int_attr("groups")
    axes = range(rank)
    phases = [Phases.of(call, axis) for axis in axes]
    count = math.prod(phase.stride for phase in phases)

    def op(name: str, *inputs: Tensor, **attrs: object) -> Tensor:
        return new.op(name, inputs, location=call.location, attrs=attrs)[0]

    # [c, *kernel, m / groups] -> [groups, phases and m / groups, *taps backwards, c / groups]
    more = [p.taps * p.stride - size for p, size in zip(phases, kernel, strict=True)]
    taps = op("pad", weight, pads=(0,) * (rank + 2) + (0, *more, 0))
    apart = [length for phase in phases for length in (phase.taps, phase.stride)]
    taps = op("reshape", taps, shape=(groups, channels // groups, *apart, outputs))
    lines = tuple(2 + 2 * axis for axis in axes)
    ends = tuple(-1 - phase.taps for phase in phases)
    taps = op("slice", taps, starts=(-1,) * rank, ends=ends, axes=lines, steps=(-1,) * rank)
    perm = (0, *(line + 1 for line in lines), 2 * rank + 2, *lines, 1)
    taps = op("transpose", taps, perm=perm)
    made = groups * count * outputs
    taps = op("reshape", taps, shape=(made, *(p.taps for p in phases), channels // groups))
    inputs = [x, taps]
    if bias and bias[0] is not None:
        each = op("reshape", bias[0], shape=(groups, outputs))
        each = op("tile", each, repeats=(1, count))
        inputs.append(op("reshape", each, shape=(made,)))
    pads = (*(p.pad_begin for p in phases), *(p.pad_end for p in phases))
    y = op("conv", *inputs, pads=pads, groups=groups, data_format=CHANNELS_LAST)

    counts, strides = [p.results for p in phases], [p.stride for p in phases]
    y = op("reshape", y, shape=(n, *counts, groups, *strides, outputs))
    pairs = [axis for i in axes for axis in (1 + i, 2 + rank + i)]
    y = op("transpose", y, perm=(0, *pairs, 1 + rank, 2 + 2 * rank))
    y = op("reshape", y, shape=(n, *(p.results * p.stride for p in phases), groups * outputs))
    starts = tuple(phase.skip for phase in phases)
    ends = tuple(phase.skip + phase.size for phase in phases)
    if y.spec.shape == call.outputs[0].shape:
        return (y,)
    return (op("slice", y, starts=starts, ends=ends, axes=tuple(1 + axis for axis in axes)),)
