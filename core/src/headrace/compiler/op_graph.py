"""The op graph: the ops of a job with how each of their tensors lies over the placement."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import UnsupportedError
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.placement import Placement
from headrace.sbp import NdSbp


@dataclass(frozen=True, slots=True)
class OpNode:
    """An op and the SBP of its inputs and outputs, one ``NdSbp`` each."""

    op: JobOp
    input_sbp: tuple[NdSbp, ...]
    output_sbp: tuple[NdSbp, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpGraph:
    """A job whose SBP is decided; ``job`` has the tensors, ``nodes`` its ops in the same order."""

    job: JobGraph
    nodes: tuple[OpNode, ...]


def infer_sbp(job: JobGraph) -> OpGraph:
    """Decide how each tensor lies over its op's placement.

    On one device every signature means the same; Broadcast says it most plainly.

    Raises:
        UnsupportedError: an op is placed on several devices, or on another machine.
    """
    for placement in {job.placement, *(op.placement for op in job.ops)}:
        _check_placement(job, placement)
    nodes = []
    for op in job.ops:
        whole = NdSbp.broadcast(len(op.placement.hierarchy))
        nodes.append(OpNode(op, (whole,) * len(op.inputs), (whole,) * len(op.outputs)))
    return OpGraph(job, tuple(nodes))


def _check_placement(job: JobGraph, placement: Placement) -> None:
    if placement.parallel_num != 1:
        raise UnsupportedError(
            f"job {job.name!r}: placement '{placement}' has {placement.parallel_num} devices; "
            "this version runs each op on one device. Name one, for example '0:0'"
        )
    if placement.devices[0][0] != 0:
        raise UnsupportedError(
            f"job {job.name!r}: placement '{placement}' is on machine {placement.devices[0][0]}; "
            "this version runs on one machine, number 0"
        )
