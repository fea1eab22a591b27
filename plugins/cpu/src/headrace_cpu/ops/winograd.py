"""cpu.winograd_conv and cpu.winograd_pack: convolutions of 3x3 taps with fewer multiplications.

Winograd's algorithm F(m x m, 3 x 3) computes tiles of m x m outputs from (m + 2) x (m + 2) inputs.
Both are transformed by small matrices, and so are the weights, once, when they are packed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.schema import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import FLOAT32, Product, check_epilogue, finish
from headrace_cpu.ops.pack import PANEL, panel_count


@dataclass(frozen=True, slots=True, eq=False)
class Transforms:
    """The matrices of one algorithm, float64.

    Attributes:
        weight: G[m + 2, 3]; a kernel k becomes ``G k G'``.
        read: B'[m + 2, m + 2]; what a tile reads, d, becomes ``B' d B``.
        write: A'[m, m + 2]; the products p become ``A' p A``.
    """

    weight: Array
    read: Array
    write: Array


TRANSFORMS: Mapping[int, Transforms] = {
    2: Transforms(
        np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]),
        np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float64),
        np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float64),
    ),
    4: Transforms(
        np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]])
        / np.array([[24], [24], [24], [24], [24], [24]]),
        np.array(
            [
                [4, 0, -5, 0, 1, 0],
                [0, -4, -4, 1, 1, 0],
                [0, 4, -4, -1, 1, 0],
                [0, -2, -1, 2, 1, 0],
                [0, 2, -1, -2, 1, 0],
                [0, 4, 0, -5, 0, 1],
            ],
            np.float64,
        ),
        np.array(
            [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
            np.float64,
        ),
    ),
}
"""By m; for 4 at the points 0, 1, -1, 2, -2. As ``csrc/kernels/winograd_isa.cpp`` has them."""

TILE = Attr("tile", "int")
"""The m of the algorithm."""


class WinogradPack(Op):
    """Kernels, transformed and in panels of sixteen columns.

    weight: float32[m, 3, 3, c]; y: float32[(tile + 2)^2, panels, c, 16], filled up with zeros.
    Computed in float64, and rounded once.
    """

    name = "cpu.winograd_pack"
    inputs = (Input("weight", FLOAT32),)
    attrs = (TILE,)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        weight = call.input(0)
        if weight.rank != 4 or weight.shape[1:3] != (3, 3):
            fail(call, f"weight is {weight}; it must be [m, 3, 3, c]")
        outputs, channels = weight.shape[0], weight.shape[3]
        return (weight.with_shape((_places(call), panel_count(outputs), channels, PANEL)),)


class WinogradConv(Product):
    """Convolution of 3x3 taps, stride 1, with transformed weights.

    x: float32[n, height, width, c]; panels: as ``cpu.winograd_pack`` makes them;
    y: float32[n, *windows, m], where m is ``columns``. ``tile`` is the side of the tiles of y.
    """

    name = "cpu.winograd_conv"
    attrs: ClassVar[tuple[Attr, ...]] = (*Product.attrs, TILE, Attr("pads", "ints", (0, 0, 0, 0)))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, columns, pads = call.input(0), call.int_attr("columns"), call.ints_attr("pads")
        if x.rank != 4 or len(pads) != 4 or any(pad < 0 for pad in pads):
            fail(call, f"x is {x} and pads are {pads}; it must be [n, height, width, c], with four")
        panels = (_places(call), panel_count(columns), x.shape[3], PANEL)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        height, width = (x.shape[1 + i] + pads[i] + pads[2 + i] - 2 for i in range(2))
        if height < 1 or width < 1:
            fail(call, f"x is {x}; with pads {pads} 3x3 taps do not fit in it")
        made = (x.shape[0], height, width, columns)
        check_epilogue(call, made)
        return (x.with_shape(made),)


def winograd_pack(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.winograd_pack``."""
    weight, y = given(inputs, 0), outputs[0]
    wide = np.zeros((y.shape[0], y.shape[2], y.shape[1] * PANEL), np.float32)
    wide[..., : weight.shape[0]] = transformed(weight, call.int_attr("tile"))
    y[...] = wide.reshape(*wide.shape[:2], y.shape[1], PANEL).transpose(0, 2, 1, 3)


def transformed(weight: Array, tile: int) -> Array:
    """Kernels [m, 3, 3, c] as float64[(tile + 2)^2, c, m]."""
    matrix = TRANSFORMS[tile].weight
    outputs, channels = weight.shape[0], weight.shape[3]
    kernels = weight.reshape(outputs, 9, channels).transpose(1, 2, 0).reshape(9, -1)
    spread = np.kron(matrix, matrix) @ kernels.astype(np.float64)
    return spread.reshape(-1, channels, outputs)


def winograd_conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.winograd_conv`` in float64, all tiles at once."""
    x, panels, y, m = given(inputs, 0), given(inputs, 1), outputs[0], call.int_attr("tile")
    matrices, side, pads = TRANSFORMS[m], m + 2, call.ints_attr("pads")
    rows, columns = (-(-size // m) for size in y.shape[1:3])
    around = [
        (pads[axis], count * m + 2 - pads[axis] - x.shape[1 + axis])
        for axis, count in enumerate((rows, columns))
    ]
    padded = np.pad(x.astype(np.float64), ((0, 0), *((a, max(b, 0)) for a, b in around), (0, 0)))
    reads = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (1, 2))
    reads = reads[:, : rows * m : m, : columns * m : m]
    spread = np.einsum("ik,nyxckl,jl->ijnyxc", matrices.read, reads, matrices.read, optimize=True)
    weights = panels.transpose(0, 2, 1, 3).reshape(side, side, panels.shape[2], -1)
    sums = np.einsum("ijnyxc,ijcm->ijnyxm", spread, weights[..., : y.shape[3]], optimize=True)
    tiles = np.einsum("ki,ijnyxm,lj->nykxlm", matrices.write, sums, matrices.write, optimize=True)
    whole = tiles.reshape(y.shape[0], rows * m, columns * m, y.shape[3])
    result = whole[:, : y.shape[1], : y.shape[2]].astype(np.float32)
    finish(call, result, inputs[2], inputs[3], y)


def _places(call: OpCall) -> int:
    tile = call.int_attr("tile")
    if tile not in TRANSFORMS:
        fail(call, f"tile={tile} must be one of {sorted(TRANSFORMS)}")
    return (tile + 2) ** 2
