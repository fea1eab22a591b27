"""Collectives in copies and sums: a group halves itself, and what it works on, until it is small.

Each member of one half of a group meets one of the other half (one of them two, if the group is
odd). To reduce, each gives the other that part of its term which the other half is to reduce; to
gather, what its half has gathered. Neighbours meet first when they reduce, and last when they
gather: so what goes far is the least. After a few such steps, or where what is left is so small
that another one would take longer to start than it saves, the rest of each group works through one
member: a tree of sums, whose root all read.

So n devices need work in proportion to n, where a ring, or each talking to each, would need n². An
all-reduce moves 2 (n - 1) tensors, the fewest there are; of a large one, on 512 devices, it takes
1.25 times as long as the best one could.

All members get the same bits: each element is reduced in one order, and by one member or by two
that add the same two terms.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.compiler.sharding.layout import Box
from headrace.compiler.sharding.sharded import Site
from headrace.light_dataclass import dataclass
from headrace.ops import Tensor
from headrace.placement import Placement

DEPTH = 4
"""How often a group halves itself. Each step more costs work for every device, and makes what goes
through a single member half as large."""
LEAST_BYTES = 1 << 20
"""What is smaller is not halved. A step is ten ops and copies for each device, one after another,
which take ten microseconds each to start and to meet; a network of 100 Gbit a second brings this in
as long as all of them."""


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that do a collective, and where its ops go. A result may lie on a neighbour.

    What is smaller than ``least_bytes`` is not halved.
    """

    devices: Sequence[Placement]
    site: Site
    least_bytes: int = LEAST_BYTES

    def all_reduce(self, terms: Sequence[Tensor], reduction: str) -> list[Tensor]:
        """Each member holds a term; each gets their reduction."""
        box = tuple((0, dim) for dim in terms[0].spec.shape)
        members = range(len(terms))
        made = self._all_reduce(members, dict(enumerate(terms)), box, reduction, DEPTH)
        return [made[member] for member in members]

    def reduce_scatter(
        self, terms: Sequence[Tensor], boxes: Sequence[Box], axis: int, reduction: str
    ) -> list[Tensor]:
        """Each member holds a term of what ``boxes`` tile along ``axis``; each gets its box."""
        work = _Scatter(self, boxes, axis, reduction)
        members = range(len(terms))
        made = work.scatter(members, members, dict(enumerate(terms)), DEPTH)
        return [made[index] for index in members]

    def all_gather(self, parts: Sequence[Tensor], axis: int) -> list[Tensor]:
        """Each member holds a part; each gets all of them joined along ``axis``, in order."""
        members = range(len(parts))
        made = self._all_gather(members, members, parts, axis, DEPTH)
        return [made[member] for member in members]

    def _all_reduce(
        self,
        members: range,
        terms: dict[int, Tensor],
        box: Box,
        reduction: str,
        depth: int,
    ) -> dict[int, Tensor]:
        """``terms`` by member, all of ``box``; so is what is returned."""
        if len(members) == 1:
            return terms
        if len(members) == 2:
            return self._both(members, terms, reduction)
        axis = max(range(len(box)), key=lambda a: box[a][1] - box[a][0], default=None)
        if (
            not depth
            or axis is None
            or box[axis][1] - box[axis][0] < 2
            or terms[members[0]].spec.nbytes < self.least_bytes
        ):
            root = self.reduce(members, terms, reduction)
            self.read(root, members[0], members[1:])
            return dict.fromkeys(members, root)
        (start, stop), (left, right) = box[axis], halves(members)
        middle = start + max(1, (stop - start) * len(left) // len(members))
        boxes = [(*box[:axis], cut, *box[axis + 1 :]) for cut in ((start, middle), (middle, stop))]
        met = self.meet(members, terms, box, boxes, reduction)
        made = [
            self._all_reduce(half, own, part, reduction, depth - 1)
            for half, own, part in zip((left, right), met, boxes, strict=True)
        ]
        return self._exchange(members, made, axis)

    def _all_gather(
        self, members: range, slices: range, parts: Sequence[Tensor], axis: int, depth: int
    ) -> dict[int, Tensor]:
        """Of ``slices``, as many as there are members, all of them on each member."""
        if len(members) == 1:
            self.read(parts[slices[0]], slices[0], members)
            return {members[0]: parts[slices[0]]}
        if not depth or sum(parts[index].spec.nbytes for index in slices) < self.least_bytes:
            for index in slices:
                self.read(parts[index], index, members[:1])
            chosen = [parts[index] for index in slices]
            root = self.site.join(chosen, axis, self.devices[members[0]])
            self.read(root, members[0], members[1:])
            return dict.fromkeys(members, root)
        left, right = halves(members)
        both = (left, slices[: len(left)]), (right, slices[len(left) :])
        made = [self._all_gather(half, own, parts, axis, depth - 1) for half, own in both]
        return self._exchange(members, made, axis)

    def _both(self, members: range, terms: dict[int, Tensor], reduction: str) -> dict[int, Tensor]:
        """Two members each give the other all of their term, and add up the same."""
        one, other = members
        self.read(terms[other], other, (one,))
        self.read(terms[one], one, (other,))
        pair = [terms[one], terms[other]]
        return {m: self.site.combine(reduction, pair, self.devices[m]) for m in members}

    def reduce(self, members: range, terms: dict[int, Tensor], reduction: str) -> Tensor:
        """What the terms reduce to, on the first member: a tree of neighbours."""
        level = [terms[member] for member in members]
        step = 1
        while len(level) > 1:
            for at in range(1, len(level), 2):
                sender, receiver = members[at * step], members[(at - 1) * step]
                self.read(level[at], sender, (receiver,))
                pair = level[at - 1 : at + 1]
                level[at - 1] = self.site.combine(reduction, pair, self.devices[receiver])
            level, step = level[::2], step * 2
        return level[0]

    def meet(
        self,
        members: range,
        terms: dict[int, Tensor],
        box: Box,
        boxes: Sequence[Box],
        reduction: str,
    ) -> list[dict[int, Tensor]]:
        """Each half's terms of its box, with those of the other half added."""
        cuts = {
            member: [
                self.site.cut(terms[member], box, part, self.devices[member]) for part in boxes
            ]
            for member in members
        }
        left, right = halves(members)
        made: list[dict[int, Tensor]] = [{}, {}]
        for side, (half, other) in enumerate(((left, right), (right, left))):
            for at, member in enumerate(half):
                senders = other[at :: len(half)]
                for sender in senders:
                    self.read(cuts[sender][side], sender, (member,))
                held = [cuts[m][side] for m in sorted((member, *senders))]
                made[side][member] = self.site.combine(reduction, held, self.devices[member])
        return made

    def _exchange(
        self, members: range, made: Sequence[dict[int, Tensor]], axis: int
    ) -> dict[int, Tensor]:
        """What each half has, joined on every member."""
        left, right = halves(members)
        joined = {}
        for at, member in enumerate(left):
            partner = right[at % len(right)]
            self.read(made[1][partner], partner, (member,))
            pair = [made[0][member], made[1][partner]]
            joined[member] = self.site.join(pair, axis, self.devices[member])
        for at, member in enumerate(right):
            self.read(made[0][left[at]], left[at], (member,))
            pair = [made[0][left[at]], made[1][member]]
            joined[member] = self.site.join(pair, axis, self.devices[member])
        return joined

    def read(self, tensor: Tensor, holder: int, readers: Sequence[int]) -> None:
        """Count that members read what another one has."""
        for reader in readers:
            self.site.receive(tensor, self.devices[holder], self.devices[reader])


@dataclass(frozen=True, slots=True)
class _Scatter:
    """A reduce-scatter: what does not change from step to step."""

    group: Group
    boxes: Sequence[Box]
    axis: int
    reduction: str

    def scatter(
        self, members: range, slices: range, terms: dict[int, Tensor], depth: int
    ) -> dict[int, Tensor]:
        """Of ``slices``, as many as there are members, the reduction of each, by slice."""
        group, box = self.group, self._span(slices)
        small = terms[members[0]].spec.nbytes < group.least_bytes
        if len(members) == 1 or not depth or small:
            root = group.reduce(members, terms, self.reduction)
            made = {}
            for index in slices:
                device = group.devices[members[0]]
                made[index] = group.site.cut(root, box, self.boxes[index], device)
                group.read(made[index], members[0], (index,))
            return made
        left, right = halves(members)
        both = (left, slices[: len(left)]), (right, slices[len(left) :])
        spans = [self._span(own) for _, own in both]
        met = group.meet(members, terms, box, spans, self.reduction)
        made = {}
        for (half, own), held in zip(both, met, strict=True):
            made |= self.scatter(half, own, held, depth - 1)
        return made

    def _span(self, slices: range) -> Box:
        """What some slices are together."""
        first, last = self.boxes[slices[0]], self.boxes[slices[-1]]
        span = (first[self.axis][0], last[self.axis][1])
        return (*first[: self.axis], span, *first[self.axis + 1 :])


def halves(members: range) -> tuple[range, range]:
    """Every other member, so that neighbours are in two halves; the first is larger if one is."""
    return members[::2], members[1::2]
