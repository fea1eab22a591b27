"""Attention over what was seen before, one native launch each."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.device import KernelEntry, Launch, any_call, dtypes
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.attention import packed_heads
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.attention import FEW_QUERIES


class CacheWrite(NativeKernel):
    """``cache_write`` of any dtype, also in place of ``past``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        x, past, before, y = views.input(), views.optional(1), views.input(2), views.output()
        return native.cache_write(x, past, before, y, self._call.flag_attr("clears"))


class CachedAttention(NativeKernel):
    """``cached_attention``; workspace: keys and values of every head, packed.

    Few queries of one head of keys need none.
    """

    def workspace_bytes(self) -> int:
        """The packed keys and values, if there are many queries."""
        return self._panels().nbytes

    def _panels(self) -> TensorSpec:
        q, k, v = (self._call.input(index).shape for index in range(3))
        batch, shared, length, size = k
        matrices = batch * shared if q[1] // shared * q[2] > FEW_QUERIES else 0
        return packed_heads(matrices, length, size, v[3])

    def _make(self, views: Views) -> Launch:
        call = self._call
        return native.cached_attention(
            views.input(),
            views.input(1),
            views.input(2),
            views.input(3),
            views.optional(4),
            views.optional(5),
            views.optional(6),
            views.output(),
            views.scratch(self._panels()),
            call.float_attr("scale"),
            call.flag_attr("causal"),
            call.int_attr("window"),
            call.float_attr("softcap"),
        )


class RotaryEmbedding(NativeKernel):
    """``rotary_embedding``, also in place of ``x``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        angles = views.input(1), views.input(2)
        interleaved = self._call.flag_attr("interleaved")
        return native.rotary_embedding(views.input(), *angles, views.output(), interleaved)


def cache_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "cache_write", CacheWrite, any_call)
    yield KernelEntry(tag, "rotary_embedding", RotaryEmbedding, dtypes("float32"))
    yield KernelEntry(tag, "cached_attention", CachedAttention, dtypes("float32"))
