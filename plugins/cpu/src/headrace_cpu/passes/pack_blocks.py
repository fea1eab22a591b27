"""Put products with weights of few bits in the place of products of what was made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headrace.dtypes import float32, uint8
from headrace.graph import GraphRewriter, JobGraph, JobOp, OpEntry, replace_ops
from headrace.ops import Tensor
from headrace.tensor_spec import Array
from headrace_cpu.halves import HALVES
from headrace_cpu.ops.block_matmul import BITS, MOST_ROUNDED
from headrace_cpu.passes.halves import in_float32
from headrace_cpu.passes.own_ops import KnownOps


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A matrix [columns, depth] of few bits, as it is stored."""

    stored: Array  # uint32[columns, words]
    scales: Array  # [columns, blocks]
    zeros: Array | None  # uint8[columns, blocks], where they are not half of what bits can say
    bits: int
    size: int
    rounded: bool  # what they are multiplied with may be


class PackBlocks:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: a ``matmul`` with what ``dequantize`` makes of a constant matrix of
    bytes, ``[columns, depth]``, or of numbers of few bits that ``unpack_bits`` takes out of them,
    by blocks of the depth, is a ``cpu.block_matmul``: the matrix stays as it is stored. What is
    multiplied is rounded where the ``matmul`` says that it may be, by such blocks.
    """

    def __init__(self, tag: str, own: Mapping[str, OpEntry]) -> None:
        self._tag = tag
        self._ops = KnownOps(own)

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these ops."""
        if not graph.of_kind("dequantize"):
            return graph
        finder, products = _Finder(graph, self._tag), graph.of_kind("matmul")
        found = {op.call.name: blocks for op in products if (blocks := finder.blocks_of(op))}
        packed: dict[str, list[Tensor | None]] = {}  # by the matrix in floats, which two may read

        def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
            blocks, name = found[op.call.name], op.inputs[1] or ""
            if name not in packed:
                packed[name] = _packed(op, blocks, new)
            return _product(op, new.tensor(op.inputs[0] or ""), blocks, packed[name], new)

        return replace_ops(graph, found, make, ops=self._ops)


class _Finder:
    """Looks for products of such matrices in one graph."""

    def __init__(self, graph: JobGraph, tag: str) -> None:
        self._tag = tag
        self._constants = graph.constants
        self._makers = graph.index.makers

    def blocks_of(self, op: JobOp) -> _Blocks | None:
        """The right side of ``op``, if it is a product of such a matrix."""
        if op.placement.tag != self._tag or op.placement.parallel_num > 1:
            return None
        call = op.call
        is_plain = call.flag_attr("transpose_b") and not call.flag_attr("transpose_a")
        if not is_plain or call.input(0).dtype not in (float32, *HALVES):
            return None
        made = self._makers.get(op.inputs[1] or "")
        if made is None or made.call.op != "dequantize" or made.call.input(0).rank != 2:
            return None
        size, axis = made.call.int_attr("block_size"), made.call.int_attr("axis")
        scales = self._constants.get(made.inputs[1] or "")
        if axis not in (1, -1) or size < 1 or scales is None:
            return None
        numbers, zeros = self._numbers(made.inputs[0]), self._numbers(made.inputs[2])
        if numbers is None or zeros is None:
            return None
        stored, bits = numbers
        blocks = scales.shape[1]
        missing = blocks * size * bits // 8 - stored.shape[1]
        if size * bits % 32 or missing < 0:
            return None
        if missing:  # the last block is not whole
            stored = np.pad(stored, ((0, 0), (0, missing)))
        given = _taken_out(*zeros, blocks)
        is_half = bool((given == 1 << bits - 1).all())
        rounded = size <= min(call.int_attr("rounds_a"), MOST_ROUNDED)
        words = stored.view(np.uint32)
        return _Blocks(words, scales, None if is_half else given, bits, size, rounded)

    def _numbers(self, tensor: str | None) -> tuple[Array, int] | None:
        """The bytes that hold the numbers of a constant, and the bits of one."""
        op = self._makers.get(tensor or "")
        if op is not None and op.call.op == "unpack_bits":
            value, bits = self._constants.get(op.inputs[0] or ""), op.call.int_attr("bits")
        else:
            value, bits = self._constants.get(tensor or ""), 8
        if value is None or value.dtype != uint8.numpy or bits not in BITS:
            return None
        return value, bits


def _taken_out(packed: Array, bits: int, count: int) -> Array:
    """The numbers that share bytes, one by one."""
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = packed[..., None] >> shifts & np.uint8((1 << bits) - 1)
    return np.ascontiguousarray(numbers.reshape(len(packed), -1)[:, :count])


def _packed(op: JobOp, blocks: _Blocks, new: GraphRewriter) -> list[Tensor | None]:
    """Panels, scales and zeros of a matrix."""
    scales = blocks.scales
    if scales.dtype != np.float32:
        scales = in_float32(scales)
    made: list[Tensor | None] = []
    for value in (blocks.stored, scales, blocks.zeros):
        if value is None:
            made.append(None)
            continue
        matrix = new.constant(value)
        made += new.op("cpu.pack", [matrix], location=op.call.location, transposed=True)
    return made


def _product(
    op: JobOp, x: Tensor, blocks: _Blocks, packed: list[Tensor | None], new: GraphRewriter
) -> tuple[Tensor, ...]:
    panels, scales, zeros = packed
    return new.op(
        "cpu.block_matmul",
        [x, panels, None, None, scales, zeros],
        name=op.call.name,
        location=op.call.location,
        columns=blocks.scales.shape[0],
        bits=blocks.bits,
        block_size=blocks.size,
        rounded=blocks.rounded,
    )
