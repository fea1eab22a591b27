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
from headrace_cambricon.conformance import profile
from headrace_cambricon.context import CambriconContext
from headrace_cambricon.device import CambriconDevice, Versions, device_count
from headrace_cambricon.kernels.bits import bits_entries
from headrace_cambricon.kernels.cast import cast_entries
from headrace_cambricon.kernels.conv import conv_entries
from headrace_cambricon.kernels.division import division_entries
from headrace_cambricon.kernels.elementwise import elementwise_entries
from headrace_cambricon.kernels.fill import fill_entries
from headrace_cambricon.kernels.gather import gather_entries
from headrace_cambricon.kernels.matmul import matmul_entries
from headrace_cambricon.kernels.movement import movement_entries
from headrace_cambricon.kernels.norm import norm_entries
from headrace_cambricon.kernels.pool import pool_entries
from headrace_cambricon.kernels.quantized import quantized_entries
from headrace_cambricon.kernels.ranking import ranking_entries
from headrace_cambricon.kernels.reduction import reduction_entries
from headrace_cambricon.kernels.resize import resize_entries
from headrace_cambricon.kernels.scatter import scatter_entries
from headrace_cambricon.kernels.shift import shift_entries
from headrace_cambricon.memory import ALIGNMENT_BYTES, CambriconAllocator, PinnedAllocator
from headrace_cambricon.ops import QuantizedConv, QuantizedMatmul
from headrace_cambricon.passes.quantize_weights import QuantizeWeights
from headrace_cambricon.quantization import chosen

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
    yield from elementwise_entries(TAG)
    yield from division_entries(TAG)
    yield from bits_entries(TAG)
    yield from shift_entries(TAG)
    yield from cast_entries(TAG)
    yield from movement_entries(TAG)
    yield from fill_entries(TAG)
    yield from gather_entries(TAG)
    yield from scatter_entries(TAG)
    yield from ranking_entries(TAG)
    yield from reduction_entries(TAG)
    yield from matmul_entries(TAG)
    yield from conv_entries(TAG)
    yield from quantized_entries(TAG)
    yield from pool_entries(TAG)
    yield from norm_entries(TAG)
    yield from resize_entries(TAG)


@hookimpl
def headrace_ops() -> Iterable[OpEntry]:
    """Bring products whose weights are integers."""
    yield OpEntry(TAG, QuantizedConv)
    yield OpEntry(TAG, QuantizedMatmul)


@hookimpl
def headrace_passes() -> Iterable[PassEntry]:
    """Quantize weights while a job is built, if the user chose to multiply integers."""
    if dtype := chosen():
        yield PassEntry(TAG, "quantize_weights", QuantizeWeights(TAG, dtype))


@hookimpl
def headrace_conformance_profiles() -> Iterable[ConformanceProfile]:
    """Say what the library is not known to do."""
    yield profile(TAG)
