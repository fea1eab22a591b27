"""``ShardedTensor``: a logical tensor and its parts; ``Site``: where parts are made into others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from headrace.compiler.sharding.layout import Box, Piece, lay_out
from headrace.compiler.sharding.topology import CALLER, Link, Source, Topology
from headrace.graph import JobGraphBuilder
from headrace.light_dataclass import dataclass
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.sbp import NdSbp, PartialSum
from headrace.tensor_spec import TensorSpec

Parts = tuple[Tensor, ...]

COMBINES = {"sum": "add", "max": "maximum", "min": "minimum"}
"""The op that puts two terms together, by reduction."""


@dataclass(frozen=True, slots=True)
class ShardedTensor:
    """A logical tensor and its parts, in the order of the placement's parallel ids.

    ``is_fed`` says that its one part comes from the host: it is copied from there to each device
    that reads it as it is, and ``placement`` is where others read what is cut from it.
    """

    spec: TensorSpec
    sbp: NdSbp
    placement: Placement
    parts: Parts
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
        arrived: what came to which device for this job already, and to which machine over the
            network: it is copied there once.
        received: bytes that devices receive, by the link they come over. What is known while the
            job is built is there before it runs, and not counted.
    """

    builder: JobGraphBuilder
    topology: Topology
    arrived: set[tuple[str, Placement | int]] = field(default_factory=set)
    received: Counter[Link] = field(default_factory=Counter)

    def receive(self, tensor: Tensor, source: Source, device: Placement) -> None:
        """Count that ``device`` reads ``tensor``, which lies on ``source``."""
        if self.builder.value(tensor) is not None:
            return
        link = self.topology.link(source, device)
        if link is not Link.MEMORY and (tensor.name, device) in self.arrived:
            return
        if link is Link.NETWORK:
            machine = device.devices[0][0]
            if (tensor.name, machine) in self.arrived:  # its host has it
                link = self.topology.link(machine, device)
            self.arrived.add((tensor.name, machine))
        self.received[link] += tensor.spec.nbytes
        self.arrived.add((tensor.name, device))

    def receive_part(
        self, source: ShardedTensor, index: int, tensor: Tensor, device: Placement
    ) -> None:
        """Count that ``device`` reads ``tensor``, which is part ``index`` or is cut from it."""
        as_it_came = source.is_fed and tensor == source.parts[index]
        self.receive(tensor, CALLER if as_it_came else source.device(index), device)

    def receive_whole(self, fed: Tensor, device: Placement) -> None:
        """Count that what is fed comes to ``device``, to be cut there."""
        if self.topology.link(CALLER, device) is not Link.MEMORY:
            self.receive(fed, CALLER, device)

    def cut(self, tensor: Tensor, have: Box, wanted: Box, device: Placement) -> Tensor:
        """The box ``wanted`` of a tensor that is the box ``have``, on the device it lies on."""
        axes = [axis for axis, (a, b) in enumerate(zip(wanted, have, strict=True)) if a != b]
        if not axes:
            return tensor
        with self.builder.placed(device):
            (result,) = self.builder.op(
                "slice",
                [tensor],
                axes=tuple(axes),
                starts=tuple(wanted[axis][0] - have[axis][0] for axis in axes),
                ends=tuple(wanted[axis][1] - have[axis][0] for axis in axes),
                location=f"a part of {tensor.name!r}",
            )
        return result

    def combine(self, reduction: str, terms: Sequence[Tensor], device: Placement) -> Tensor:
        """What the terms reduce to, on ``device``, in their order."""
        result = terms[0]
        with self.builder.placed(device):
            for term in terms[1:]:
                (result,) = self.builder.op(COMBINES[reduction], [result, term])
        return result

    def join(self, tensors: Sequence[Tensor], axis: int, device: Placement) -> Tensor:
        """The tensors one after another along ``axis``, on ``device``."""
        if len(tensors) == 1:
            return tensors[0]
        with self.builder.placed(device):
            (result,) = self.builder.op("concat", tensors, axis=axis)
        return result


def reductions(sbp: NdSbp) -> tuple[str, ...]:
    """How each axis of the hierarchy reduces; empty for one that does not."""
    return tuple(part.reduction if isinstance(part, PartialSum) else "" for part in sbp.axes)
