"""Collectives in copies and sums: a group halves itself, and what it works on, until it is small.

Of a group, each member of one half meets one of the other half (one of them two, if the group is
odd). To reduce, each gives the other that part of its term which the other half is to reduce; to
gather, what its half has gathered. So n devices need n log n copies and about as many slices, sums
and concatenations, where each talking to each would need n². Each receives 2 (n - 1) / n of the
tensor for an all-reduce when n is a power of 2, which is the least there is; a ring has that for
every n, but in n² steps.

All members get the same bits: each element is reduced in one order, wherever it is reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.compiler.sharding.layout import Box
from headrace.compiler.sharding.sharded import Site
from headrace.ops import Tensor
from headrace.placement import Placement


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that do a collective, and where its ops go."""

    devices: Sequence[Placement]
    site: Site

    def all_reduce(self, terms: Sequence[Tensor], reduction: str) -> list[Tensor]:
        """Each member holds a term; each gets their reduction."""
        box = tuple((0, dim) for dim in terms[0].spec.shape)
        return self._all_reduce(range(len(terms)), list(terms), box, reduction)

    def reduce_scatter(
        self, terms: Sequence[Tensor], boxes: Sequence[Box], axis: int, reduction: str
    ) -> list[Tensor]:
        """Each member holds a term of what ``boxes`` tile along ``axis``; each gets its box."""
        return self._reduce_scatter(range(len(terms)), list(terms), boxes, axis, reduction)

    def all_gather(self, parts: Sequence[Tensor], axis: int) -> list[Tensor]:
        """Each member holds a part; each gets all of them joined along ``axis``, in order."""
        return self._all_gather(range(len(parts)), parts, axis)

    def _all_reduce(
        self, members: range, terms: list[Tensor], box: Box, reduction: str
    ) -> list[Tensor]:
        """``terms`` are of ``members``, and are all of ``box``; so is what is returned."""
        if len(members) == 1:
            return terms
        if len(members) == 2:
            return [self._combine(reduction, terms, members, at) for at in (0, 1)]
        left, right = _halves(members)
        axis = max(range(len(box)), key=lambda a: box[a][1] - box[a][0], default=None)
        if axis is None or box[axis][1] - box[axis][0] < 2:
            return self._by_root(members, terms, reduction)
        start, stop = box[axis]
        middle = start + max(1, (stop - start) * len(left) // len(members))
        boxes = [(*box[:axis], cut, *box[axis + 1 :]) for cut in ((start, middle), (middle, stop))]
        halves = self._meet(members, terms, box, boxes, reduction)
        made = [
            self._all_reduce(half, own, part, reduction)
            for half, own, part in zip((left, right), halves, boxes, strict=True)
        ]
        return self._exchange(members, made, axis)

    def _by_root(self, members: range, terms: list[Tensor], reduction: str) -> list[Tensor]:
        """For one element: the first member reduces it, by halves, and all read it from there."""
        while len(terms) > 1:
            half = (len(terms) + 1) // 2
            for at, term in enumerate(terms[half:]):
                self._receive(term, members[half + at], members[at])
                device = self.devices[members[at]]
                terms[at] = self.site.combine(reduction, [terms[at], term], device)
            terms = terms[:half]
        for member in members[1:]:
            self._receive(terms[0], members[0], member)
        return terms * len(members)

    def _reduce_scatter(
        self,
        members: range,
        terms: list[Tensor],
        boxes: Sequence[Box],
        axis: int,
        reduction: str,
    ) -> list[Tensor]:
        if len(members) == 1:
            return terms
        left, right = _halves(members)
        box = _span(boxes, members, axis)
        halves = [_span(boxes, half, axis) for half in (left, right)]
        owns = self._meet(members, terms, box, halves, reduction)
        return [
            tensor
            for half, own in zip((left, right), owns, strict=True)
            for tensor in self._reduce_scatter(half, own, boxes, axis, reduction)
        ]

    def _all_gather(self, members: range, parts: Sequence[Tensor], axis: int) -> list[Tensor]:
        if len(members) == 1:
            return [parts[members[0]]]
        halves = [self._all_gather(half, parts, axis) for half in _halves(members)]
        return self._exchange(members, halves, axis)

    def _meet(
        self,
        members: range,
        terms: Sequence[Tensor],
        box: Box,
        boxes: Sequence[Box],
        reduction: str,
    ) -> list[list[Tensor]]:
        """Each half's terms of its box, with those of the other half added."""
        cuts = [
            [self.site.cut(term, box, part, self.devices[member]) for part in boxes]
            for member, term in zip(members, terms, strict=True)
        ]
        left, right = _halves(members)
        first = members[0]
        made = []
        for half, other, side in ((left, right, 0), (right, left, 1)):
            own = []
            for at, member in enumerate(half):
                senders = other[at :: len(half)]
                for sender in senders:
                    self._receive(cuts[sender - first][side], sender, member)
                held = [cuts[m - first][side] for m in sorted((member, *senders))]
                own.append(self.site.combine(reduction, held, self.devices[member]))
            made.append(own)
        return made

    def _exchange(
        self, members: range, halves: Sequence[Sequence[Tensor]], axis: int
    ) -> list[Tensor]:
        """What each half has, joined on every member."""
        left, right = _halves(members)
        made = []
        for half, other, side in ((left, right, 0), (right, left, 1)):
            for at, member in enumerate(half):
                partner = at % len(other)
                pair = [halves[side][at], halves[1 - side][partner]]
                self._receive(pair[1], other[partner], member)
                ordered = pair if side == 0 else pair[::-1]
                made.append(self.site.join(ordered, axis, self.devices[member]))
        return made

    def _combine(self, reduction: str, terms: Sequence[Tensor], members: range, at: int) -> Tensor:
        self._receive(terms[1 - at], members[1 - at], members[at])
        return self.site.combine(reduction, terms, self.devices[members[at]])

    def _receive(self, tensor: Tensor, sender: int, receiver: int) -> None:
        self.site.receive(tensor, self.devices[sender], self.devices[receiver])


def _halves(members: range) -> tuple[range, range]:
    """The first half, larger by one if need be, and the second."""
    middle = (len(members) + 1) // 2
    return members[:middle], members[middle:]


def _span(boxes: Sequence[Box], members: range, axis: int) -> Box:
    """What the boxes of ``members`` are together."""
    first, last = boxes[members[0]], boxes[members[-1]]
    return (*first[:axis], (first[axis][0], last[axis][1]), *first[axis + 1 :])
