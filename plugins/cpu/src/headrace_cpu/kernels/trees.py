"""Ensembles of decision trees, whole: one native call for all rows and trees."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry, Launch
from headrace.dtypes import float64
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.native import NativeKernel, Views

SIDE_BY_SIDE = 8
"""So many rows go down a tree at once, and read its nodes fastest when those lie together."""
QUESTIONS_A_NODE = 2
"""If trees may ask more for each of their nodes, it pays to check and lay these together first."""


class DecideTrees(NativeKernel):
    """``tree_ensemble`` of float32 or float64, summed in float64.

    The workspace is where nodes are laid together, if many rows ask.
    """

    def workspace_bytes(self) -> int:
        """A split, a feature and two next nodes for each node, as long as its split is aligned."""
        rows, width = self._call.input(0).shape
        trees, nodes = self._call.input(1).elements, self._call.input(2).elements
        questions = rows * trees * self._call.int_attr("depth")
        if not width or rows < SIDE_BY_SIDE or questions <= QUESTIONS_A_NODE * nodes:
            return 0
        return nodes * (24 if self._call.input(0).dtype == float64 else 16)

    def _make(self, views: Views) -> Launch:
        call = self._call
        roots, modes, features, splits, yes, no, weights = map(views.input, range(1, 8))
        trees = native.Trees(
            roots,
            modes,
            features,
            splits,
            yes,
            no,
            weights,
            nans=views.optional(8),
            comparisons=call.strs_attr("comparisons"),
            depth=call.int_attr("depth"),
        )
        aggregate, packed = call.str_attr("aggregate"), self.workspace_bytes()
        scratch = views.scratch(TensorSpec((packed,), "uint8")) if packed else None
        return native.tree_ensemble(views.input(), trees, views.output(), aggregate, scratch)


def tree_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernel of this module."""
    yield KernelEntry(tag, "tree_ensemble", DecideTrees, FLOATS)
