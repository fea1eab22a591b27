"""Windows that slide over space and keep their largest element or their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from headrace.dtypes import FLOATS, NUMBERS, int64
from headrace.op_call import OpCall
from headrace.ops.channels import channel_axis, first_shape, own_shape
from headrace.ops.data_format import Imaged
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Output, SbpSignature, Tensor
from headrace.ops.shapes import addressable
from headrace.ops.window import pool_window, slide, spatial_shape
from headrace.ops.windowed import WINDOW_ATTRS, tap_tensors
from headrace.sbp import Split
from headrace.tensor_spec import Array, TensorSpec

_ATTRS = (Attr("kernel", "ints"), *WINDOW_ATTRS, Attr("ceil_mode", "bool", False))


class Pool(Imaged):
    """What both pools share: x ``[n, c, *spatial]`` gives y ``[n, c, *windows]``.

    ``kernel`` has one number for each spatial axis. With ``ceil_mode`` one more window may
    overhang the end padding, if it begins before it.
    """

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        kernel = call.ints_attr("kernel")
        if len(kernel) != len(spatial):
            fail(call, f"kernel {kernel} must have {len(spatial)} numbers for x {call.input(0)}")
        windows = slide(call, pool_window(call), spatial, ceil_mode=call.flag_attr("ceil_mode"))
        x = call.input(0)
        made = own_shape(call, (*first_shape(call, x.shape)[:2], *windows))
        y = addressable(call, x.with_shape(made))
        return (y, y.with_dtype(int64))[: call.output_count]

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        # The indices of max_pool count through the whole tensor: a slice cannot know them.
        if call.output_count > 1:
            return ()
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis in (0, channel_axis(call))
            if call.input(0).shape[axis] > 1
        )


class MaxPool(Pool):
    """The largest element of each window; padding never wins, NaN always does.

    ``indices``: where the first largest element is, as an index into all of x flattened, channels
    first whatever the format: a format moves numbers and changes none. Its spatial
    part counts the last axis fastest, or the first with ``storage_order="column"``.
    A window that stands on padding alone gives the lowest value of its dtype and index -1.
    """

    name = "max_pool"
    inputs = (Input("x", NUMBERS),)
    outputs = (Output("y"), Output("indices", optional=True))
    attrs = (*_ATTRS, Attr("storage_order", "str", "row", choices=("row", "column")))

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """The taps compared one after another."""
        f = Formula(call, builder)
        x, y, window = f.take(inputs[0]), call.outputs[0], pool_window(call)
        lowest = f.scalar(-math.inf if y.dtype.is_float else int(np.iinfo(y.dtype.numpy).min))
        best, *reads = tap_tensors(f, x, window, y.shape[2:], lowest)
        if call.output_count == 1:
            for read in reads:
                best = f.op("maximum", best, read)
            return f.give(best if reads else f.op("identity", best))
        # Indices of 64 bits, which few devices compare, are wanted only at the end.
        counted = np.int32 if call.input(0).elements <= np.iinfo(np.int32).max else np.int64
        none, zero = (builder.constant(np.array(n, counted)) for n in (-1, 0))
        inner = builder.constant(spatial_indices(call)[None, None].astype(counted))
        first, *places = tap_tensors(f, inner, window, y.shape[2:], none)
        index = f.op("expand", first, shape=y.shape)
        for read, place in zip(reads, places, strict=True):
            wins = f.op("logical_or", f.op("greater", read, best), f.op("less", index, zero))
            if y.dtype.is_float:
                known = f.op("logical_not", f.op("is_nan", best))
                wins = f.op("logical_or", wins, f.op("logical_and", f.op("is_nan", read), known))
            wins = f.op("logical_and", wins, f.op("greater_equal", place, zero))
            best, index = f.op("where", wins, read, best), f.op("where", wins, place, index)
        starts = np.arange(math.prod(y.shape[:2]), dtype=counted) * math.prod(x.spec.shape[2:])
        planes = builder.constant(starts.reshape(*y.shape[:2], *(1,) * len(y.shape[2:])))
        found = f.op("greater_equal", index, zero)
        index = f.op("where", found, f.op("add", index, planes), none)
        if counted is not np.int64:
            index = f.op("cast", index, dtype=int64)
        return (*f.give(best), index)


class AvgPool(Pool):
    """The mean of each window.

    The divisor counts the real elements under the window and, with ``count_include_pad``, the
    padding; never what ``ceil_mode`` makes overhang. A window in which nothing counts gives 0.
    16-bit floats are accumulated in float32.
    """

    name = "avg_pool"
    inputs = (Input("x", FLOATS),)
    attrs = (*_ATTRS, Attr("count_include_pad", "bool", False))

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """The sum of the taps over how many of them count."""
        f = Formula(call, builder)
        x, windows = f.take(inputs[0]), call.outputs[0].shape[2:]
        total = f.op("add_n", *tap_tensors(f, x, pool_window(call), windows, f.scalar(0)))
        divisors = np.maximum(tap_counts(call), 1).astype(total.spec.dtype.numpy)
        return f.give(f.op("divide", total, builder.constant(divisors)))


def tap_counts(call: OpCall) -> Array:
    """int64[*windows]: how many taps of an ``avg_pool`` count at each position."""
    window, include_pad = pool_window(call), call.flag_attr("count_include_pad")
    counts: Array = np.ones((), np.int64)
    shapes = zip(call.input(0).shape[2:], call.outputs[0].shape[2:], strict=True)
    for axis, (size, length) in enumerate(shapes):
        starts = np.arange(length) * window.strides[axis] - window.pads_begin[axis]
        reads = starts[:, None] + np.arange(window.kernel[axis]) * window.dilations[axis]
        low = -window.pads_begin[axis] if include_pad else 0
        high = size + (window.pads_end[axis] if include_pad else 0)
        counts = counts[..., None] * np.count_nonzero((reads >= low) & (reads < high), axis=1)
    return counts


def spatial_indices(call: OpCall) -> Array:
    """int64[*spatial]: the number of each element of a plane, as ``storage_order`` counts."""
    spatial = call.input(0).shape[2:]
    order: Literal["C", "F"] = "C" if call.str_attr("storage_order") == "row" else "F"
    return np.arange(math.prod(spatial), dtype=np.int64).reshape(spatial, order=order)


OPS: tuple[type[Op], ...] = (MaxPool, AvgPool)
