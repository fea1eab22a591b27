"""Ensembles of decision trees, whole: one native call for all rows and trees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from headrace.device import KernelEntry, Launch
from headrace.numpy_ops import NumpyKernel
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.trees import lay_trees

if TYPE_CHECKING:
    from headrace_cpu._native import Trees


class TreesKernel(NativeKernel):
    """What ensembles share: float32 or float64, summed in float64. None needs a workspace."""

    def _trees(self, roots: Array, weights: Array) -> Trees:
        call = self._call
        comparisons, aggregate = call.strs_attr("comparisons"), call.str_attr("aggregate")
        return native.Trees(roots, weights, comparisons, call.int_attr("depth"), aggregate)


class DecideTrees(TreesKernel):
    """``tree_ensemble``: each index is checked when it is followed."""

    def _make(self, views: Views) -> Launch:
        roots, modes, features, splits, yes, no, weights = map(views.input, range(1, 8))
        trees, nans, y = self._trees(roots, weights), views.optional(8), views.output()
        return native.tree_ensemble(views.input(), trees, modes, features, splits, yes, no, nans, y)


class LaidTrees(TreesKernel):
    """``cpu.tree_ensemble``: as the op says."""

    def _make(self, views: Views) -> Launch:
        roots, nodes, weights = map(views.input, range(1, 4))
        trees, nans = self._trees(roots, weights), self._call.flag_attr("nans")
        return native.laid_trees(views.input(), trees, nodes, nans, views.output())


def tree_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "tree_ensemble", DecideTrees, FLOATS)
    yield KernelEntry(tag, "cpu.tree_ensemble", LaidTrees)
    yield KernelEntry(tag, "cpu.lay_trees", partial(NumpyKernel, function=lay_trees))
