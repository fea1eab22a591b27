"""ONNX nodes for: images read at computed places, and put together from columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.onnx.converters.window import numbers
from headrace.onnx.formula import with_number
from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor

_CUBIC = -0.75
"""The parameter of ONNX's cubic interpolation."""


def _grid_sample(node: Node) -> Tensor:
    x, grid = node.input(0), node.input(1)
    rank = x.spec.rank - 2
    if rank < 1 or grid.spec.rank != rank + 2 or grid.spec.shape[-1] != rank:
        node.invalid(f"the grid is [n, *out, {rank}] for {x.spec}; it is {grid.spec}")
    mode, padding = node.attr("mode", "linear"), node.attr("padding_mode", "zeros")
    taps = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}.get(mode)
    if taps is None or padding not in ("zeros", "border", "reflection"):
        node.invalid(f"mode {mode!r} or padding_mode {padding!r} is not known")
    sampler = Sampler(node, x, padding, bool(node.attr("align_corners", 0)))
    # The grid names the last axis first.
    places = [sampler.place(grid, rank - 1 - axis, axis) for axis in range(rank)]
    weighed = [sampler.taps(place, axis, taps) for axis, place in enumerate(places)]
    return sampler.sum_of(weighed)


class Sampler:
    """Reads x [n, c, *spatial] at places [n, *out, 1], one tensor for each spatial axis."""

    def __init__(self, node: Node, x: Tensor, padding: str, align_corners: bool) -> None:
        self._node = node
        self._sizes = x.spec.shape[2:]
        self._padding = padding
        self._aligned = align_corners
        last = (0, *range(2, x.spec.rank), 1)
        self._image = node.one("transpose", [x], perm=last)
        self._like = x

    def place(self, grid: Tensor, column: int, axis: int) -> Tensor:
        """Where to read along an axis, in elements, from a grid of -1 to 1."""
        node, size = self._node, self._sizes[axis]
        last = grid.spec.rank - 1
        unit = node.one("slice", [grid], starts=(column,), ends=(column + 1,), axes=(last,))
        unit = with_number(self._node, "add", unit, 1)
        if self._aligned:
            return with_number(self._node, "multiply", unit, (size - 1) / 2)
        return with_number(
            self._node, "subtract", with_number(self._node, "multiply", unit, size / 2), 0.5
        )

    def taps(self, place: Tensor, axis: int, count: int) -> list[tuple[Tensor, Tensor | None]]:
        """For each element that is read along an axis: its index, and what it weighs."""
        node, size = self._node, self._sizes[axis]
        if count < 4 and self._padding != "zeros":
            place = self._padded(place, size)
        if count == 1:
            return [self._held(node.one("round", [place]), size, None)]
        floor = node.one("floor", [place])
        rest = node.one("subtract", [place, floor])
        weights = self._linear(rest) if count == 2 else self._cubic(rest)
        first = 0 if count == 2 else -1
        made = []
        for offset, weight in enumerate(weights, first):
            index = with_number(self._node, "add", floor, offset) if offset else floor
            if count == 4 and self._padding != "zeros":
                index = self._padded(index, size)
            made.append(self._held(index, size, weight))
        return made

    def sum_of(self, weighed: Sequence[list[tuple[Tensor, Tensor | None]]]) -> Tensor:
        """The sum over all choices of one element along each axis."""
        node, terms = self._node, []
        for choice in itertools.product(*weighed):
            at = [index for index, _ in choice]
            joined = at[0] if len(at) == 1 else node.one("concat", at, axis=at[0].spec.rank - 1)
            where = node.one("cast", [joined], dtype="int64")
            term = node.one("gather_nd", [self._image, where], batch_dims=1)
            factors = [weight for _, weight in choice if weight is not None]
            for factor in factors:
                term = node.one("multiply", [term, factor])
            terms.append(term)
        total = terms[0] if len(terms) == 1 else node.one("add_n", terms)
        rank = total.spec.rank
        return node.one("transpose", [total], perm=(0, rank - 1, *range(1, rank - 1)))

    def _held(
        self, index: Tensor, size: int, weight: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """An index inside of the image; one that was not weighs nothing."""
        inside = with_number(
            self._node, "minimum", with_number(self._node, "maximum", index, 0), size - 1
        )
        if self._padding != "zeros":
            return inside, weight
        is_inside = self._node.one("equal", [inside, index])
        counts = self._node.one("cast", [is_inside], dtype=self._like.spec.dtype)
        return inside, counts if weight is None else self._node.one("multiply", [weight, counts])

    def _padded(self, place: Tensor, size: int) -> Tensor:
        """A place in the image for any place: the nearest, or that of the mirror image."""
        if self._padding == "reflection":
            low, span = (0.0, size - 1.0) if self._aligned else (-0.5, float(size))
            place = self._reflected(place, low, span)
        return with_number(
            self._node, "minimum", with_number(self._node, "maximum", place, 0), size - 1
        )

    def _reflected(self, place: Tensor, low: float, span: float) -> Tensor:
        if span == 0:
            return with_number(self._node, "multiply", place, 0)
        node = self._node
        away = node.one("abs", [with_number(self._node, "subtract", place, low)])
        turns = node.one("floor", [with_number(self._node, "divide", away, 2 * span)])
        along = node.one("subtract", [away, with_number(self._node, "multiply", turns, 2 * span)])
        back = node.one("negative", [with_number(self._node, "subtract", along, 2 * span)])
        return with_number(self._node, "add", node.one("minimum", [along, back]), low)

    def _linear(self, rest: Tensor) -> list[Tensor]:
        return [self._node.one("negative", [with_number(self._node, "subtract", rest, 1)]), rest]

    def _cubic(self, rest: Tensor) -> list[Tensor]:
        """Of the elements at -1, 0, 1, 2 from the floor: the kernel of Keys at their distance."""
        other = self._linear(rest)[0]
        return [
            self._outer(with_number(self._node, "add", rest, 1)),
            self._inner(rest),
            self._inner(other),
            self._outer(with_number(self._node, "add", other, 1)),
        ]

    def _inner(self, t: Tensor) -> Tensor:
        """((a + 2) t - (a + 3)) t^2 + 1, at distances up to 1."""
        slope = with_number(
            self._node, "subtract", with_number(self._node, "multiply", t, _CUBIC + 2), _CUBIC + 3
        )
        square = self._node.one("multiply", [t, t])
        return with_number(self._node, "add", self._node.one("multiply", [slope, square]), 1)

    def _outer(self, t: Tensor) -> Tensor:
        """((a t - 5 a) t + 8 a) t - 4 a, at distances from 1 to 2."""
        sum_ = with_number(
            self._node, "subtract", with_number(self._node, "multiply", t, _CUBIC), 5 * _CUBIC
        )
        sum_ = with_number(self._node, "add", self._node.one("multiply", [sum_, t]), 8 * _CUBIC)
        return with_number(
            self._node, "subtract", self._node.one("multiply", [sum_, t]), 4 * _CUBIC
        )


def _col2im(node: Node) -> Tensor:
    """Columns added up where they came from: a transposed convolution with windows of one 1."""
    x, image, block = node.input(0), node.ints(1) or (), node.ints(2) or ()
    rank, taps = len(block), math.prod(block)
    strides, dilations = (numbers(node, name, rank, 1, 1) for name in ("strides", "dilations"))
    pads = numbers(node, "pads", 2 * rank, 0, 0)
    windows = tuple(
        (size + pads[axis] + pads[rank + axis] - dilations[axis] * (block[axis] - 1) - 1)
        // strides[axis]
        + 1
        for axis, size in enumerate(image)
    )
    if len(image) != rank or x.spec.rank != 3 or not taps or x.spec.shape[1] % taps:
        node.invalid(f"blocks {block} of images {image} do not fit columns {x.spec}")
    if x.spec.shape[2] != math.prod(windows):
        node.invalid(f"{x.spec} has {x.spec.shape[2]} columns; the image has {windows} windows")
    channels = x.spec.shape[1] // taps
    columns = node.one("reshape", [x], shape=(*x.spec.shape[:2], *windows))
    one_each = np.eye(taps, dtype=x.spec.dtype.numpy).reshape(taps, 1, *block)
    weight = node.constant(np.tile(one_each, (channels, *(1,) * (rank + 1))))
    left = tuple(
        size
        + pads[axis]
        + pads[rank + axis]
        - dilations[axis] * (block[axis] - 1)
        - 1
        - (windows[axis] - 1) * strides[axis]
        for axis, size in enumerate(image)
    )
    return node.one(
        "conv_transpose",
        [columns, weight, None],
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=left,
        groups=channels,
    )


CONVERTERS: Mapping[str, Converter] = {"GridSample": _grid_sample, "Col2Im": _col2im}
