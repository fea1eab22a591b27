"""Boxing: a tensor that lies one way over some devices, laid another way over others.

Any pair of layouts is served, on devices of any kind, since all of it can be said in ops that move
and add: ``slice`` where a part lies, ``concat`` where it is wanted, ``add`` (``maximum``,
``minimum``) for partial results, ``fill`` for their zeros. The copies between devices are put in
later, where an op reads what lies elsewhere. Where a plugin offers a collective for what is to be
done, it is that instead. Rules are tried in order; the first that applies is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.compiler.sharding.exchange import find_exchange
from headrace.compiler.sharding.layout import Box, Piece, Range, lay_out, meet
from headrace.compiler.sharding.topology import Link, Topology
from headrace.graph import JobGraphBuilder
from headrace.op_call import Attrs, AttrValue, OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import Broadcast, NdSbp, PartialSum, Split
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class ShardedTensor:
    """A logical tensor and its parts, in the order of the placement's parallel ids.

    ``is_fed`` says that its one part comes from the host: it is copied from there to each device
    that reads it as it is, and ``placement`` is where others read what is cut from it.
    """

    spec: TensorSpec
    sbp: NdSbp
    placement: Placement
    parts: tuple[Tensor, ...]
    is_fed: bool = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What each part is of the whole."""
        return lay_out(self.sbp, self.placement.hierarchy, self.spec.shape)

    def device(self, parallel_id: int) -> Placement:
        """The device of one part."""
        return self.placement.device(parallel_id)


@dataclass(frozen=True, slots=True)
class Site:
    """Where boxing is done.

    Attributes:
        builder: the job that its ops are added to.
        topology: what it asks about devices.
        received: bytes that devices receive, by the link they come over. What is known while the
            job is built is there before it runs, and not counted.
    """

    builder: JobGraphBuilder
    topology: Topology
    received: Counter[Link] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Boxed:
    """What boxing gave, by which rule, and what devices receive for it in each run."""

    tensor: ShardedTensor
    rule: str
    received: Mapping[Link, int]


COMBINES = {"sum": "add", "max": "maximum", "min": "minimum"}

Parts = tuple[Tensor, ...]
Rule = Callable[[ShardedTensor, NdSbp, Placement, Site], "tuple[str, Parts] | None"]
"""The parts of the tensor in the new layout and the rule's name; None where it does not apply."""


def box(
    source: ShardedTensor,
    sbp: NdSbp,
    placement: Placement,
    builder: JobGraphBuilder,
    topology: Topology,
) -> Boxed:
    """Lay ``source`` as ``sbp`` over ``placement``, with ops added to ``builder``."""
    site = Site(builder, topology)
    rule, parts = _lay(source, sbp, placement, site)
    return Boxed(ShardedTensor(source.spec, sbp, placement, parts), rule, dict(site.received))


def _lay(source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site) -> tuple[str, Parts]:
    for rule in RULES:
        found = rule(source, sbp, placement, site)
        if found is not None:
            return found
    raise AssertionError("the last rule serves every pair")


