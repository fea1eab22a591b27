"""The op graph: the ops of a job with how each of their tensors lies over the placement."""

from __future__ import annotations

from functools import cache

from headrace.graph.job_graph import JobGraph, JobOp
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.sbp import NdSbp


class OpNode(NamedTuple):
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
    """Say how each tensor lies over its op's placement.

    Ops are on one device each by now, where every signature means the same.
    """
    nodes = []
    broadcast = cache(NdSbp.broadcast)
    for op in job.ops:
        whole = broadcast(len(op.placement.hierarchy))
        nodes.append(OpNode(op, (whole,) * len(op.inputs), (whole,) * len(op.outputs)))
    return OpGraph(job, tuple(nodes))
