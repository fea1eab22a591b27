"""Put products with packed weights in the place of convolutions and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from headrace.data_format import CHANNELS_LAST
from headrace.dtypes import float32
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, fold_limit, replace_ops
from headrace.op_call import OpCall
from headrace.ops import Tensor, make_call
from headrace_cpu.kernels.depthwise import depthwise_last
from headrace_cpu.kernels.product import conv_products
from headrace_cpu.kernels.winograd import tile_for
from headrace_cpu.passes.halves import stored_weights
from headrace_cpu.passes.own_ops import KnownOps

FEW_ROWS = 8
"""A product with fewer rows reads its matrix once, and is slower if that is packed first."""


class _Packed:
    """Weights that several ops read are packed once."""

    def __init__(self) -> None:
        self._made: dict[object, Tensor] = {}

    def get(
        self, weight: Tensor, op: str, new: GraphRewriter, reader: JobOp, **attrs: object
    ) -> Tensor:
        """What ``op`` makes of ``weight``, said to be at the place of who reads it first."""
        key = (weight.name, op, *attrs.items())
        if key not in self._made:
            location = reader.call.location
            (self._made[key],) = new.op(op, [weight], location=location, attrs=attrs)
        return self._made[key]


_Pack = Callable[[JobOp, list[Tensor | None], GraphRewriter, _Packed], tuple[Tensor, ...]]
"""Makes an op of what it reads, with packed weights."""


class PackProducts:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: every ``conv`` of float32 whose channels are last and that is a product
    is ``cpu.conv``, or ``cpu.winograd_conv`` where that pays and its weight is constant; one of
    each channel by itself is ``cpu.depthwise_conv``, and a ``matmul`` with a matrix of weights on
    its right is ``cpu.matmul``.
    Weights that are constant are packed when the passes have run, and not transformed, or not
    packed at all, where what is made of them is too large for that; others are packed in each call.
    Those that ``cpu.widen`` makes are packed as they are stored, unless they are transformed.
    """

    def __init__(
        self, tag: str, own: Mapping[str, OpEntry], largest_tile: Callable[[], int]
    ) -> None:
        self._tag = tag
        self._ops = KnownOps(own)
        self._largest_tile = largest_tile

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        stored = stored_weights(graph)
        products = graph.of_kind("conv", "matmul")
        found = {op.call.name: pack for op in products if (pack := self._how(op, graph, stored))}
        panels = _Packed()

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            read, pack = new.read_by(op), found[op.call.name]
            weight = op.inputs[1] or ""
            if pack in (_matmul, _conv) and weight in stored:
                read[1] = new.tensor(stored[weight])
            return pack(op, read, new, panels)

        return replace_ops(graph, found, make, ops=self._ops)

    def _how(self, op: JobOp, graph: JobGraph, stored: Mapping[str, str]) -> _Pack | None:
        """What makes ``op`` with packed weights; None for one that stays as it is."""
        call = op.call
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return None
        is_constant = op.inputs[1] in graph.constants or op.inputs[1] in stored
        if call.op == "conv":
            if call.str_attr("data_format") != CHANNELS_LAST:
                return None
            if not conv_products(call):
                return _depthwise if depthwise_last(call) else None
            tile = self._tile(op) if is_constant else None
            return _conv if tile is None else partial(_winograd, tile=tile)
        if not _has_weights(call):
            return None
        transposed = call.flag_attr("transpose_b")
        if is_constant:
            pays = self._is_folded("cpu.pack", op, transposed=transposed)
        else:
            pays = _rows(call) >= FEW_ROWS
        return _matmul if pays else None

    def _tile(self, op: JobOp) -> int | None:
        """The tile of a convolution whose weight is transformed, which is done once."""
        tile = tile_for(op.call, self._largest_tile())
        if tile is None:
            return None
        return tile if self._is_folded("cpu.winograd_pack", op, tile=tile) else None

    def _is_folded(self, name: str, op: JobOp, **attrs: object) -> bool:
        """Whether what ``name`` makes of a constant weight may be made when a job is compiled."""
        weight = op.call.input(1)
        made = make_call(self._ops.op(name).op, op.call.name, [weight], attrs).outputs[0]
        return made.nbytes <= fold_limit(weight.nbytes, late=True)


def _has_weights(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    return a.dtype == float32 and b.rank == 2 and not call.flag_attr("transpose_a")


def _rows(call: OpCall) -> int:
    return math.prod(call.input(0).shape[:-1])


def _matmul(
    op: JobOp, read: list[Tensor | None], new: GraphRewriter, packed: _Packed
) -> tuple[Tensor, ...]:
    call, (x, weight) = op.call, read
    assert weight is not None
    transposed = call.flag_attr("transpose_b")
    panels = packed.get(weight, "cpu.pack", new, op, groups=1, transposed=transposed)
    attrs = {"columns": weight.spec.shape[0 if transposed else 1]}
    return _put("cpu.matmul", op, [x, panels], attrs, new)


def _conv(
    op: JobOp, read: list[Tensor | None], new: GraphRewriter, packed: _Packed
) -> tuple[Tensor, ...]:
    call, (x, weight, *bias) = op.call, read
    assert weight is not None
    groups = call.int_attr("groups")
    panels = packed.get(weight, "cpu.pack", new, op, groups=groups, transposed=True)
    attrs: dict[str, object] = {"columns": weight.spec.shape[0], "kernel": weight.spec.shape[1:-1]}
    attrs |= {name: call.attrs[name] for name in ("strides", "dilations", "pads", "groups")}
    return _put("cpu.conv", op, [x, panels, *bias], attrs, new)


def _winograd(
    op: JobOp, read: list[Tensor | None], new: GraphRewriter, packed: _Packed, tile: int
) -> tuple[Tensor, ...]:
    call, (x, weight, *bias) = op.call, read
    assert weight is not None
    panels = packed.get(weight, "cpu.winograd_pack", new, op, tile=tile)
    attrs: dict[str, object] = {"columns": weight.spec.shape[0], "tile": tile}
    attrs["pads"] = call.ints_attr("pads") or (0, 0, 0, 0)
    return _put("cpu.winograd_conv", op, [x, panels, *bias], attrs, new)


def _depthwise(
    op: JobOp, read: list[Tensor | None], new: GraphRewriter, packed: _Packed
) -> tuple[Tensor, ...]:
    call, (x, weight, *bias) = op.call, read
    assert weight is not None
    flat = (weight.spec.shape[0], math.prod(weight.spec.shape[1:]))
    rows = packed.get(weight, "reshape", new, op, shape=flat)
    taps = packed.get(rows, "transpose", new, op, perm=(1, 0))
    attrs: dict[str, object] = {"columns": weight.spec.shape[0], "kernel": weight.spec.shape[1:-1]}
    attrs |= {name: call.attrs[name] for name in ("strides", "dilations", "pads")}
    return _put("cpu.depthwise_conv", op, [x, taps, *bias], attrs, new)


def _put(
    name: str,
    op: JobOp,
    inputs: list[Tensor | None],
    attrs: Mapping[str, object],
    new: GraphRewriter,
) -> tuple[Tensor, ...]:
    """The op ``name`` in the place of ``op``."""
    call = op.call
    return new.op(name, inputs, name=call.name, location=call.location, attrs=attrs)
