"""Every kernel that this backend offers, and which calls it takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headrace.device import CHANNELS_LAST, KernelEntry, dtypes
from headrace.numpy_ops import NumpyKernel, kernel_entries
from headrace_cpu.halves import InHalves
from headrace_cpu.kernels.attention import AttentionKernel
from headrace_cpu.kernels.cache import cache_entries
from headrace_cpu.kernels.conv import DepthwiseConv as PlanarDepthwiseConv
from headrace_cpu.kernels.conv import Im2colConv, depthwise
from headrace_cpu.kernels.conv_transpose import ConvTranspose, parted
from headrace_cpu.kernels.copy import copy_entries
from headrace_cpu.kernels.depthwise import DepthwiseKernel, TurningDepthwise, depthwise_last
from headrace_cpu.kernels.detection import detection_entries
from headrace_cpu.kernels.elementwise import elementwise_entries
from headrace_cpu.kernels.gather import gather_entries
from headrace_cpu.kernels.granular import granular_entries
from headrace_cpu.kernels.integer import (
    DynamicQuantize,
    IntegerAddKernel,
    IntegerConvKernel,
    IntegerDepthwiseKernel,
    IntegerMatmulKernel,
    byte_products,
    depthwise_bytes,
)
from headrace_cpu.kernels.integer_batch import (
    IntegerBatchKernel,
    PackingIntegerMatmul,
    byte_matrices,
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
from headrace_cpu.kernels.running import running_entries
from headrace_cpu.kernels.sampling import sampling_entries
from headrace_cpu.kernels.signal import signal_entries
from headrace_cpu.kernels.trees import tree_entries
from headrace_cpu.kernels.winograd import WinogradKernel
from headrace_cpu.ops.integer_depthwise import pack_integer_taps
from headrace_cpu.ops.pack_integers import pack_integers
from headrace_cpu.ops.widen import widen
from headrace_cpu.ops.winograd import winograd_pack

_POOLED = dtypes("float32", "float64", "int8", "uint8", "int32", "int64")


def kernels_of(tag: str) -> Iterator[KernelEntry]:
    """Numpy's kernel for every op, and a better one where there is one."""
    yield from kernel_entries(tag)
    yield KernelEntry(tag, "conv", Im2colConv, FLOATS, priority=0)
    yield KernelEntry(tag, "conv", PlanarDepthwiseConv, depthwise, priority=1)
    yield from _image_entries(tag)
    yield KernelEntry(tag, "cpu.pack", PackKernel)
    yield KernelEntry(tag, "cpu.conv", ConvKernel)
    yield KernelEntry(tag, "cpu.depthwise_conv", DepthwiseKernel)
    yield KernelEntry(tag, "cpu.winograd_conv", WinogradKernel)
    yield KernelEntry(tag, "cpu.winograd_pack", partial(NumpyKernel, function=winograd_pack))
    yield KernelEntry(tag, "cpu.matmul", MatmulKernel)
    yield KernelEntry(tag, "cpu.block_matmul", BlockMatmulKernel, dtypes("float32"))
    yield KernelEntry(tag, "cpu.widen", partial(NumpyKernel, function=widen))
    yield KernelEntry(tag, "cpu.attention", AttentionKernel)
    yield KernelEntry(tag, "cpu.pack_integers", partial(NumpyKernel, function=pack_integers))
    taps = partial(NumpyKernel, function=pack_integer_taps)
    yield KernelEntry(tag, "cpu.pack_integer_taps", taps)
    yield KernelEntry(tag, "dynamic_quantize", DynamicQuantize, dtypes("float32"))
    yield KernelEntry(tag, "cpu.integer_conv", IntegerConvKernel)
    yield KernelEntry(tag, "cpu.integer_depthwise_conv", IntegerDepthwiseKernel)
    yield KernelEntry(tag, "cpu.integer_add", IntegerAddKernel)
    yield KernelEntry(tag, "cpu.integer_matmul", IntegerMatmulKernel)
    yield KernelEntry(tag, "cpu.integer_batch_matmul", IntegerBatchKernel)
    yield KernelEntry(tag, "matmul_integer", PackingIntegerMatmul, byte_matrices)
    yield KernelEntry(tag, "conv_transpose", ConvTranspose, FLOATS)
    # As good as those of channels last: what they read is turned for none of them.
    yield KernelEntry(tag, "max_pool", MaxPool, _POOLED, priority=2)
    yield KernelEntry(tag, "avg_pool", AvgPool, FLOATS, priority=2)
    yield KernelEntry(tag, "normalization", Normalization, one_dtype)
    yield KernelEntry(tag, "instance_norm", InstanceNorm, FLOATS, priority=2)
    yield KernelEntry(tag, "normalization", NormalizationLast, last_axis, priority=1)
    yield from elementwise_entries(tag)
    yield from program_entries(tag)
    yield from granular_entries(tag)
    yield from row_entries(tag)
    yield from recurrent_entries(tag)
    yield from cache_entries(tag)
    yield from copy_entries(tag)
    yield from gather_entries(tag)
    yield from reduce_entries(tag)
    yield from resize_entries(tag)
    yield from tree_entries(tag)
    yield from detection_entries(tag)
    yield from running_entries(tag)
    yield from sampling_entries(tag)
    yield from signal_entries(tag)
    yield from ranking_entries(tag)


def _image_entries(tag: str) -> Iterator[KernelEntry]:
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
        yield KernelEntry(tag, op, create, match, priority=2, data_formats=(CHANNELS_LAST,))
        # A pass says these in float32; what they say is how images are to lie until then.
        halves = InHalves(match)
        yield KernelEntry(tag, op, NumpyKernel, halves, priority=2, data_formats=(CHANNELS_LAST,))
