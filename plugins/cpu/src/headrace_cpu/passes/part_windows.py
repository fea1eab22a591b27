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
        chosen = {op.call.name for op in graph.of_kind("conv_transpose") if self._is_parted(op)}
        return replace_ops(graph, chosen, _without_sums)

    def _is_parted(self, op: JobOp) -> bool:
        call = op.call
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return False
        if call.str_attr("data_format") != CHANNELS_LAST:
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
    return (_PhaseConv(call, weight, new).made(x, bias[0] if bias else None),)


class _PhaseConv:
    """A transposed convolution said as a plain one that makes each phase as channels.

    The phases of a group are its own channels. Where each channel is a group, with one result, a
    copy of x is read for each phase, so that kernels are still for one channel: then phases come
    before channels.
    """

    def __init__(self, call: OpCall, weight: Tensor, new: GraphRewriter) -> None:
        self._call, self._weight, self._new = call, weight, new
        self._channels, *self._kernel, self._outputs = weight.spec.shape
        self._rank, self._groups = len(self._kernel), call.int_attr("groups")
        self._phases = [Phases.of(call, axis) for axis in range(self._rank)]
        self._count = math.prod(phase.stride for phase in self._phases)
        self._by_channel = self._channels == self._groups and self._outputs == 1

    def _op(self, name: str, *inputs: Tensor, **attrs: object) -> Tensor:
        return self._new.op(name, inputs, location=self._call.location, attrs=attrs)[0]

    def made(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """The result."""
        inputs = [x, self._taps()]
        if self._by_channel:
            inputs[0] = self._op("concat", *[x] * self._count, axis=1 + self._rank)
        if bias is not None:
            inputs.append(self._biases(bias))
        groups = self._groups * (self._count if self._by_channel else 1)
        begins, ends = zip(*((p.pad_begin, p.pad_end) for p in self._phases), strict=True)
        pads = (*begins, *ends)
        y = self._op("conv", *inputs, pads=pads, groups=groups, data_format=CHANNELS_LAST)
        return self._cut(self._side_by_side(y))

    def _taps(self) -> Tensor:
        # [c, *kernel, m / groups] -> [groups, phases and m / groups, *taps backwards, c / groups]
        phases, rank, each = self._phases, self._rank, self._channels // self._groups
        more = [p.taps * p.stride - size for p, size in zip(phases, self._kernel, strict=True)]
        taps = self._op("pad", self._weight, pads=(0,) * (rank + 2) + (0, *more, 0))
        apart = [length for phase in phases for length in (phase.taps, phase.stride)]
        taps = self._op("reshape", taps, shape=(self._groups, each, *apart, self._outputs))
        lines = tuple(2 + 2 * axis for axis in range(rank))
        ends = tuple(-1 - phase.taps for phase in phases)
        back = (-1,) * rank
        taps = self._op("slice", taps, starts=back, ends=ends, axes=lines, steps=back)
        first = self._ordered((0,), tuple(line + 1 for line in lines))
        taps = self._op("transpose", taps, perm=(*first, 2 * rank + 2, *lines, 1))
        made = self._groups * self._count * self._outputs
        return self._op("reshape", taps, shape=(made, *(p.taps for p in phases), each))

    def _ordered(self, groups: tuple[int, ...], phases: tuple[int, ...]) -> tuple[int, ...]:
        """What is of groups and what is of phases, as channels have them."""
        return (*phases, *groups) if self._by_channel else (*groups, *phases)

    def _biases(self, bias: Tensor) -> Tensor:
        rows = 1 if self._by_channel else self._groups
        each = self._op("reshape", bias, shape=(rows, bias.spec.elements // rows))
        each = self._op("tile", each, repeats=(1, self._count))
        return self._op("reshape", each, shape=(bias.spec.elements * self._count,))

    def _side_by_side(self, y: Tensor) -> Tensor:
        phases, rank, n = self._phases, self._rank, y.spec.shape[0]
        parted = self._ordered((self._groups,), tuple(phase.stride for phase in phases))
        counts = [phase.results for phase in phases]
        y = self._op("reshape", y, shape=(n, *counts, *parted, self._outputs))
        axes = range(1 + rank, 2 + 2 * rank)
        group, first = (axes[-1], axes[0]) if self._by_channel else (axes[0], axes[1])
        pairs = [axis for i in range(rank) for axis in (1 + i, first + i)]
        y = self._op("transpose", y, perm=(0, *pairs, group, 2 + 2 * rank))
        sizes = [phase.results * phase.stride for phase in phases]
        return self._op("reshape", y, shape=(n, *sizes, self._groups * self._outputs))

    def _cut(self, y: Tensor) -> Tensor:
        """The results that are wanted, of whole phases."""
        if y.spec.shape == self._call.outputs[0].shape:
            return y
        starts = tuple(phase.skip for phase in self._phases)
        ends = tuple(phase.skip + phase.size for phase in self._phases)
        axes = tuple(range(1, 1 + self._rank))
        return self._op("slice", y, starts=starts, ends=ends, axes=axes)
