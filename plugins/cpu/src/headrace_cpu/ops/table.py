"""Every op that this backend brings, with what computes it on the host."""

from __future__ import annotations

from headrace.graph import OpEntry
from headrace_cpu.ops.attention import Attention, attention
from headrace_cpu.ops.block_matmul import BlockMatmul, block_matmul
from headrace_cpu.ops.conv import PackedConv, conv
from headrace_cpu.ops.depthwise import DepthwiseConv, depthwise_conv
from headrace_cpu.ops.integer import IntegerConv, IntegerMatmul, integer_conv, integer_matmul
from headrace_cpu.ops.integer_add import IntegerAdd, integer_add
from headrace_cpu.ops.integer_batch import IntegerBatchMatmul, integer_batch_matmul
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
from headrace_cpu.ops.recurrent import PackedGru, PackedLstm, PackedRnn, recurrent
from headrace_cpu.ops.recurrent_integer import PackedLstmInteger, lstm_integer
from headrace_cpu.ops.trees import LaidTreeEnsemble, LayTrees, laid_trees, lay_trees
from headrace_cpu.ops.widen import Widen, widen
from headrace_cpu.ops.winograd import WinogradConv, WinogradPack, winograd_conv, winograd_pack


def ops_of(tag: str) -> tuple[OpEntry, ...]:
    """The ops of the device ``tag``."""
    return (
        OpEntry(tag, Pack, pack),
        OpEntry(tag, PackedConv, conv),
        OpEntry(tag, WinogradPack, winograd_pack),
        OpEntry(tag, WinogradConv, winograd_conv),
        OpEntry(tag, DepthwiseConv, depthwise_conv),
        OpEntry(tag, PackedMatmul, matmul),
        OpEntry(tag, BlockMatmul, block_matmul),
        OpEntry(tag, PackIntegers, pack_integers),
        OpEntry(tag, IntegerConv, integer_conv),
        OpEntry(tag, IntegerAdd, integer_add),
        OpEntry(tag, PackIntegerTaps, pack_integer_taps),
        OpEntry(tag, IntegerDepthwise, integer_depthwise),
        OpEntry(tag, IntegerMatmul, integer_matmul),
        OpEntry(tag, IntegerBatchMatmul, integer_batch_matmul),
        OpEntry(tag, Attention, attention),
        OpEntry(tag, PackedLstm, recurrent),
        OpEntry(tag, PackedGru, recurrent),
        OpEntry(tag, PackedRnn, recurrent),
        OpEntry(tag, PackedLstmInteger, lstm_integer),
        OpEntry(tag, Program, elementwise),
        OpEntry(tag, Widen, widen),
        OpEntry(tag, LayTrees, lay_trees),
        OpEntry(tag, LaidTreeEnsemble, laid_trees),
    )
