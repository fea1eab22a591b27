"""Ensembles of decision trees, whole: one native call for all rows and trees."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry, Launch
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.native import NativeKernel, Views


class DecideTrees(NativeKernel):
    """``tree_ensemble`` of float32 or float64, summed in float64. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call = self._call
        roots, modes, features, splits, yes, no, weights = map(views.input, range(1, 8))
        trees = _native.Trees(
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
        aggregate = call.str_attr("aggregate")
        return _native.tree_ensemble(views.input(), trees, views.output(), aggregate)


def tree_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernel of this module."""
    yield KernelEntry(tag, "tree_ensemble", DecideTrees, FLOATS)
