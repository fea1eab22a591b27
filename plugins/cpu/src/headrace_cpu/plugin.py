"""The hooks: one device, in host memory, whose every call returns when the work is done.

What only compilers ask for is imported where it is listed: a process that runs a plan which was
kept imports no kernels but those of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from headrace.device import (
    AllocatorEntry,
    Device,
    DeviceContextEntry,
    DeviceEntry,
    HostAllocator,
    KernelEntry,
    MemoryKind,
)
from headrace.graph.entries import OpEntry, PassEntry
from headrace.hookspecs import hookimpl
from headrace_cpu.context import CpuContext
from headrace_cpu.extension import native

if TYPE_CHECKING:
    from headrace.graph import JobGraph

TAG = "cpu"

_PASSES = (
    "pack_integers",
    "batch_integers",
    "gather_integers",
    "pack_blocks",
    "widen_halves",
    "fuse_attention",
    "part_windows",
    "join_moves",
    "fold_pads",
    "fold_scales",
    "pack_products",
    "pack_recurrent",
    "lay_trees",
    "fuse_products",
    "add_integers",
    "pool_integers",
    "fold_output_scales",
    "widen_columns",
    "fuse_elementwise",
)
"""In the order in which they run: see ``passes/__init__.py``."""

_QUANTIZED = ("pack_integers", "batch_integers", "gather_integers", "pack_blocks")
"""Those that are shown quantized weights as they are stored."""


def _open(index: int) -> Device:
    # A missing or broken extension, or a HEADRACE_CPU_ISA or HEADRACE_CPU_THREADS that says
    # nonsense, is an error here, which names this plugin, and not on the first launch of a kernel.
    native.isa()
    native.threads()
    return Device(index)


@hookimpl
def headrace_devices() -> Iterable[DeviceEntry]:
    """Name the device type: the cores of this machine are one device."""
    yield DeviceEntry(TAG, open=_open, capabilities=frozenset({"in-place"}))


@hookimpl
def headrace_allocators() -> Iterable[AllocatorEntry]:
    """Give host memory: nothing is copied between the host and this device."""
    yield AllocatorEntry(TAG, MemoryKind.HOST, HostAllocator.ALIGNMENT_BYTES, HostAllocator)


@hookimpl
def headrace_kernels() -> Iterable[KernelEntry]:
    """Offer numpy's kernel for every op, and a better one where there is one."""
    from headrace_cpu.kernels.table import kernels_of

    return kernels_of(TAG)


@hookimpl
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Make streams that hand neighbouring native launches to the extension in one call."""
    yield DeviceContextEntry(TAG, CpuContext)


@hookimpl
def headrace_ops() -> Iterable[OpEntry]:
    """Bring products with packed weights; the passes put them where they fit."""
    from headrace_cpu.ops.table import ops_of

    return ops_of(TAG)


@hookimpl
def headrace_passes() -> Iterable[PassEntry]:
    """Make products with packed weights that do what stands around them, then programs."""
    from headrace_cpu.kernels.winograd import largest_tile

    largest_tile()  # who sets it wrongly hears of it when the backend loads
    for name in _PASSES:
        yield PassEntry(TAG, name, partial(_rewrite, name), quantized=name in _QUANTIZED)


def _rewrite(name: str, graph: JobGraph) -> JobGraph:
    return _passes()[name](graph)


@cache
def _passes() -> Mapping[str, Callable[[JobGraph], JobGraph]]:
    from headrace_cpu.ops.table import ops_of
    from headrace_cpu.passes.table import passes_of

    return passes_of(TAG, ops_of(TAG))
