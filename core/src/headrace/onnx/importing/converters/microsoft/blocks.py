"""Weights of few bits, with a scale for each block of them, as language models are stored."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import int8, uint8
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_FLOATS = "float float16 bfloat16"

_BYTES_WILL_DO = 4
"""The accuracy level at which A may be rounded to int8 by blocks of the size of B's."""

# What 4 bits stand for, of the largest number of a block: a float of 4 bits, whose eighth is the
# sign; or that one of 16 quantiles of a normal distribution.
_FP4 = (0, 0.0052083333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25)
_NF4 = (
    *(-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0),
    *(0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1),
)
_CODES = {0: (*_FP4, *(-number for number in _FP4)), 1: _NF4}


def _matmul_nbits(node: Node) -> Tensor:
    """``A @ B.T``; a row of B, ``[N, K]``, has a scale and a zero point for each of its blocks."""
    a, k, n, bits = node.input(0), node.attr("K"), node.attr("N"), _bits(node)
    if node.attr("weight_prepacked", 0):
        node.refuse("weight_prepacked is 1: the weights lie as one device has them")
    size = node.attr("block_size")
    if k < 1 or n < 1 or size < 1:
        node.invalid(f"K is {k}, N is {n} and block_size is {size}; they are above 0")
    blocks = -(-k // size)
    numbers = _rows(node, 1, bits, n, blocks * size, k)
    scale = node.one("reshape", [node.input(2)], shape=(n, blocks))
    zero, zeros = node.optional(3), None
    if zero is None:
        zeros = node.constant(np.full((n, blocks), 1 << bits - 1, np.uint8))
    elif zero.spec.dtype == uint8:
        zeros = _rows(node, 3, bits, n, blocks, blocks)
    if node.optional(4) is not None:  # each column says which block it is of
        of = node.constant(node.value(4).reshape(-1)[:k].astype(np.int64))
        scale = node.one("gather", [scale, of], axis=1)
        zeros = None if zeros is None else node.one("gather", [zeros, of], axis=1)
        size = 1
    given = [numbers, scale, zeros]
    b = node.one("dequantize", given, axis=1, block_size=size, dtype=a.spec.dtype)
    if zero is not None and zero.spec.dtype != uint8:
        if size == 1:
            node.refuse("has zero points that are floats, and g_idx; one of both runs")
        b = node.one("subtract", [b, _of_columns(node, zero, scale, (n, k), size)])
    rounds = node.attr("block_size") if node.attr("accuracy_level", 0) == _BYTES_WILL_DO else 0
    y = node.one("matmul", [a, b], transpose_b=True, rounds_a=rounds)
    return y if node.optional(5) is None else node.one("add", [y, node.input(5)])


def _of_columns(
    node: Node, zero: Tensor, scale: Tensor, shape: tuple[int, int], size: int
) -> Tensor:
    """Zero points that are floats, times the scales, for each column."""
    worth = node.one("reshape", [zero], shape=scale.spec.shape)
    worth = node.one("multiply", [worth, scale])
    block = node.constant(np.arange(shape[1]) // size)
    return node.one("gather", [worth, block], axis=1)


def _rows(node: Node, index: int, bits: int, rows: int, held: int, count: int) -> Tensor:
    """The first ``count`` of ``held`` numbers in each row of input ``index``, which is constant."""
    packed = node.value(index)
    width = -(-held * bits // 8)
    if packed.size != rows * width:
        node.invalid(f"input {index} is {node.input(index).spec}; it has {rows} rows of {width}")
    return _unpacked(node, node.constant(packed.reshape(rows, width)), bits, count)


def _bits(node: Node) -> int:
    bits: int = node.attr("bits", 4)
    if bits not in (2, 4, 8):
        node.refuse(f"bits is {bits}; 2, 4 and 8 run")
    return bits


def _matmul_bnb4(node: Node) -> Tensor:
    """``A @ B.T`` of weights ``[N, K]``, each 4 bits; every ``block_size`` have a largest one."""
    k, n, size, kind = (node.attr(name) for name in ("K", "N", "block_size", "quant_type"))
    if kind not in _CODES:
        node.invalid(f"quant_type is {kind}; it may be 0 or 1")
    if not node.attr("transB", 1):
        node.refuse("transB is 0; 1 runs")
    packed, dtype = node.value(1).reshape(-1), node.input(0).spec.dtype
    codes = np.stack([packed >> 4, packed & 15], 1).reshape(-1)
    if size < 1 or codes.size < n * k:
        node.invalid(f"B has {codes.size} numbers, in blocks of {size}; K * N are {n * k}")
    numbers = np.array(_CODES[kind], np.float32)[codes[: n * k]].astype(dtype.numpy)
    largest = node.one("gather", [node.input(2), node.constant(np.arange(n * k) // size)], axis=0)
    b = node.one("multiply", [node.constant(numbers), largest])
    b = node.one("reshape", [b], shape=(n, k))
    return node.one("matmul", [node.input(0), b], transpose_b=True)


def _gather_block_quantized(node: Node) -> Tensor:
    """Elements of a quantized tensor along an axis; only what is taken is read as floats."""
    data, indices, scale, zero = node.input(0), node.input(1), node.input(2), node.optional(3)
    bits, rank = _bits(node), data.spec.rank
    along = normal_axis(node, node.attr("gather_axis", 0), rank)
    axis = normal_axis(node, node.attr("quantize_axis", 1), rank)
    if along == axis:
        node.invalid(f"gather_axis and quantize_axis are both {axis}")
    packed = data.spec.dtype == uint8
    if packed and axis != rank - 1:
        node.invalid(f"quantize_axis is {axis}; of bytes it is the last")
    if not packed:
        data, zero = _as_bytes(node, data), None if zero is None else _as_bytes(node, zero)
    data, scale = (node.one("gather", [x, indices], axis=along) for x in (data, scale))
    zero = None if zero is None else node.one("gather", [zero, indices], axis=along)
    if packed:
        data = _unpacked(node, data, bits, data.spec.shape[-1] * 8 // bits)
        if zero is None:
            zero = node.constant(np.full(scale.spec.shape, 1 << bits - 1, np.uint8))
        else:
            zero = _unpacked(node, zero, bits, scale.spec.shape[-1])
    if axis > along:
        axis += indices.spec.rank - 1
    size, dtype = node.attr("block_size", 128), scale.spec.dtype
    return node.one("dequantize", [data, scale, zero], axis=axis, block_size=size, dtype=dtype)


def _as_bytes(node: Node, x: Tensor) -> Tensor:
    """Numbers of 4 bits as whole ones."""
    return cast(node, x, int8 if x.spec.dtype.name == "int4" else uint8)


def _unpacked(node: Node, x: Tensor, bits: int, count: int) -> Tensor:
    """The first numbers of each row of bytes."""
    if bits < 8:
        return node.one("unpack_bits", [x], bits=bits, count=count)
    if x.spec.shape[-1] == count:
        return x
    return node.one("slice", [x], starts=(0,), ends=(count,), axes=(x.spec.rank - 1,))


OPS = (
    declare(
        "MatMulNBits",
        "A:T1 B:T2 scales:T1 zero_points:T3? g_idx:T4? bias:T1?",
        "Y:T1",
        _matmul_nbits,
        "K:int! N:int! accuracy_level:int bits:int block_size:int! weight_prepacked:int",
        T1=_FLOATS,
        T2="uint8",
        T3=f"uint8 {_FLOATS}",
        T4="int32",
    ),
    declare(
        "MatMulBnb4",
        "A:T1 B:T2 absmax:T1",
        "Y:T1",
        _matmul_bnb4,
        "K:int! N:int! block_size:int! quant_type:int! training_mode:int transB:int",
        T1=_FLOATS,
        T2="uint8",
    ),
    declare(
        "GatherBlockQuantized",
        "data:T1 indices:I scales:T2 zero_points:T1?",
        "output:T2",
        _gather_block_quantized,
        "bits:int block_size:int gather_axis:int quantize_axis:int",
        T1="int4 uint4 uint8",
        T2=_FLOATS,
        I="int32 int64",
    ),
)
