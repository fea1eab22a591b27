"""Images that are read at computed places, and columns put together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from headrace.dtypes import FLOATS
from headrace.op_call import OpCall
from headrace.ops.elementwise import split_along
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, SbpSignature, Tensor
from headrace.ops.shapes import addressable
from headrace.ops.window import slide, window_of
from headrace.tensor_spec import TensorSpec

TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
"""How many elements are read along an axis."""

CUBIC = -0.75
"""The parameter of the cubic interpolation."""


FAR = 2.0**30
"""Where places of a grid end: outside of any image, and its products with sizes are finite."""


class GridSample(Op):
    """``x`` at the places that ``grid`` names.

    ``x`` is ``[n, c, *spatial]``, ``y`` ``[n, c, *out]``. ``grid`` is ``[n, *out, axes]`` and holds
    a number for each spatial axis, the last axis first: -1 and 1 are the outer edges of the image,
    or with ``align_corners`` the centres of its outer elements. ``nearest`` takes the even one of
    two elements that are equally near. NaN counts as -1, and what is beyond ``FAR``, as infinity
    is, as ``FAR``.

    Attributes:
        mode: how many elements make one: see ``TAPS``.
        padding_mode: what elements outside are: 0, the nearest one, or that of the mirror image.
        align_corners: as above.
        normalized: or else the grid counts elements from the first, which is at 0.
    """

    name = "grid_sample"
    inputs = (Input("x", FLOATS), Input("grid", FLOATS))
    attrs = (
        Attr("mode", "str", "linear", tuple(TAPS)),
        Attr("padding_mode", "str", "zeros", ("zeros", "border", "reflection")),
        Attr("align_corners", "bool", False),
        Attr("normalized", "bool", True),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, grid = call.input(0), call.input(1)
        axes = x.rank - 2
        if axes < 1 or grid.rank != x.rank or (grid.shape[0], grid.shape[-1]) != (x.shape[0], axes):
            fail(call, f"the grid is [n, *out, axes] for an image [n, c, *axes] {x}; it is {grid}")
        out = grid.shape[1:-1]
        if 0 in x.shape[2:] and 0 not in (*x.shape[:2], *out):
            fail(call, f"{x} has no element that could be read")
        return (x.with_shape((*x.shape[:2], *out)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        y = call.outputs[0].shape
        ways = [((0, 0), 0), ((1, None), 1), *(((None, n - 1), n) for n in range(2, len(y)))]
        return split_along(*(way for way in ways if y[way[1]] > 1))

    @classmethod
    def products(cls, call: OpCall) -> int:
        taps: int = TAPS[call.str_attr("mode")] ** (call.input(0).rank - 2)
        return call.outputs[0].elements * taps

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        sampler = _Sampler(call, Formula(call, builder), inputs)
        axes = range(call.input(0).rank - 2)
        return sampler.sum_of([sampler.taps(axis) for axis in axes])


class Col2Im(Op):
    """Columns added up where windows of an image stand, which has 0 elsewhere.

    ``x`` is ``[n, c * taps, windows]``: for each channel and tap of the kernel, in row-major order,
    what the windows hold there. ``y`` is ``[n, c, *image]``.

    Attributes:
        kernel, image: sizes, a number for each spatial axis.
        strides, dilations, pads: where windows stand, as of a convolution.
    """

    name = "col2im"
    inputs = (Input("x", FLOATS),)
    attrs = (
        Attr("kernel", "ints"),
        Attr("image", "ints"),
        *(Attr(name, "ints", ()) for name in ("strides", "dilations", "pads")),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, kernel, image = call.input(0), call.ints_attr("kernel"), call.ints_attr("image")
        window, taps = window_of(call, kernel), math.prod(kernel)
        if not kernel or len(image) != len(kernel) or min(image) < 1:
            fail(call, f"an image {image} and a kernel {kernel} need as many axes, none empty")
        if x.rank != 3 or x.shape[1] % taps:
            fail(call, f"columns of {taps} taps are [n, channels * {taps}, windows]; got {x}")
        counts = slide(call, window, image)
        if x.shape[2] != math.prod(counts):
            fail(call, f"{x} has {x.shape[2]} columns; the image has {counts} windows")
        return (addressable(call, x.with_shape((x.shape[0], x.shape[1] // taps, *image))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_along(((0,), 0)) if call.input(0).shape[0] > 1 else ()

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """A transposed convolution with windows of one 1."""
        f = Formula(call, builder)
        x, kernel, image = f.take(inputs[0]), call.ints_attr("kernel"), call.ints_attr("image")
        if not x.spec.elements:
            return f.give(f.op("reshape", x, shape=call.outputs[0].shape))
        window, taps = window_of(call, kernel), math.prod(kernel)
        counts, channels = slide(call, window, image), x.spec.shape[1] // taps
        columns = f.op("reshape", x, shape=(*x.spec.shape[:2], *counts))
        one_each = np.eye(taps, dtype=x.spec.dtype.numpy).reshape(taps, 1, *kernel)
        weight = builder.constant(np.tile(one_each, (channels, *(1,) * (len(kernel) + 1))))
        left = tuple(
            size + begin + end - extent - (count - 1) * stride
            for size, begin, end, extent, count, stride in zip(
                image, window.pads_begin, window.pads_end, window.extents, counts, window.strides,
                strict=True,
            )
        )  # fmt: skip
        added = f.op(
            "conv_transpose", columns, weight, strides=window.strides, dilations=window.dilations,
            pads=(*window.pads_begin, *window.pads_end), output_padding=left, groups=channels,
        )  # fmt: skip
        return f.give(added)


_Tap = tuple[Tensor, Tensor | None]
"""The index of an element that is read along an axis, and what it weighs."""


class _Sampler:
    """Reads x at places ``[n, *out, 1]``, one tensor for each spatial axis."""

    def __init__(self, call: OpCall, f: Formula, inputs: Sequence[Tensor | None]) -> None:
        self._f = f
        self._x, self._grid = f.take(inputs[0]), f.take(inputs[1])
        self._sizes = call.input(0).shape[2:]
        self._count = TAPS[call.str_attr("mode")]
        self._padding = call.str_attr("padding_mode")
        self._aligned = call.flag_attr("align_corners")
        self._normalized = call.flag_attr("normalized")

    def taps(self, axis: int) -> list[_Tap]:
        """For each element that is read along an axis: its index, and what it weighs."""
        f, size, count, place = self._f, self._sizes[axis], self._count, self._place(axis)
        if count < 4 and self._padding != "zeros":
            place = self._padded(place, size)
        if count == 1:
            return [self._held(f.op("round", place), size, None)]
        floor = f.op("floor", place)
        rest = f.op("subtract", place, floor)
        weights = self._linear(rest) if count == 2 else self._cubic(rest)
        first = 0 if count == 2 else -1
        made = []
        for offset, weight in enumerate(weights, first):
            index = self._with("add", floor, offset) if offset else floor
            if count == 4 and self._padding != "zeros":
                index = self._padded(index, size)
            made.append(self._held(index, size, weight))
        return made

    def sum_of(self, weighed: Sequence[list[_Tap]]) -> tuple[Tensor, ...]:
        """The sum over all choices of one element along each axis."""
        f, terms = self._f, []
        rank = self._x.spec.rank
        image = f.op("transpose", self._x, perm=(0, *range(2, rank), 1))
        for choice in itertools.product(*weighed):
            at = [index for index, _ in choice]
            joined = at[0] if len(at) == 1 else f.op("concat", *at, axis=at[0].spec.rank - 1)
            term = f.op("gather_nd", image, f.op("cast", joined, dtype="int64"), batch_dims=1)
            for weight in (weight for _, weight in choice if weight is not None):
                term = f.op("multiply", term, weight)
            terms.append(term)
        total = terms[0] if len(terms) == 1 else f.op("add_n", *terms)
        return f.give(f.op("transpose", total, perm=(0, rank - 1, *range(1, rank - 1))))

    def _with(self, op: str, x: Tensor, number: float) -> Tensor:
        return self._f.op(op, x, self._f.scalar(number))

    def _place(self, axis: int) -> Tensor:
        """Where to read along an axis, in elements."""
        size, column = self._sizes[axis], len(self._sizes) - 1 - axis
        last = self._grid.spec.rank - 1
        unit = self._f.op("slice", self._grid, starts=(column,), ends=(column + 1,), axes=(last,))
        unit = self._f.op("where", self._f.op("is_nan", unit), self._f.scalar(-1), unit)
        unit = self._with("minimum", self._with("maximum", unit, -FAR), FAR)
        if not self._normalized:
            return unit
        unit = self._with("add", unit, 1)
        if self._aligned:
            return self._with("multiply", unit, (size - 1) / 2)
        return self._with("subtract", self._with("multiply", unit, size / 2), 0.5)

    def _held(self, index: Tensor, size: int, weight: Tensor | None) -> _Tap:
        """An index inside of the image; one that was not weighs nothing."""
        f = self._f
        inside = self._clipped(index, size)
        if self._padding != "zeros":
            return inside, weight
        counts = f.op("cast", f.op("equal", inside, index), dtype=index.spec.dtype)
        return inside, counts if weight is None else f.op("multiply", weight, counts)

    def _clipped(self, place: Tensor, size: int) -> Tensor:
        return self._with("minimum", self._with("maximum", place, 0), size - 1)

    def _padded(self, place: Tensor, size: int) -> Tensor:
        """A place in the image for any place: the nearest, or that of the mirror image."""
        if self._padding == "reflection":
            low, span = (0.0, size - 1.0) if self._aligned else (-0.5, float(size))
            place = self._reflected(place, low, span)
        return self._clipped(place, size)

    def _reflected(self, place: Tensor, low: float, span: float) -> Tensor:
        f = self._f
        if span == 0:
            return self._with("multiply", place, 0)
        away = f.op("abs", self._with("subtract", place, low))
        turns = f.op("floor", self._with("divide", away, 2 * span))
        along = f.op("subtract", away, self._with("multiply", turns, 2 * span))
        back = f.op("negative", self._with("subtract", along, 2 * span))
        return self._with("add", f.op("minimum", along, back), low)

    def _linear(self, rest: Tensor) -> list[Tensor]:
        return [self._f.op("negative", self._with("subtract", rest, 1)), rest]

    def _cubic(self, rest: Tensor) -> list[Tensor]:
        """Of the elements at -1, 0, 1, 2 from the floor: the kernel of Keys at their distance."""
        other = self._linear(rest)[0]
        return [
            self._outer(self._with("add", rest, 1)),
            self._inner(rest),
            self._inner(other),
            self._outer(self._with("add", other, 1)),
        ]

    def _inner(self, t: Tensor) -> Tensor:
        """((a + 2) t - (a + 3)) t^2 + 1, at distances up to 1."""
        slope = self._with("subtract", self._with("multiply", t, CUBIC + 2), CUBIC + 3)
        return self._with("add", self._f.op("multiply", slope, self._f.op("multiply", t, t)), 1)

    def _outer(self, t: Tensor) -> Tensor:
        """((a t - 5 a) t + 8 a) t - 4 a, at distances from 1 to 2."""
        sum_ = self._with("subtract", self._with("multiply", t, CUBIC), 5 * CUBIC)
        sum_ = self._with("add", self._f.op("multiply", sum_, t), 8 * CUBIC)
        return self._with("subtract", self._f.op("multiply", sum_, t), 4 * CUBIC)


OPS: tuple[type[Op], ...] = (GridSample, Col2Im)
