"""Lay constant trees so that what is asked of a node is side by side."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.dtypes import float32, float64
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace_cpu.ops.trees import FEATURE_BITS
from headrace_cpu.passes.own_ops import KnownOps


class LayTrees:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: each ``tree_ensemble`` of float32 or float64 whose nodes are constant,
    with no index outside or negative, is a ``cpu.tree_ensemble``, whose nodes are laid when the
    passes have run. Others name the index that is wrong when they meet it.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        ensembles = graph.of_kind("tree_ensemble")
        chosen = {op.call.name for op in ensembles if self._is_laid(op, graph)}
        return replace_ops(graph, chosen, _laid, ops=self._ops)

    def _is_laid(self, op: JobOp, graph: JobGraph) -> bool:
        call = op.call
        here = op.placement.tag == self._tag and op.placement.parallel_num == 1
        if not here or call.input(0).dtype not in (float32, float64):
            return False
        tables = [graph.constants.get(name) for name in op.inputs[2:9] if name is not None]
        if any(table is None for table in tables):
            return False
        modes, features, _, yes, no, *_ = tables
        width, nodes = min(call.input(0).shape[1], 1 << FEATURE_BITS), call.input(7).shape[0]
        ends = (len(call.strs_attr("comparisons")), width, nodes, nodes)
        return all(
            table is not None and table.size and 0 <= table.min() <= table.max() < end
            for table, end in zip((modes, features, yes, no), ends, strict=True)
        )


def _laid(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    x, roots, modes, features, splits, yes, no, weights, nans = new.read_by(op)
    tables = [modes, features, splits, yes, no, nans]
    (nodes,) = new.op("cpu.lay_trees", tables, location=op.call.location)
    return new.op(
        "cpu.tree_ensemble",
        [x, roots, nodes, weights],
        name=op.call.name,
        location=op.call.location,
        attrs={**op.call.attrs, "nans": nans is not None},
    )
