"""Boxing: converts a tensor from its layout over some devices to another layout, or other devices.

Any pair of layouts is served, on devices of any kind, since all can be expressed in ops that move
and add: ``slice`` where a part lies, ``concat`` where it is wanted, ``add`` (``maximum``,
``minimum``) for partial results, ``fill`` for their zeros. The copies between devices are put in
later, where an op reads what lies elsewhere. Where a plugin offers a collective for what is to be
done, it is that instead. Rules are tried in order; the first that applies is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from headrace.compiler.sharding.assemble import assemble
from headrace.compiler.sharding.exchange import Exchange, find_exchange
from headrace.compiler.sharding.halving import Group
from headrace.compiler.sharding.layout import lay_out
from headrace.compiler.sharding.offered import OfferedCollective
from headrace.compiler.sharding.sharded import Parts, ShardedTensor, Site, reductions
from headrace.compiler.sharding.topology import Link, Topology
from headrace.graph import JobGraphBuilder
from headrace.light_dataclass import dataclass
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split


@dataclass(frozen=True, slots=True)
class Boxed:
    """What boxing gave, by which rule, and what devices receive for it in each run."""

    tensor: ShardedTensor
    rule: str
    received: Mapping[Link, int]


Rule = Callable[[ShardedTensor, NdSbp, Placement, Site], "tuple[str, Parts] | None"]
"""What was done and the parts of the tensor in the new layout; None where it does not apply."""


def box(
    source: ShardedTensor,
    sbp: NdSbp,
    placement: Placement,
    builder: JobGraphBuilder,
    topology: Topology,
    arrived: set[tuple[str, Placement | int]] | None = None,
) -> Boxed:
    """Lay ``source`` as ``sbp`` over ``placement``, with ops added to ``builder``.

    ``arrived`` is what came where for this job already, and is not counted again; it is added to.
    """
    site = Site(builder, topology, set() if arrived is None else arrived)
    rule, parts = _lay(source, sbp, placement, site)
    return Boxed(ShardedTensor(source.spec, sbp, placement, parts), rule, dict(site.received))


def _lay(source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site) -> tuple[str, Parts]:
    for rule in RULES:
        found = rule(source, sbp, placement, site)
        if found is not None:
            return found
    return "assemble", assemble(source, sbp, placement, site)


def keep(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """One to one: every device wants just what the device of the same number has."""
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    if wanted != source.pieces or _terms(sbp, placement) != _terms(source.sbp, source.placement):
        return None
    for index, part in enumerate(source.parts):
        site.receive_part(source, index, part, placement.device(index))
    return "one-to-one", source.parts


def exchange(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """A collective along one axis of the hierarchy: the plugin's, or one made by halves.

    All-to-all is made by assembling: each device has something for each other one, and sending it
    on through third ones would move more bytes.
    """
    if source.placement != placement or not _can_exchange(source, sbp, placement, site):
        return None
    found = find_exchange(source.sbp, sbp, placement.hierarchy, source.spec.shape)
    if found is None:
        return None
    calls = [_offered(found, group, source, sbp) for group in found.groups]
    if all(call.is_offered(site) for call in calls):
        return found.name, _by_group(found, [call.add(site) for call in calls])
    if found.name == "all_to_all":
        return None
    made = [_by_halves(found, group, source, sbp, site) for group in found.groups]
    return f"{found.name} by halves", _by_group(found, made)


def within_machines(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """An all-reduce over several machines, with what the plugin offers on each of them.

    Each machine reduces and scatters among its devices, so that over the network goes one slice for
    each device; the slices are reduced across machines, and gathered on each.
    """
    count = len({machine for machine, _ in placement.devices})
    each = placement.parallel_num // count
    longest = max(range(source.spec.rank), key=lambda a: source.spec.shape[a], default=None)
    if (
        source.placement != placement
        or not (len(sbp.axes) == 1 and isinstance(source.sbp.axes[0], PartialSum))
        or sbp != NdSbp.broadcast(1)
        or count == 1
        or each == 1
        or [m for m, _ in placement.devices[::each]] != sorted({m for m, _ in placement.devices})
        or longest is None
        or source.spec.shape[longest] < each
        or not _can_exchange(source, sbp, placement, site)
    ):
        return None
    machines = replace(placement, hierarchy=(count, each))
    term, whole, cut = source.sbp.axes[0], Broadcast(), Split(longest)
    lies = replace(source, sbp=NdSbp((term, term)), placement=machines)
    scattered = find_exchange(lies.sbp, NdSbp((term, cut)), (count, each), source.spec.shape)
    assert scattered is not None
    offers = (_offered(scattered, g, lies, NdSbp((term, cut))) for g in scattered.groups)
    if not all(call.is_offered(site) for call in offers):
        return None
    names = []
    for step in ((term, cut), (whole, cut), (whole, whole)):
        name, parts = _lay(lies, NdSbp(step), machines, site)
        names.append(name)
        lies = replace(lies, sbp=NdSbp(step), parts=parts)
    return ", ".join(names), lies.parts


def broadcast(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """The plugin's broadcast of what one device has to it and others; else each copies it."""
    if (
        source.placement.parallel_num > 1
        or placement.parallel_num == 1
        or sbp != NdSbp.broadcast(len(placement.hierarchy))
        or source.placement.tag != placement.tag
        or source.placement.devices[0] not in placement.devices
        or _is_known(source, site)
    ):
        return None
    outputs = (source.spec,) * placement.parallel_num
    root = {"root": placement.devices.index(source.placement.devices[0])}
    where = Placement(placement.tag, placement.devices, (placement.parallel_num,))
    call = OfferedCollective("broadcast", source.parts, outputs, root, where)
    if not call.is_offered(site):
        return None
    site.receive_part(source, 0, source.parts[0], source.placement)
    return "broadcast", call.add(site)


