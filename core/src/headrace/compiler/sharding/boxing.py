"""Boxing: a tensor that lies one way over some devices, laid another way over others.

Any pair of layouts is served, on devices of any kind, since all of it is said in ops that move and
add: ``slice`` where a part lies, ``concat`` where it is wanted, ``add`` (``maximum``, ``minimum``)
for partial results, ``fill`` for their zeros. The copies between devices are put in later, where
an op reads what lies elsewhere. Rules are tried in order; the first that applies is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.compiler.sharding.layout import Box, Piece, Range, lay_out, meet
from headrace.graph import JobGraphBuilder
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum, Split
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class ShardedTensor:
    """A logical tensor and its parts, in the order of the placement's parallel ids."""

    spec: TensorSpec
    sbp: NdSbp
    placement: Placement
    parts: tuple[Tensor, ...]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What each part is of the whole."""
        return lay_out(self.sbp, self.placement.hierarchy, self.spec.shape)

    def device(self, parallel_id: int) -> Placement:
        """The device of one part."""
        return self.placement.device(parallel_id)


COMBINES = {"sum": "add", "max": "maximum", "min": "minimum"}

Rule = Callable[[ShardedTensor, NdSbp, Placement, JobGraphBuilder], "tuple[Tensor, ...] | None"]


def box(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, builder: JobGraphBuilder
) -> ShardedTensor:
    """Lay ``source`` as ``sbp`` over ``placement``, with ops added to ``builder``."""
    for rule in RULES:
        parts = rule(source, sbp, placement, builder)
        if parts is not None:
            return ShardedTensor(source.spec, sbp, placement, parts)
    raise AssertionError("the last rule serves every pair")


def keep(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, builder: JobGraphBuilder
) -> tuple[Tensor, ...] | None:
    """One to one: every device wants just what the device of the same number has."""
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    same = wanted == source.pieces and _reductions(sbp) == _reductions(source.sbp)
    return source.parts if same else None


def reduce_then_gather(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, builder: JobGraphBuilder
) -> tuple[Tensor, ...] | None:
    """Partial results for many devices: each reduces a slice, then all collect the slices.

    Of n devices each then receives 2 (n - 1) / n of the tensor instead of n - 1 times all of it.
    """
    count = placement.parallel_num
    axis = max(range(source.spec.rank), key=lambda a: source.spec.shape[a], default=None)
    if (
        count < 3
        or axis is None
        or source.spec.shape[axis] < count
        or len(placement.hierarchy) > 1
        or sbp.axes != (Broadcast(),)
        or not any(_reductions(source.sbp))
    ):
        return None
    scattered = box(source, NdSbp((Split(axis),)), placement, builder)
    return box(scattered, sbp, placement, builder).parts


def assemble(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, builder: JobGraphBuilder
) -> tuple[Tensor, ...]:
    """Every device puts together what it wants from the parts that have it."""
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    return tuple(
        _piece(source, sbp, piece, placement.device(index), builder)
        for index, piece in enumerate(wanted)
    )


RULES: tuple[Rule, ...] = (keep, reduce_then_gather, assemble)


def _reductions(sbp: NdSbp) -> tuple[str, ...]:
    """How each axis of the hierarchy reduces; empty for one that does not."""
    return tuple(part.reduction if isinstance(part, PartialSum) else "" for part in sbp.axes)


def _piece(
    source: ShardedTensor, sbp: NdSbp, piece: Piece, device: Placement, builder: JobGraphBuilder
) -> Tensor:
    sums = [axis for axis, reduction in enumerate(_reductions(sbp)) if reduction == "sum"]
    with builder.placed(device):
        # Of partial sums one is the tensor and the others add nothing; partial maxima and minima
        # may all be the tensor.
        if any(piece.share[axis] for axis in sums):
            spec = source.spec
            (zeros,) = builder.op("fill", [], shape=piece.shape, value=0.0, dtype=spec.dtype)
            return zeros
        return _reduced(source, _holders(source, device), piece.box, device, builder, ())


def _holders(source: ShardedTensor, device: Placement) -> tuple[int, ...]:
    """The parts to take from, as parallel ids, nearest first: all, or those of one replica."""

    def distance(index: int) -> tuple[bool, bool, int]:
        there = source.device(index)
        # Those equally far are taken in turn, so that not all read from the first.
        turn = (index - device.devices[0][1]) % source.placement.parallel_num
        return there != device, there.tag != device.tag, turn

    order = tuple(sorted(range(len(source.parts)), key=distance))
    if not any(_reductions(source.sbp)):
        return order
    nearest = source.pieces[order[0]].replica
    return tuple(index for index in order if source.pieces[index].replica == nearest)


def _reduced(
    source: ShardedTensor,
    holders: Sequence[int],
    wanted: Box,
    device: Placement,
    builder: JobGraphBuilder,
    share: tuple[int, ...],
) -> Tensor:
    """The wanted box of the tensor, on ``device``: outer axes of the hierarchy reduce last."""
    axis = len(share)
    if axis == len(source.sbp.axes):
        return _collected(source, holders, wanted, share, builder)
    reduction = _reductions(source.sbp)[axis]
    terms = [
        _reduced(source, holders, wanted, device, builder, (*share, index))
        for index in range(source.placement.hierarchy[axis] if reduction else 1)
    ]
    return _combine(reduction, terms, builder)


def _combine(reduction: str, terms: Sequence[Tensor], builder: JobGraphBuilder) -> Tensor:
    result = terms[0]
    for term in terms[1:]:
        (result,) = builder.op(COMBINES[reduction], [result, term])
    return result


def _collected(
    source: ShardedTensor,
    holders: Sequence[int],
    wanted: Box,
    share: tuple[int, ...],
    builder: JobGraphBuilder,
) -> Tensor:
    """The wanted box of the partial result ``share``, put together from the parts that tile it."""
    tiles: dict[Box, Tensor] = {}
    for index in holders:
        piece = source.pieces[index]
        tile = meet(piece.box, wanted) if piece.share == share else None
        if tile is not None and tile not in tiles:
            tiles[tile] = _slice(source, index, tile, builder)
    return _join(tiles, 0, builder)


def _slice(source: ShardedTensor, index: int, tile: Box, builder: JobGraphBuilder) -> Tensor:
    part, have = source.parts[index], source.pieces[index].box
    cut = [axis for axis, (a, b) in enumerate(zip(tile, have, strict=True)) if a != b]
    if not cut:
        return part
    with builder.placed(source.device(index)):
        (result,) = builder.op(
            "slice",
            [part],
            axes=tuple(cut),
            starts=tuple(tile[axis][0] - have[axis][0] for axis in cut),
            ends=tuple(tile[axis][1] - have[axis][0] for axis in cut),
            location=f"a part of {part.name!r}",
        )
    return result


def _join(tiles: dict[Box, Tensor], axis: int, builder: JobGraphBuilder) -> Tensor:
    """Tiles that form a grid, joined along ``axis`` and those after it."""
    if len(tiles) == 1:
        return next(iter(tiles.values()))
    rows: dict[Range, dict[Box, Tensor]] = {}
    for tile, tensor in tiles.items():
        rows.setdefault(tile[axis], {})[tile] = tensor
    joined = [_join(rows[key], axis + 1, builder) for key in sorted(rows)]
    if len(joined) == 1:
        return joined[0]
    (result,) = builder.op("concat", joined, axis=axis)
    return result
