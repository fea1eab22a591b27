"""ONNX nodes for: parts of tensors and tensors from parts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.dtypes import int64
from headrace.onnx.importing.axes import normal_axes, normal_axis
from headrace.onnx.importing.formula import cast, with_number
from headrace.onnx.importing.node import Converter, Node, ValueNeeded
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _slice(node: Node) -> Tensor:
    x = node.input(0)
    if node.opset < 10:
        starts, ends, axes = node.attr("starts"), node.attr("ends"), node.attr("axes", [])
        return node.one("slice", [x], starts=starts, ends=ends, axes=axes)
    try:
        first, last = node.ints(1), node.ints(2)
    except ValueNeeded:
        moving = _moving_slice(node, x)
        if moving is None:
            raise
        return moving
    if first is None or last is None:
        node.invalid("starts and ends are required and one is absent")
    axes = normal_axes(node, node.ints(3) or range(len(first)), x.spec.rank)
    steps = node.ints(4) or (1,) * len(first)
    if not len(first) == len(last) == len(axes) == len(steps):
        node.invalid(f"starts {first}, ends {last}, axes {axes}, steps {steps} differ in length")
    starts, ends = list(first), list(last)
    for place, step in enumerate(steps):
        if step < 0:
            dim = x.spec.shape[axes[place]]
            starts[place], ends[place] = _backwards(dim, starts[place], ends[place])
    return node.one("slice", [x], starts=starts, ends=ends, axes=axes, steps=steps)


def _moving_slice(node: Node, x: Tensor) -> Tensor | None:
    """A part that is as long in every turn, wherever it begins; None where that is not guessed."""
    first, last = node.likely(1), node.likely(2)
    if first is None or last is None or first.size != 1 or last.size != 1:
        return None
    (axis,) = normal_axes(node, node.ints(3) or (0,), x.spec.rank)
    dim, (step,) = x.spec.shape[axis], node.ints(4) or (1,)
    if step < 1:
        return None

    def length(start: Array, end: Array) -> int:
        return len(range(*slice(int(start.item()), int(end.item()), step).indices(dim)))

    size = length(first, last)
    node.assume((1, 2), lambda start, end: length(start, end) == size)
    start = node.one("reshape", [cast(node, node.input(1), int64)], shape=(1,))
    negative = with_number(node, "less", start, 0)
    start = node.one("where", [negative, with_number(node, "add", start, dim), start])
    start = with_number(node, "maximum", start, 0)
    places = node.one("add", [start, node.constant(np.arange(size) * step)])
    # Where the part is shorter than guessed, what is read does not count; it must be there.
    places = with_number(node, "minimum", places, max(dim - 1, 0))
    return node.one("gather", [x, places], axis=axis)


def _backwards(dim: int, start: int, end: int) -> tuple[int, int]:
    """Bounds of ONNX for a negative step as those of numpy, which ``slice`` has."""
    # A start before the first element means the first element; numpy takes nothing.
    start = max(start, -dim)
    # "To the end". Such an end should be INT_MIN, but other runtimes take INT_MAX so, models have
    # it, and read literally it would cut nothing at all.
    if end in (2**31 - 1, 2**63 - 1):
        end = -dim - 1
    return start, end


def _split(node: Node) -> tuple[Tensor, ...]:
    x = node.input(0)
    axis = normal_axis(node, node.attr("axis", 0), x.spec.rank)
    total = x.spec.shape[axis]
    by_input = node.opset >= 13 or len(node.inputs) > 1
    sizes = node.ints(1) if by_input else node.attr("split", None)
    if sizes is None:
        sizes = _equal_sizes(node, total)
    elif len(sizes) != node.declared_count:
        node.invalid(f"has {node.declared_count} outputs and sizes {tuple(sizes)}")
    elif sum(sizes) != total or min(sizes) < 0:
        node.invalid(f"sizes {tuple(sizes)} do not add up to axis {axis} of {x.spec}")
    parts, start = [], 0
    for size in sizes[: node.output_count]:
        part = node.one("slice", [x], starts=(start,), ends=(start + size,), axes=(axis,))
        parts.append(part)
        start += size
    return tuple(parts)


def _equal_sizes(node: Node, total: int) -> tuple[int, ...]:
    """Lengths of the parts that are wanted, for parts as equal as the opset says."""
    count: int = node.attr("num_outputs", node.declared_count)
    if count != node.declared_count:
        node.invalid(f"has {node.declared_count} outputs and num_outputs is {count}")
    size = -(-total // count)
    last = total - size * (count - 1)
    # From opset 18 on the last part may be shorter; before, parts must be equal.
    if last < 0 or (last != size and node.opset < 18):
        node.invalid(f"{total} elements do not split into {count} equal parts")
    return tuple(size if part < count - 1 else last for part in range(node.output_count))


def _concat(node: Node) -> Tensor:
    if not node.inputs:
        node.invalid("has no input")
    parts = [node.input(index) for index in range(len(node.inputs))]
    axis = node.attr("axis") if node.opset >= 4 else node.attr("axis", 1)
    return node.one("concat", parts, axis=axis)


def _pad(node: Node) -> Tensor:
    x, value = node.input(0), node.optional(2)
    rank = x.spec.rank
    if node.opset < 11:
        pads = tuple(node.attr("pads" if node.opset >= 2 else "paddings"))
        value = node.constant(np.array(node.attr("value", 0.0)).astype(x.spec.dtype.numpy))
    else:
        pads = node.ints(1) or ()
    named = node.ints(3) if node.opset >= 18 else None
    axes = range(rank) if named is None else normal_axes(node, named, rank)
    if len(pads) != 2 * len(axes):
        node.invalid(f"pads {pads} must hold two amounts for each of {len(axes)} axes")
    if named is not None:
        amounts = [0] * (2 * rank)
        for number, axis in enumerate(axes):
            amounts[axis], amounts[axis + rank] = pads[number], pads[number + len(axes)]
        pads = tuple(amounts)
    mode = node.attr("mode", "constant")
    known = ("constant", "reflect", "edge") + (("wrap",) if node.opset >= 19 else ())
    if mode not in known:
        node.invalid(f"mode {mode!r} is none of {', '.join(known)}")
    return node.one("pad", [x, value if mode == "constant" else None], pads=pads, mode=mode)


def _tile(node: Node) -> Tensor:
    if node.opset < 6:  # one axis, in inputs of one element each
        x, times, axes = node.input(0), node.ints(1), node.ints(2)
        if times is None or axes is None or len(times) != 1 or len(axes) != 1:
            node.invalid(f"tiles and axis must be one number each; they are {times} and {axes}")
        axis = normal_axis(node, axes[0], x.spec.rank)
        repeats = tuple(times[0] if number == axis else 1 for number in range(x.spec.rank))
        return node.one("tile", [x], repeats=repeats)
    return node.one("tile", [node.input(0)], repeats=node.ints(1) or ())


def _trilu(node: Node) -> Tensor:
    x, given, upper = node.input(0), node.ints(1) or (0,), node.attr("upper", 1)
    if x.spec.rank < 2 or len(given) != 1:
        node.invalid(f"takes a matrix or more and one k; they are {x.spec} and {given}")
    rows, columns = x.spec.shape[-2:]
    # No diagonal is further away, and a sum with an extreme k would wrap around.
    k = min(max(given[0], -rows), columns)
    row = node.constant(np.arange(k, k + rows).reshape(rows, 1))
    column = node.constant(np.arange(columns))
    kept = node.one("greater_equal" if upper else "less_equal", [column, row])
    return node.one("where", [kept, x, node.constant(np.zeros((), x.spec.dtype.numpy))])


CONVERTERS: Mapping[str, Converter] = {
    "Slice": _slice,
    "Split": _split,
    "Concat": _concat,
    "Pad": _pad,
    "Tile": _tile,
    "Trilu": _trilu,
}
