"""The hooks. What they return is all that core learns about this device."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.device import (
    PEER_COPIES,
    AllocatorEntry,
    ConformanceProfile,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    MemoryKind,
)
from headrace.graph import OpEntry, PassEntry
from headrace.hookspecs import hookimpl
from headrace_cambricon.context import CambriconContext
from headrace_cambricon.device import CambriconDevice, Versions, device_count
from headrace_cambricon.memory import ALIGNMENT_BYTES, CambriconAllocator, PinnedAllocator

TAG = "cambricon"


@hookimpl
def headrace_devices() -> Iterable[DeviceEntry]:
    """Name the device type; the library is opened when somebody asks how many there are."""
    yield DeviceEntry(
        TAG,
        device_count,
        CambriconDevice,
        frozenset({"in-place", PEER_COPIES}),
        versions=Versions(),
    )


@hookimpl
def headrace_allocators() -> Iterable[AllocatorEntry]:
    """Give memory of the device, and page-locked memory of the host."""
    yield AllocatorEntry(
        TAG, MemoryKind.DEVICE, ALIGNMENT_BYTES, CambriconAllocator, PinnedAllocator
    )


@hookimpl
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Give queues."""
    yield DeviceContextEntry(TAG, CambriconContext)


@hookimpl
def headrace_kernels() -> Iterable[KernelEntry]:
    """Offer what the library computes."""
    from headrace_cambricon.kernels.table import kernels_of

    return kernels_of(TAG)


@hookimpl
def headrace_ops() -> Iterable[OpEntry]:
    """Bring products whose weights are integers."""
    from headrace_cambricon.ops import QuantizedConv, QuantizedMatmul

    yield OpEntry(TAG, QuantizedConv)
    yield OpEntry(TAG, QuantizedMatmul)


@hookimpl
def headrace_passes() -> Iterable[PassEntry]:
    """Quantize weights while a job is built, if the user chose to multiply integers."""
    from headrace_cambricon.passes.quantize_weights import QuantizeWeights
    from headrace_cambricon.quantization import chosen

    if dtype := chosen():
        yield PassEntry(TAG, "quantize_weights", QuantizeWeights(TAG, dtype))


@hookimpl
def headrace_conformance_profiles() -> Iterable[ConformanceProfile]:
    """Say what the library is not known to do."""
    from headrace_cambricon.conformance import profile

    yield profile(TAG)
