"""Say a job on many devices as a job each of whose ops runs on one."""

from __future__ import annotations

from operator import attrgetter

from headrace.compiler.sharding.log import BoxedTensor
from headrace.compiler.sharding.topology import Topology
from headrace.graph import JobGraph, OpSource
from headrace.light_dataclass import dataclass

_devices = attrgetter("placement.devices")


@dataclass(frozen=True, slots=True, eq=False)
class Sharded:
    """The job on single devices, and what boxing did, in the order of the job."""

    graph: JobGraph
    log: tuple[BoxedTensor, ...]


def shard_ops(graph: JobGraph, ops: OpSource, topology: Topology) -> Sharded:
    """Replace every op by one for each device of its placement, and box what does not fit.

    Before: ops are placed on any number of devices; tensors are logical, and may have hints.
    After: ops are placed on one device, but for collectives, which have an output on each of
    theirs; each part of a tensor is a tensor, and how it got there is ops as well. Hints are
    spent. A graph without an op on several devices has no other change.

    Args:
        graph: the job.
        ops: where its ops are looked up.
        topology: what is between devices, and what they do together.

    Raises:
        SbpError: a tensor cannot lie as a hint wants it.
    """
    placed = [graph.placement, *(part.placement for part in graph.variables)]
    devices = {*map(_devices, graph.ops), *(placement.devices for placement in placed)}
    if all(len(those) == 1 for those in devices):
        return Sharded(graph.but(hints={}) if graph.hints else graph, ())
    from headrace.compiler.sharding.sharing import Sharing  # most jobs are on one device

    return Sharded(*Sharing(graph, ops, topology).run())