def keep(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """One to one: every device wants just what the device of the same number has."""
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    if wanted != source.pieces or _terms(sbp, placement) != _terms(source.sbp, source.placement):
        return None
    for index, part in enumerate(source.parts):
        _receive(source, index, part, placement.device(index), site)
    return "one-to-one", source.parts


def exchange(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    """By the plugin: a collective among the devices that hold and want the tensor."""
    if placement.parallel_num == 1 or all(
        site.builder.value(part) is not None for part in source.parts
    ):
        return None
    if source.placement.parallel_num == 1:
        return _broadcast(source, sbp, placement, site)
    if (source.placement.devices, source.placement.hierarchy, source.placement.tag) != (
        placement.devices,
        placement.hierarchy,
        placement.tag,
    ):
        return None
    found = find_exchange(source.sbp, sbp, placement.hierarchy, source.spec.shape)
    if found is None:
        return None
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    calls = []
    for group in found.groups:
        devices = tuple(placement.devices[i] for i in group)
        outputs = tuple(source.spec.with_shape(wanted[i].shape) for i in group)
        where = Placement(placement.tag, devices, (len(devices),))
        inputs = [source.parts[i] for i in group]
        calls.append(_Exchange(found.name, inputs, outputs, found.attrs, where))
    if not all(call.is_offered(site) for call in calls):
        return None
    parts = dict(
        pair
        for call, group in zip(calls, found.groups, strict=True)
        for pair in zip(group, call.add(site), strict=True)
    )
    return found.name, tuple(parts[index] for index in range(placement.parallel_num))


def _broadcast(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
    (holder,) = source.placement.devices
    if (
        sbp != NdSbp.broadcast(len(placement.hierarchy))
        or source.placement.tag != placement.tag
        or holder not in placement.devices
    ):
        return None
    outputs = (source.spec,) * placement.parallel_num
    root = {"root": placement.devices.index(holder)}
    where = Placement(placement.tag, placement.devices, (placement.parallel_num,))
    call = _Exchange("broadcast", source.parts, outputs, root, where)
    if not call.is_offered(site):
        return None
    _receive(source, 0, source.parts[0], source.placement, site)
    return "broadcast", call.add(site)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A collective among the devices of a placement, before it is added."""

    name: str
    inputs: Sequence[Tensor]
    outputs: tuple[TensorSpec, ...]
    attrs: Mapping[str, AttrValue]
    placement: Placement

    @property
    def all_attrs(self) -> Mapping[str, AttrValue]:
        return {"devices": tuple(index for _, index in self.placement.devices), **self.attrs}

    def is_offered(self, site: Site) -> bool:
        specs = tuple(tensor.spec for tensor in self.inputs)
        attrs = Attrs(self.all_attrs)
        call = OpCall(self.name, self.name, specs, self.outputs, attrs, len(self.outputs))
        return site.topology.collective(self.placement.tag, call) is not None

    def add(self, site: Site) -> Parts:
        made = site.builder.exchange(
            self.name, self.inputs, self.outputs, self.all_attrs, self.placement
        )
        link = site.topology.link(self.placement.device(0), self.placement.device(1))
        site.received[link] += self._received()
        return made

    def _received(self) -> int:
        """Bytes that all devices together receive, done as well as it can be."""
        others = self.placement.parallel_num - 1
        given = sum(tensor.spec.nbytes for tensor in self.inputs)
        made = sum(spec.nbytes for spec in self.outputs)
        match self.name:
            case "all_reduce":
                return 2 * others * self.outputs[0].nbytes
            case "reduce_scatter":
                return others * made
            case "all_to_all":
                return given * others // (others + 1)
            case _:
                return others * self.outputs[0].nbytes


def reduce_then_gather(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts] | None:
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
    split = NdSbp((Split(axis),))
    _, scattered = _lay(source, split, placement, site)
    middle = ShardedTensor(source.spec, split, placement, scattered)
    return "reduce-then-gather", _lay(middle, sbp, placement, site)[1]


def assemble(
    source: ShardedTensor, sbp: NdSbp, placement: Placement, site: Site
) -> tuple[str, Parts]:
    """Every device puts together what it wants from the parts that have it."""
    wanted = lay_out(sbp, placement.hierarchy, source.spec.shape)
    return "assemble", tuple(
        _piece(source, sbp, piece, placement.device(index), site)
        for index, piece in enumerate(wanted)
    )


RULES: tuple[Rule, ...] = (keep, exchange, reduce_then_gather, assemble)


def _reductions(sbp: NdSbp) -> tuple[str, ...]:
    """How each axis of the hierarchy reduces; empty for one that does not."""
    return tuple(part.reduction if isinstance(part, PartialSum) else "" for part in sbp.axes)


def _terms(sbp: NdSbp, placement: Placement) -> tuple[str, ...]:
    """How axes of the hierarchy reduce; one device along an axis has the one term there is."""
    each = zip(_reductions(sbp), placement.hierarchy, strict=True)
    return tuple(reduction if count > 1 else "" for reduction, count in each)


def _piece(
    source: ShardedTensor, sbp: NdSbp, piece: Piece, device: Placement, site: Site
) -> Tensor:
    builder = site.builder
    sums = [axis for axis, reduction in enumerate(_reductions(sbp)) if reduction == "sum"]
    with builder.placed(device):
        # Of partial sums one is the tensor and the others add nothing; partial maxima and minima
        # may all be the tensor.
        if any(piece.share[axis] for axis in sums):
            spec = source.spec
            (zeros,) = builder.op("fill", [], shape=piece.shape, value=0.0, dtype=spec.dtype)
            return zeros
        return _reduced(source, _holders(source, device), piece.box, device, site, ())


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
    site: Site,
    share: tuple[int, ...],
) -> Tensor:
    """The wanted box of the tensor, on ``device``: outer axes of the hierarchy reduce last."""
    axis = len(share)
    if axis == len(source.sbp.axes):
        return _collected(source, holders, wanted, device, site, share)
    reduction = _reductions(source.sbp)[axis]
    terms = [
        _reduced(source, holders, wanted, device, site, (*share, index))
        for index in range(source.placement.hierarchy[axis] if reduction else 1)
    ]
    return _combine(reduction, terms, site.builder)


def _combine(reduction: str, terms: Sequence[Tensor], builder: JobGraphBuilder) -> Tensor:
    result = terms[0]
    for term in terms[1:]:
        (result,) = builder.op(COMBINES[reduction], [result, term])
    return result


def _collected(
    source: ShardedTensor,
    holders: Sequence[int],
    wanted: Box,
    device: Placement,
    site: Site,
    share: tuple[int, ...],
) -> Tensor:
    """The wanted box of the partial result ``share``, put together from the parts that tile it."""
    tiles: dict[Box, Tensor] = {}
    for index in holders:
        piece = source.pieces[index]
        tile = meet(piece.box, wanted) if piece.share == share else None
        if tile is not None and tile not in tiles:
            tiles[tile] = _slice(source, index, tile, site.builder)
            _receive(source, index, tiles[tile], device, site)
    return _join(tiles, 0, site.builder)


def _receive(
    source: ShardedTensor, index: int, tensor: Tensor, device: Placement, site: Site
) -> None:
    """Count what ``device`` receives of part ``index``."""
    if site.builder.value(tensor) is None:
        as_it_came = source.is_fed and tensor == source.parts[index]
        here = None if as_it_came else source.device(index)
        site.received[site.topology.link(here, device)] += tensor.spec.nbytes


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
