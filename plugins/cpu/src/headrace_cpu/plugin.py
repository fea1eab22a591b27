"""The hooks: one device, in host memory, whose every call returns when the work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from headrace.device import (
    CHANNELS_LAST,
    AllocatorEntry,
    Device,
    DeviceContextEntry,
    DeviceEntry,
    HostAllocator,
    KernelEntry,
    MemoryKind,
    dtypes,
)
from headrace.graph.entries import OpEntry, PassEntry
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel, kernel_entries
from headrace_cpu.context import CpuContext
from headrace_cpu.halves import InHalves
from headrace_cpu.kernels.attention import AttentionKernel
from headrace_cpu.kernels.conv import DepthwiseConv as PlanarDepthwiseConv
from headrace_cpu.kernels.conv import Im2colConv, depthwise
from headrace_cpu.kernels.conv_transpose import ConvTranspose, parted
from headrace_cpu.kernels.copy import copy_entries
from headrace_cpu.kernels.depthwise import DepthwiseKernel, TurningDepthwise, depthwise_last
from headrace_cpu.kernels.detection import detection_entries
from headrace_cpu.kernels.elementwise import elementwise_entries
from headrace_cpu.kernels.gather import gather_entries
from headrace_cpu.kernels.integer import (
    DynamicQuantize,
    IntegerAddKernel,
    IntegerConvKernel,
    IntegerDepthwiseKernel,
    IntegerMatmulKernel,
    byte_products,
    depthwise_bytes,
)
from headrace_cpu.kernels.match import FLOATS
from headrace_cpu.kernels.norm import (
    GroupNormLast,
    InstanceNorm,
    Normalization,
    NormalizationLast,
    last_axis,
    one_dtype,
    with_channels,
)
from headrace_cpu.kernels.pool import (
    AvgPool,
    BytePoolLast,
    MaxPool,
    PoolLast,
    bytes_pooled_last,
    pooled_last,
)
from headrace_cpu.kernels.product import (
    BlockMatmulKernel,
    ConvKernel,
    MatmulKernel,
    PackingConv,
    PackKernel,
    conv_products,
)
from headrace_cpu.kernels.program import program_entries
from headrace_cpu.kernels.ranking import ranking_entries
from headrace_cpu.kernels.recurrent import recurrent_entries
from headrace_cpu.kernels.reduce import reduce_entries
from headrace_cpu.kernels.resize import resize_entries
from headrace_cpu.kernels.rows import row_entries
from headrace_cpu.kernels.sampling import sampling_entries
from headrace_cpu.kernels.trees import tree_entries
from headrace_cpu.kernels.winograd import WinogradKernel, largest_tile
from headrace_cpu.ops.attention import Attention, attention
from headrace_cpu.ops.block_matmul import BlockMatmul, block_matmul
from headrace_cpu.ops.conv import PackedConv, conv
from headrace_cpu.ops.depthwise import DepthwiseConv, depthwise_conv
from headrace_cpu.ops.integer import IntegerConv, IntegerMatmul, integer_conv, integer_matmul
from headrace_cpu.ops.integer_add import IntegerAdd, integer_add
from headrace_cpu.ops.integer_depthwise import (
    IntegerDepthwise,
    PackIntegerTaps,
    integer_depthwise,
    pack_integer_taps,
)
from headrace_cpu.ops.matmul import PackedMatmul, matmul
from headrace_cpu.ops.pack import Pack, pack
from headrace_cpu.ops.pack_integers import PackIntegers, pack_integers
from headrace_cpu.ops.program import Program, elementwise
from headrace_cpu.ops.recurrent import PackedGru, PackedLstm, recurrent
from headrace_cpu.ops.widen import Widen, widen
from headrace_cpu.ops.winograd import WinogradConv, WinogradPack, winograd_conv, winograd_pack

if TYPE_CHECKING:
    from headrace.graph import JobGraph

TAG = "cpu"

_OPS = (
    OpEntry(TAG, Pack, pack),
    OpEntry(TAG, PackedConv, conv),
    OpEntry(TAG, WinogradPack, winograd_pack),
    OpEntry(TAG, WinogradConv, winograd_conv),
    OpEntry(TAG, DepthwiseConv, depthwise_conv),
    OpEntry(TAG, PackedMatmul, matmul),
    OpEntry(TAG, BlockMatmul, block_matmul),
    OpEntry(TAG, PackIntegers, pack_integers),
    OpEntry(TAG, IntegerConv, integer_conv),
    OpEntry(TAG, IntegerAdd, integer_add),
    OpEntry(TAG, PackIntegerTaps, pack_integer_taps),
    OpEntry(TAG, IntegerDepthwise, integer_depthwise),
    OpEntry(TAG, IntegerMatmul, integer_matmul),
    OpEntry(TAG, Attention, attention),
    OpEntry(TAG, PackedLstm, recurrent),
    OpEntry(TAG, PackedGru, recurrent),
    OpEntry(TAG, Program, elementwise),
    OpEntry(TAG, Widen, widen),
)

_PASSES = (
    "pack_integers",
    "pack_blocks",
    "widen_halves",
    "fuse_attention",
    "part_windows",
    "join_moves",
    "fold_pads",
    "fold_scales",
    "pack_products",
    "pack_recurrent",
    "fuse_products",
    "add_integers",
    "pool_integers",
    "fold_output_scales",
    "widen_columns",
    "fuse_elementwise",
)
"""In the order in which they run: see ``passes/__init__.py``."""

_QUANTIZED = ("pack_integers", "pack_blocks")
"""Those that are shown quantized weights as they are stored."""

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
    yield KernelEntry(TAG, "conv", PlanarDepthwiseConv, depthwise, priority=1)
    yield from _image_entries()
    yield KernelEntry(TAG, "cpu.pack", PackKernel)
    yield KernelEntry(TAG, "cpu.conv", ConvKernel)
    yield KernelEntry(TAG, "cpu.depthwise_conv", DepthwiseKernel)
    yield KernelEntry(TAG, "cpu.winograd_conv", WinogradKernel)
    yield KernelEntry(TAG, "cpu.winograd_pack", partial(NumpyKernel, function=winograd_pack))
    yield KernelEntry(TAG, "cpu.matmul", MatmulKernel)
    yield KernelEntry(TAG, "cpu.block_matmul", BlockMatmulKernel, dtypes("float32"))
    yield KernelEntry(TAG, "cpu.widen", partial(NumpyKernel, function=widen))
    yield KernelEntry(TAG, "cpu.attention", AttentionKernel)
    yield KernelEntry(TAG, "cpu.pack_integers", partial(NumpyKernel, function=pack_integers))
    taps = partial(NumpyKernel, function=pack_integer_taps)
    yield KernelEntry(TAG, "cpu.pack_integer_taps", taps)
    yield KernelEntry(TAG, "dynamic_quantize", DynamicQuantize, dtypes("float32"))
    yield KernelEntry(TAG, "cpu.integer_conv", IntegerConvKernel)
    yield KernelEntry(TAG, "cpu.integer_depthwise_conv", IntegerDepthwiseKernel)
    yield KernelEntry(TAG, "cpu.integer_add", IntegerAddKernel)
    yield KernelEntry(TAG, "cpu.integer_matmul", IntegerMatmulKernel)
    yield KernelEntry(TAG, "conv_transpose", ConvTranspose, FLOATS)
    yield KernelEntry(TAG, "max_pool", MaxPool, _POOLED)
    yield KernelEntry(TAG, "avg_pool", AvgPool, FLOATS)
    yield KernelEntry(TAG, "normalization", Normalization, one_dtype)
    yield KernelEntry(TAG, "instance_norm", InstanceNorm, FLOATS)
    yield KernelEntry(TAG, "normalization", NormalizationLast, last_axis, priority=1)
    yield from elementwise_entries(TAG)
    yield from program_entries(TAG)
    yield from row_entries(TAG)
    yield from recurrent_entries(TAG)
    yield from copy_entries(TAG)
    yield from gather_entries(TAG)
    yield from reduce_entries(TAG)
    yield from resize_entries(TAG)
    yield from tree_entries(TAG)
    yield from detection_entries(TAG)
    yield from sampling_entries(TAG)
    yield from ranking_entries(TAG)


def _image_entries() -> Iterator[KernelEntry]:
    """Kernels for images whose channels are last: preferred, so that whole nets run that way."""
    for op, create, match in (
        ("conv", PackingConv, conv_products),
        ("conv", TurningDepthwise, depthwise_last),
        ("conv_transpose", NumpyKernel, parted),  # a pass leaves none of them
        ("conv_integer", NumpyKernel, byte_products),  # nor of these, unless weights are computed
        ("conv_integer", NumpyKernel, depthwise_bytes),  # nor of these
        ("max_pool", PoolLast, pooled_last),
        ("max_pool", BytePoolLast, bytes_pooled_last),
        ("avg_pool", PoolLast, pooled_last),
        ("instance_norm", GroupNormLast, with_channels),
        ("group_norm", GroupNormLast, with_channels),
    ):
        yield KernelEntry(TAG, op, create, match, priority=2, data_formats=(CHANNELS_LAST,))
        # A pass says these in float32; what they say is how images are to lie until then.
        halves = InHalves(match)
        yield KernelEntry(TAG, op, NumpyKernel, halves, priority=2, data_formats=(CHANNELS_LAST,))


@hookimpl
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Make streams that hand neighbouring native launches to the extension in one call."""
    yield DeviceContextEntry(TAG, CpuContext)


@hookimpl
def headrace_ops() -> Iterable[OpEntry]:
    """Bring products with packed weights; the passes put them where they fit."""
    yield from _OPS


@hookimpl
def headrace_passes() -> Iterable[PassEntry]:
    """Make products with packed weights that do what stands around them, then programs."""
    largest_tile()  # who sets it wrongly hears of it when the backend loads
    for name in _PASSES:
        yield PassEntry(TAG, name, partial(_rewrite, name), quantized=name in _QUANTIZED)


def _rewrite(name: str, graph: JobGraph) -> JobGraph:
    return _passes()[name](graph)


@cache
def _passes() -> Mapping[str, Callable[[JobGraph], JobGraph]]:
    from headrace_cpu.passes.table import passes_of

    return passes_of(TAG, _OPS)
