"""Which collective, if any, takes a tensor from one layout to another on the same devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.compiler.sharding.layout import Box, balanced, lay_out
from headrace.light_dataclass import dataclass
from headrace.op_call import AttrValue
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective along one axis of a hierarchy, done by each group of devices for itself.

    Attributes:
        name: of the collective.
        attrs: but for ``devices``.
        groups: the parallel ids of each group, ascending.
    """

    name: str
    attrs: Mapping[str, AttrValue]
    groups: tuple[tuple[int, ...], ...]

    @property
    def axis(self) -> int:
        """Of the tensor: the axis of the slices that are made, or joined."""
        axis = self.attrs["axis"]
        assert isinstance(axis, int)
        return axis

    @property
    def reduction(self) -> str:
        """What terms are put together by."""
        return str(self.attrs["reduction"])


def find_exchange(
    have: NdSbp, want: NdSbp, hierarchy: tuple[int, ...], shape: tuple[int, ...]
) -> Exchange | None:
    """The collective that lays a tensor as ``want`` where it lies as ``have``; None: no single one.

    Example:
        >>> made = find_exchange(NdSbp.parse("S(0),P"), NdSbp.parse("S(0),B"), (2, 2), (4,))
        >>> made.name, made.groups
        ('all_reduce', ((0, 1), (2, 3)))
    """
    changed = [
        axis
        for axis, (before, after) in enumerate(zip(have.axes, want.axes, strict=True))
        if before != after and hierarchy[axis] > 1
    ]
    if len(changed) != 1:
        return None
    (axis,) = changed
    before, after = have.axes[axis], want.axes[axis]
    named = _name(before, after)
    if named is None or not _reduces_alone(have, axis):
        return None
    groups = _groups(hierarchy, axis)
    boxes = [[p.box for p in lay_out(sbp, hierarchy, shape)] for sbp in (have, want)]
    for group in groups:
        # Where a later axis of the hierarchy splits what this one split, a device's part is not a
        # slice of what its group holds together.
        wholes = [
            _whole([all_boxes[i] for i in group], sbp)
            for all_boxes, sbp in zip(boxes, (before, after), strict=True)
        ]
        if wholes[0] is None or wholes[0] != wholes[1]:
            return None
    return Exchange(*named, groups)


def _name(before: Sbp, after: Sbp) -> tuple[str, Mapping[str, AttrValue]] | None:
    match before, after:
        case PartialSum(reduction), Broadcast():
            return "all_reduce", {"reduction": reduction}
        case PartialSum(reduction), Split(axis):
            return "reduce_scatter", {"reduction": reduction, "axis": axis}
        case Split(axis), Broadcast():
            return "all_gather", {"axis": axis}
        case Split(source), Split(axis):
            return "all_to_all", {"from_axis": source, "axis": axis}
    return None


def _reduces_alone(have: NdSbp, axis: int) -> bool:
    """False where terms of another reduction must be reduced first: a sum of maxima is none."""
    reducing = have.axes[axis]
    return not isinstance(reducing, PartialSum) or all(
        not isinstance(inner, PartialSum) or inner == reducing for inner in have.axes[axis + 1 :]
    )


def _groups(hierarchy: tuple[int, ...], axis: int) -> tuple[tuple[int, ...], ...]:
    step, count, outer = 1, hierarchy[axis], 1
    for size in hierarchy[axis + 1 :]:
        step *= size
    for size in hierarchy[:axis]:
        outer *= size
    return tuple(
        tuple(block * count * step + index * step + inner for index in range(count))
        for block in range(outer)
        for inner in range(step)
    )


def _whole(boxes: Sequence[Box], sbp: Sbp) -> Box | None:
    """What a group holds together; None when its parts are not those that a collective takes."""
    if not isinstance(sbp, Split):
        return boxes[0] if all(box == boxes[0] for box in boxes) else None
    along = sbp.axis
    start, stop = boxes[0][along][0], boxes[-1][along][1]
    for index, box in enumerate(boxes):
        first, last = balanced(stop - start, len(boxes), index)
        if box != (*boxes[0][:along], (start + first, start + last), *boxes[0][along + 1 :]):
            return None
    return (*boxes[0][:along], (start, stop), *boxes[0][along + 1 :])