def axis_by_axis(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """Collectives along several axes of the hierarchy, one after another."""
    if source.placement != placement or not _can_exchange(source, sbp, placement, site):
        return None
    steps = _steps(source.sbp, sbp, placement.hierarchy, source.spec.shape)
    if steps is None:
        return None
    names = []
    for step in steps:
        name, parts = _lay(source, step, placement, site)
        names.append(name)
        source = replace(source, sbp=step, parts=parts)
    return ", ".join(names), source.parts


def reduce_first(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """Many terms for other devices: they are reduced where they lie, and the rest is moved.

    Else each device that wants the tensor would receive every term of it, and add them all up.
    """
    if source.placement == placement or not _can_exchange(source, sbp, placement, site):
        return None
    hierarchy, left = source.placement.hierarchy, list(source.spec.shape)
    terms, middle = 1, list[Sbp]()
    for part, count in zip(source.sbp.axes, hierarchy, strict=True):
        after: Sbp = part
        if isinstance(part, PartialSum):
            terms *= count
            axis = max(range(len(left)), key=lambda a: left[a], default=None)
            whole = axis is None or left[axis] < count
            after = Broadcast() if axis is None or whole else Split(axis)
        if isinstance(after, Split):
            left[after.axis] //= count
        middle.append(after)
    if terms < 3:
        return None
    reduced = NdSbp(tuple(middle))
    first, parts = _lay(source, reduced, source.placement, site)
    then, made = _lay(replace(source, sbp=reduced, parts=parts), sbp, placement, site)
    return f"{first}, {then}", made


RULES: tuple[Rule, ...] = (keep, within_machines, exchange, broadcast, axis_by_axis, reduce_first)
"""In order; what none serves is assembled."""


def _is_known(source: ShardedTensor, site: Site) -> bool:
    return all(site.builder.value(part) is not None for part in source.parts)


def _can_exchange(source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site) -> bool:
    """False for what is known while building, which every device has, and for parts of nothing."""
    if source.placement.parallel_num == 1 or _is_known(source, site):
        return False
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    return not any(piece.is_empty for piece in (*source.pieces, *wanted))


def _terms(sbp: NdSbp, placement: Placement) -> tuple[str, ...]:
    """How axes of the hierarchy reduce; one device along an axis has the one term there is."""
    each = zip(reductions(sbp), placement.hierarchy, strict=True)
    return tuple(reduction if count > 1 else "" for reduction, count in each)


def _offered(
    found: Exchange, group: Sequence[int], source: ShardedTensor, sbp: NdSbp
) -> OfferedCollective:
    placement = source.placement
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    devices = tuple(placement.devices[i] for i in group)
    return OfferedCollective(
        found.name,
        [source.parts[i] for i in group],
        tuple(source.spec.with_shape(wanted[i].shape) for i in group),
        found.attrs,
        Placement(placement.tag, devices, (len(devices),)),
    )


def _by_halves(
    found: Exchange, group: Sequence[int], source: ShardedTensor, sbp: NdSbp, site: Site
) -> Sequence[Tensor]:
    work = Group([source.device(index) for index in group], site)
    parts = [source.parts[index] for index in group]
    if found.name == "all_gather":
        return work.all_gather(parts, found.axis)
    if found.name == "all_reduce":
        return work.all_reduce(parts, found.reduction)
    wanted = lay_out(sbp, source.placement.hierarchy, source.spec.shape)
    boxes = [wanted[index].box for index in group]
    return work.reduce_scatter(parts, boxes, found.axis, found.reduction)


def _by_group(found: Exchange, made: Sequence[Sequence[Tensor]]) -> Parts:
    """The parts in the order of parallel ids."""
    parts = {
        index: part
        for group, of_group in zip(found.groups, made, strict=True)
        for index, part in zip(group, of_group, strict=True)
    }
    return tuple(parts[index] for index in range(len(parts)))


def _steps(
    have: NdSbp, want: NdSbp, hierarchy: tuple[int, ...], shape: tuple[int, ...]
) -> list[NdSbp] | None:
    """Layouts on the way, each by one collective; None where one step would be undone by another.

    What is split one way and wanted split another moves once, so it is not among them.
    """
    changed = [
        axis
        for axis, (before, after) in enumerate(zip(have.axes, want.axes, strict=True))
        if before != after and hierarchy[axis] > 1
    ]
    if len(changed) < 2 or not all(_gathers(have.axes[a], want.axes[a]) for a in changed):
        return None
    # What is reduced while it is split is less, so that comes first; and inner axes before outer.
    best = sorted(changed, key=lambda axis: (not isinstance(have.axes[axis], PartialSum), -axis))
    for order in permutations(best):
        steps, lies = [], have
        for axis in order:
            after = NdSbp((*lies.axes[:axis], want.axes[axis], *lies.axes[axis + 1 :]))
            if find_exchange(lies, after, hierarchy, shape) is None:
                break
            steps.append(after)
            lies = after
        else:
            return steps
    return None


def _gathers(before: Sbp, after: Sbp) -> bool:
    """True for what is reduced or gathered."""
    if isinstance(before, PartialSum):
        return not isinstance(after, PartialSum)
    return isinstance(before, Split) and isinstance(after, Broadcast)
