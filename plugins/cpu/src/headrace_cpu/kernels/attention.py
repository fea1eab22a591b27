"""Attention, one native launch."""

from __future__ import annotations

from headrace.device import Launch
from headrace.dtypes import float32
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.attention import FEW_QUERIES, ROWS_FIRST
from headrace_cpu.ops.places import PANEL, panel_count


def packed_heads(matrices: int, keys: int, depth: int, columns: int) -> TensorSpec:
    """Room for so many keys ``[keys, depth]`` and values ``[keys, columns]``, packed."""
    floats = panel_count(keys) * PANEL * depth + panel_count(columns) * PANEL * keys
    return TensorSpec((matrices * floats,), float32)


class AttentionKernel(NativeKernel):
    """``cpu.attention``: as the op says; workspace: keys and values of every head, packed.

    Few queries need none.
    """

    def workspace_bytes(self) -> int:
        """The packed keys and values, if there are many queries."""
        return self._panels().nbytes

    def _panels(self) -> TensorSpec:
        call = self._call
        first = call.str_attr("rows_first")
        q, v = (
            tuple(call.input(index).shape[axis] for axis in ROWS_FIRST)
            if name in first
            else call.input(index).shape
            for index, name in ((0, "q"), (2, "v"))
        )
        batch, heads, queries, depth = q
        keys, columns = v[2:]
        matrices = batch * heads if queries > FEW_QUERIES else 0
        return packed_heads(matrices, keys, depth, columns)

    def _make(self, views: Views) -> Launch:
        call = self._call
        layout = native.HeadLayout(call.str_attr("rows_first"), call.flag_attr("k_transposed"))
        return native.attention(
            views.input(),
            views.input(1),
            views.input(2),
            views.optional(3),
            views.output(),
            views.scratch(self._panels()),
            layout,
            call.float_attr("scale"),
            call.flag_attr("nan_is_zero"),
        )
