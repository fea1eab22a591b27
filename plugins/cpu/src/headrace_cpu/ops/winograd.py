"""cpu.winograd_conv and cpu.winograd_pack: convolutions of 3x3 taps with fewer multiplications.

Winograd's algorithm F(m x m, 3 x 3) computes tiles of m x m outputs from (m + 2) x (m + 2) inputs.
Both are transformed by small matrices, and so are the weights, once, when they are packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.ops.epilogue import FLOAT32, Product, check_epilogue
from headrace_cpu.ops.places import PANEL, panel_count

TILES = (2, 4)
"""What m may be."""

TILE = Attr("tile", "int")
"""The m of the algorithm."""


class WinogradPack(Op):
    """Kernels, transformed and in panels of sixteen columns.

    weight: float32[m, 3, 3, c]; y: float32[(tile + 2)^2, panels, c, 16], filled up with zeros.
    Computed in float64, and rounded once.
    """

    name = "cpu.winograd_pack"
    folds_late = True
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
    """Compute ``cpu.winograd_pack``, natively as ``cpu.pack``."""
    native.winograd_pack(given(inputs, 0), outputs[0], call.int_attr("tile"))()


def winograd_conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.winograd_conv`` in float64, all tiles at once."""
    from headrace_cpu.ops.winograd_numpy import convolve  # seldom needed

    convolve(call, inputs, outputs[0])


def _places(call: OpCall) -> int:
    tile = call.int_attr("tile")
    if tile not in TILES:
        fail(call, f"tile={tile} must be one of {TILES}")
    return (tile + 2) ** 2
