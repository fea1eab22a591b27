"""cpu.conv: a convolution over images whose channels are last, and what follows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr
from headrace.ops.failure import fail
from headrace.ops.window import Window, slide
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import WEIGHTS, Product, check_epilogue, finish, product_inputs
from headrace_cpu.ops.pack import unpack
from headrace_cpu.ops.places import PANEL, packed_window, panel_count


class PackedConv(Product):
    """Convolution with packed weights.

    x: float32[n, *spatial, c]; panels: the weight ``[m, *kernel, c / groups]``, packed transposed;
    y: float32[n, *windows, m], where m is ``columns``.
    """

    name = "cpu.conv"
    inputs = product_inputs(WEIGHTS)
    attrs: ClassVar[tuple[Attr, ...]] = (
        *Product.attrs,
        Attr("kernel", "ints"),
        Attr("strides", "ints", ()),
        Attr("dilations", "ints", ()),
        Attr("pads", "ints", ()),
        Attr("groups", "int", 1),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, groups, columns = call.input(0), call.int_attr("groups"), call.int_attr("columns")
        window = packed_window(call)
        if x.rank != len(window.kernel) + 2 or not 3 <= x.rank <= 5:
            fail(call, f"x is {x}; it must be [n, *spatial, c] for kernel {window.kernel}")
        if groups < 1 or x.shape[-1] % groups or columns % groups:
            fail(call, f"groups={groups} must divide {columns} columns and the channels of x {x}")
        depth = math.prod(window.kernel) * x.shape[-1] // groups
        panels = (groups * panel_count(columns // groups), depth, PANEL)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        made = (x.shape[0], *slide(call, window, x.shape[1:-1]), columns)
        check_epilogue(call, made)
        return (x.with_shape(made),)


def conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.conv``."""
    x, groups, y = given(inputs, 0), call.int_attr("groups"), outputs[0]
    panels = given(inputs, 1).astype(np.float32)
    weights = unpack(panels, call.int_attr("columns"), groups)
    finish(call, conv_sums(packed_window(call), x, weights, y.shape), inputs[2], inputs[3], y)


def conv_sums(window: Window, x: Array, weights: Array, shape: tuple[int, ...]) -> Array:
    """A product for each tap: the sums, of ``shape``, in the dtype of x.

    x: T[n, *spatial, c], weights: T[groups, taps * c / groups, m / groups].
    """
    pads = zip(window.pads_begin, window.pads_end, strict=True)
    padded = np.pad(x, ((0, 0), *pads, (0, 0)))
    groups, positions = weights.shape[0], shape[1:-1]
    per_group = x.shape[-1] // groups
    sums = np.zeros((*shape[:-1], groups, shape[-1] // groups), x.dtype)
    for index, tap in enumerate(itertools.product(*map(range, window.kernel))):
        places = tuple(
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(
                tap, window.dilations, positions, window.strides, strict=True
            )
        )
        read = padded[(slice(None), *places)].reshape(*shape[:-1], groups, per_group)
        weight = weights[:, index * per_group : (index + 1) * per_group]
        sums += np.matmul(read[..., None, :], weight)[..., 0, :]
    return sums.reshape(shape)
