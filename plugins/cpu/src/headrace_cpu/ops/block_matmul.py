"""cpu.block_matmul: a product with a matrix of few bits, and what follows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headrace.dtypes import uint8, uint32
from headrace.errors import OpError
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import (
    FLOAT32,
    WEIGHTS,
    Product,
    check_epilogue,
    finish,
    product_inputs,
)
from headrace_cpu.ops.pack import unpack
from headrace_cpu.ops.places import PANEL, SCALES, ZEROS, panel_count

BITS = (2, 4, 8)

_BYTES = frozenset({uint8})

MOST_ROUNDED = 1 << 15
"""Numbers of a block whose sum of products of bytes is one of 32 bits."""


class BlockMatmul(Product):
    """``x[..., depth]`` times ``(bits - zero) * scale`` of each number of ``[depth, columns]``.

    Several numbers of a column share a word, the first in its lowest bits; every ``block_size`` of
    them have a scale and a zero point, and begin a word. Panels, scales and zeros are such
    matrices as ``cpu.pack`` makes them, of [words, columns] and [blocks, columns]; without zeros
    they are half of what the bits can say. With ``rounded``, x is rounded to whole numbers from
    -127 to 127 times the largest of each block by 127: sums of blocks are then exact.
    y: T[..., columns] of x: T, which a pass makes float32.
    """

    name = "cpu.block_matmul"
    inputs = (
        Input("x", WEIGHTS),
        *product_inputs(frozenset({uint32}))[1:],
        Input("scales", FLOAT32, group=""),
        Input("zeros", _BYTES, group="", optional=True),
    )
    attrs: ClassVar[tuple[Attr, ...]] = (
        *Product.attrs,
        Attr("bits", "int"),
        Attr("block_size", "int"),
        Attr("rounded", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, columns = call.input(0), call.int_attr("columns")
        bits, size = call.int_attr("bits"), call.int_attr("block_size")
        if bits not in BITS or size < 1 or size * bits % 32:
            fail(call, f"bits={bits} must be one of {BITS}, block_size={size} of words", OpError)
        if call.flag_attr("rounded") and size > MOST_ROUNDED:
            fail(call, f"block_size={size} must be {MOST_ROUNDED} at most for rounded x", OpError)
        if x.rank < 1:
            fail(call, f"x is {x}; it must have an axis")
        blocks = -(-x.shape[-1] // size)
        for index, depth in ((1, blocks * size * bits // 32), (SCALES, blocks), (ZEROS, blocks)):
            panels = (panel_count(columns), depth, PANEL)
            if call.has_input(index) and call.input(index).shape != panels:
                name = cls.inputs[index].name
                fail(call, f"{name} are {call.input(index)}; they must be {list(panels)}")
        made = (*x.shape[:-1], columns)
        check_epilogue(call, made)
        return (x.with_shape(made),)


def block_matmul(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.block_matmul``."""
    x, columns, bits = given(inputs, 0), call.int_attr("columns"), call.int_attr("bits")
    packed, scales = (unpack(given(inputs, index), columns)[0] for index in (1, SCALES))
    shifts = np.arange(0, 32, bits, dtype=np.uint32).reshape(1, -1, 1)
    numbers = (packed[:, None] >> shifts & (1 << bits) - 1).reshape(-1, columns)
    zeros = np.full(scales.shape, 1 << bits - 1, np.uint8)
    if inputs[ZEROS] is not None:
        zeros = unpack(given(inputs, ZEROS), columns)[0]
    block = np.arange(x.shape[-1]) // call.int_attr("block_size")
    if call.flag_attr("rounded"):
        x = _rounded(x, call.int_attr("block_size"))
    whole = numbers[: x.shape[-1]].astype(np.float32) - zeros[block]
    finish(call, np.matmul(x, whole * scales[block]), inputs[2], inputs[3], outputs[0])


def _rounded(x: Array, size: int) -> Array:
    """Numbers as multiples of the largest of their block by 127."""
    depth = x.shape[-1]
    blocks = np.zeros((*x.shape[:-1], -(-depth // size) * size), np.float32)
    blocks[..., :depth] = x
    blocks = blocks.reshape(*x.shape[:-1], -1, size)
    largest = np.abs(blocks).max(-1, keepdims=True)
    factor = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    whole: Array = np.rint(blocks * factor) * (largest / np.float32(127))
    return whole.reshape(*x.shape[:-1], -1)[..., :depth]
