"""Assembling: every device puts together what it wants from the parts that have it.

Serves any pair of layouts. Each device reads each tile that it wants from one holder, so what is
said is as much as there are tiles to be moved: nothing when devices have all they want, one copy
for each of n devices that want one tensor, n for each when all want what is spread over n.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from headrace.compiler.sharding.layout import Box, Piece, Range, lay_out, tile
from headrace.compiler.sharding.sharded import Parts, ShardedTensor, Site, reductions
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import NdSbp


def assemble(source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site) -> Parts:
    """The parts of ``source`` laid as ``sbp`` over ``placement``."""
    work = _Assembling(source, site)
    sums = [axis for axis, reduction in enumerate(reductions(sbp)) if reduction == "sum"]
    return tuple(
        work.piece(piece, sums, placement.device(index))
        for index, piece in enumerate(lay_out(sbp, placement.hierarchy, source.spec.shape))
    )


class _Assembling:
    def __init__(self, source: ShardedTensor, site: Site) -> None:
        self._source = source
        self._site = site
        self._pieces = source.pieces
        self._tiling = tile(source.sbp, source.placement.hierarchy, source.spec.shape)
        self._reductions = reductions(source.sbp)
        self._here = {device: index for index, device in enumerate(source.placement.devices)}
        self._cuts: dict[tuple[int, Box], Tensor] = {}

    def piece(self, piece: Piece, sums: list[int], device: Placement) -> Tensor:
        """What one device holds. ``sums`` are the axes of the hierarchy that are to hold sums."""
        # Of partial sums one is the tensor and the others add nothing; partial maxima and minima
        # may all be the tensor.
        if piece.is_empty or any(piece.share[axis] for axis in sums):
            builder, dtype = self._site.builder, self._source.spec.dtype
            with builder.placed(device):
                (zeros,) = builder.op("fill", [], shape=piece.shape, value=0.0, dtype=dtype)
            return zeros
        return self._reduced(piece.box, device, self._replica(device), ())

    def _replica(self, device: Placement) -> tuple[int, ...]:
        """Whose terms ``device`` takes: terms of two replicas may be different ones."""
        if not any(self._reductions):
            return ()
        return self._pieces[self._nearest(tuple(range(len(self._pieces))), device)].replica

    def _nearest(self, holders: tuple[int, ...], device: Placement) -> int:
        """Of some parts that are equal, the one on the device itself, else one in turn."""
        source, (place,) = self._source, device.devices
        if device.tag == source.placement.tag:
            index = self._here.get(place, -1)
            at = bisect_left(holders, index)
            if at < len(holders) and holders[at] == index:
                return index
        # Those equally far are taken in turn, so that not all read from the first.
        return holders[bisect_left(holders, place[1] % len(source.parts)) % len(holders)]

    def _reduced(
        self, wanted: Box, device: Placement, replica: tuple[int, ...], share: tuple[int, ...]
    ) -> Tensor:
        """The wanted box of the tensor, on ``device``: outer axes of the hierarchy reduce last."""
        axis = len(share)
        if axis == len(self._reductions):
            return self._collected(wanted, device, replica, share)
        reduction = self._reductions[axis]
        count = self._source.placement.hierarchy[axis] if reduction else 1
        terms = [self._reduced(wanted, device, replica, (*share, index)) for index in range(count)]
        return self._site.combine(reduction, terms, device)

    def _collected(
        self, wanted: Box, device: Placement, replica: tuple[int, ...], share: tuple[int, ...]
    ) -> Tensor:
        """The wanted box of the partial result ``share``, put together from parts that tile it."""
        tiles: dict[Box, Tensor] = {}
        for box, common in self._tiling.overlapping(wanted):
            index = self._nearest(self._tiling.holders[replica, share, box], device)
            tiles[common] = self._cut(index, common)
            self._site.receive_part(self._source, index, tiles[common], device)
        return self._joined(tiles, 0, device)

    def _cut(self, index: int, wanted: Box) -> Tensor:
        """A box of a part, cut once for all who want it."""
        made = self._cuts.get((index, wanted))
        if made is None:
            source, part = self._source, self._source.parts[index]
            have = self._pieces[index].box
            made = self._site.cut(part, have, wanted, source.device(index))
            if source.is_fed and made != part:
                self._site.receive_whole(part, source.device(index))
            self._cuts[index, wanted] = made
        return made

    def _joined(self, tiles: Mapping[Box, Tensor], axis: int, device: Placement) -> Tensor:
        """Tiles that form a grid, joined along ``axis`` and those after it."""
        if len(tiles) == 1:
            return next(iter(tiles.values()))
        rows: dict[Range, dict[Box, Tensor]] = {}
        for box, tensor in tiles.items():
            rows.setdefault(box[axis], {})[box] = tensor
        joined = [self._joined(rows[key], axis + 1, device) for key in sorted(rows)]
        return self._site.join(joined, axis, device)
