"""The hooks: one device, in host memory, whose every call returns when the work is done."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.device import (
    AllocatorEntry,
    Device,
    DeviceContextEntry,
    DeviceEntry,
    HostAllocator,
    KernelEntry,
    MemoryKind,
    dtypes,
)
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import kernel_entries
from headrace_cpu.context import CpuContext
from headrace_cpu.kernels.conv import (
    DepthwiseConv,
    Im2colConv,
    PointwiseConv,
    depthwise,
    pointwise,
)
from headrace_cpu.kernels.conv_transpose import ConvTranspose
from headrace_cpu.kernels.elementwise import elementwise_entries
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.norm import InstanceNorm, Normalization, one_dtype
from headrace_cpu.kernels.pool import AvgPool, MaxPool

TAG = "cpu"

_POOLED = dtypes("float32", "float64", "int8", "uint8", "int32", "int64")


def _open(index: int) -> Device:
    # A missing or broken extension, or a HEADRACE_CPU_ISA or HEADRACE_CPU_THREADS that says
    # nonsense, is an error here, which names this plugin, and not on the first launch of a kernel.
    from headrace_cpu import _native

    _native.isa()
    _native.threads()
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
    yield from kernel_entries(TAG)
    yield KernelEntry(TAG, "conv", Im2colConv, FLOATS, priority=0)
    yield KernelEntry(TAG, "conv", PointwiseConv, pointwise, priority=1)
    yield KernelEntry(TAG, "conv", DepthwiseConv, depthwise, priority=2)
    yield KernelEntry(TAG, "conv_transpose", ConvTranspose, FLOATS)
    yield KernelEntry(TAG, "max_pool", MaxPool, _POOLED)
    yield KernelEntry(TAG, "avg_pool", AvgPool, FLOATS)
    yield KernelEntry(TAG, "normalization", Normalization, one_dtype)
    yield KernelEntry(TAG, "instance_norm", InstanceNorm, FLOATS)
    yield from elementwise_entries(TAG)


@hookimpl
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Make streams that hand neighbouring native launches to the extension in one call."""
    yield DeviceContextEntry(TAG, CpuContext)
