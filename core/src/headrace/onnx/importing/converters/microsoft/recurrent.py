"""The LSTM whose products are of small integers.

What a step is given is quantized when it is known: all steps of the input together, up to the end
of the longest sequence, and the state anew at each step. Sequences that differ in length run apart:
what is beyond the end of one has no part in how the state of another is quantized.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np

from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.integers import (
    Quantized,
    dynamic_quantize,
    product,
)
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_ACTIVATIONS = {
    name.lower(): name.lower() for name in ("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh")
}
_USUAL = ("Sigmoid", "Tanh", "Tanh")
_X, _W, _R, _B, _LENGTHS, _H, _C, _P, _W_SCALE, _W_ZERO, _R_SCALE, _R_ZERO = range(12)


def _dynamic_lstm(node: Node) -> tuple[Tensor, ...]:
    both = ("forward", "reverse")
    directions = {"forward": both[:1], "reverse": both[1:], "bidirectional": both}
    name = node.attr("direction", "forward").lower()
    if name not in directions:
        node.invalid(f"direction is {name!r}; it may be {', '.join(directions)}")
    _check(node, len(directions[name]))
    parts = _parts(node)
    x = dynamic_quantize(node, _cut(node, node.input(_X), 0, 0, max(part.steps for part in parts)))
    ends = [
        _run(node, d, x, _functions(node, d, len(directions[name])), own, parts)
        for d, own in enumerate(directions[name])
    ]
    if len(ends) == 1:
        return ends[0][: node.output_count]
    joined = (
        node.one("concat", [end[output] for end in ends], axis=1 if output == 0 else 0)
        for output in range(node.output_count)
    )
    return tuple(joined)


def _check(node: Node, directions: int) -> None:
    x, w, r = (node.input(index).spec for index in (_X, _W, _R))
    if x.rank != 3 or w.rank != 3 or r.rank != 3 or x.elements == 0:
        node.invalid(f"X, W and R must have rank 3, X some elements; they are {x}, {w}, {r}")
    hidden = r.shape[1]
    for weight, rows in ((w, x.shape[2]), (r, hidden)):
        if weight.shape != (directions, rows, 4 * hidden):
            node.invalid(
                f"W is {w} and R is {r}; they do not fit X {x} and {directions} directions"
            )
    scales = {(directions,), (directions, 4 * hidden)}
    states = {(directions, x.shape[1], hidden)}
    biases, peepholes = {(directions, 8 * hidden)}, {(directions, 3 * hidden)}
    for index, name, shapes in (
        *((_B, "B", biases), (_H, "initial_h", states), (_C, "initial_c", states)),
        *((_P, "P", peepholes), (_W_SCALE, "W_scale", scales), (_W_ZERO, "W_zero_point", scales)),
        *((_R_SCALE, "R_scale", scales), (_R_ZERO, "R_zero_point", scales)),
    ):
        given = node.optional(index)
        if given is not None and given.spec.shape not in shapes:
            texts = " or ".join(str(list(shape)) for shape in sorted(shapes))
            node.invalid(f"{name} is {given.spec}; its shape must be {texts}")
    if node.attr("hidden_size", hidden) != hidden:
        node.invalid(f"hidden_size is {node.attr('hidden_size')} and R is {r}")


class _Part(NamedTuple):
    """Sequences of the batch that follow each other, and how many steps each of them has."""

    first: int
    end: int
    steps: int


def _parts(node: Node) -> list[_Part]:
    steps, batch, _ = node.input(_X).spec.shape
    lengths = node.ints(_LENGTHS)
    if lengths is None:
        return [_Part(0, batch, steps)]
    if len(lengths) != batch or any(not 0 <= length <= steps for length in lengths):
        node.invalid(f"sequence_lens {lengths} must be {batch} lengths of at most {steps}")
    parts: list[_Part] = []
    for length, same in groupby(lengths):
        first = parts[-1].end if parts else 0
        parts.append(_Part(first, first + len(list(same)), length))
    return parts


def _cut(node: Node, x: Tensor, axis: int, first: int, end: int) -> Tensor:
    if (first, end) == (0, x.spec.shape[axis]):
        return x
    return node.one("slice", [x], starts=(first,), ends=(end,), axes=(axis,))


def _functions(node: Node, d: int, directions: int) -> list[str]:
    names = node.attr("activations", list(_USUAL) * directions)
    known = [_ACTIVATIONS.get(name.lower()) for name in names]
    found = [name for name in known if name is not None]
    if len(found) != 3 * directions:
        node.refuse(
            f"activations are {names}; three for each direction run, out of "
            f"{', '.join(sorted(_ACTIVATIONS))}"
        )
    return found[3 * d : 3 * d + 3]


def _run(
    node: Node, d: int, x: Quantized, functions: list[str], name: str, parts: list[_Part]
) -> tuple[Tensor, ...]:
    """``[steps, 1, batch, hidden]``, and the last H and C, ``[1, batch, hidden]``."""
    attrs: dict[str, object] = {
        "direction": name,
        "activations": functions,
        "input_forget": node.attr("input_forget", 0) != 0,
    }
    attrs |= {"clip": node.attr("clip")} if node.has_attr("clip") else {}
    drive = _driven(node, d, x)
    made = [_run_part(node, d, drive, part, attrs) for part in parts]
    steps, batch, hidden = *node.input(_X).spec.shape[:2], made[0][1].spec.shape[-1]
    joined = (
        of_parts[0] if len(parts) == 1 else node.one("concat", of_parts, axis=axis)
        for axis, *of_parts in zip((1, 0, 0), *made, strict=True)
    )
    shapes = ((steps, 1, batch, hidden), (1, batch, hidden), (1, batch, hidden))
    pairs = zip(joined, shapes, strict=True)
    return tuple(node.one("reshape", [tensor], shape=shape) for tensor, shape in pairs)


def _run_part(
    node: Node, d: int, drive: Tensor, part: _Part, attrs: dict[str, object]
) -> tuple[Tensor, ...]:
    """``[steps, sequences, hidden]``, 0 behind their ends, and the last H and C."""
    r = node.one("transpose", [_own(node, _R, d)], perm=(1, 0))
    steps, count, hidden = node.input(_X).spec.shape[0], part.end - part.first, r.spec.shape[1]
    if part.steps == 0:
        shapes = ((steps, count, hidden), (count, hidden), (count, hidden))
        return tuple(node.constant(np.zeros(shape, np.float32)) for shape in shapes)
    own = _cut(node, _cut(node, drive, 0, 0, part.steps), 1, part.first, part.end)
    states = [
        None
        if node.optional(index) is None
        else _cut(node, _own(node, index, d), 0, part.first, part.end)
        for index in (_H, _C)
    ]
    peephole = None if node.optional(_P) is None else _own(node, _P, d)
    weights = [r, _own(node, _R_SCALE, d), _own(node, _R_ZERO, d)]
    inputs = [own, *weights, *states, peephole]
    y, *ends = node.op("lstm_integer", inputs, outputs=3, **attrs)
    if part.steps < steps:
        y = node.one("pad", [y, None], pads=(0, 0, 0, steps - part.steps, 0, 0))
    return y, *ends


def _driven(node: Node, d: int, x: Quantized) -> Tensor:
    """What the input and both biases add to the gates of every step."""
    weight = Quantized(*(_own(node, index, d) for index in (_W, _W_SCALE, _W_ZERO)))
    drive = product(node, x, weight)
    if node.optional(_B) is None:
        return drive
    rows = weight.numbers.spec.shape[1]
    of_w, of_r = (
        node.one(
            "slice", [_own(node, _B, d)], starts=(i * rows,), ends=((i + 1) * rows,), axes=(0,)
        )
        for i in range(2)
    )
    return node.one("add", [drive, node.one("add", [of_w, of_r])])


def _own(node: Node, index: int, d: int) -> Tensor:
    """The entry of input ``index`` that is this direction's."""
    x = node.input(index)
    part = x
    if x.spec.shape[0] > 1:
        part = node.one("slice", [x], starts=(d,), ends=(d + 1,), axes=(0,))
    return node.one("reshape", [part], shape=x.spec.shape[1:])


OPS = (
    declare(
        "DynamicQuantizeLSTM",
        "X:T W:T2 R:T2 B:T? sequence_lens:T1? initial_h:T? initial_c:T? P:T? W_scale:T "
        "W_zero_point:T2 R_scale:T R_zero_point:T2",
        "Y:T? Y_h:T? Y_c:T?",
        _dynamic_lstm,
        "activation_alpha:floats activation_beta:floats activations:strings clip:float "
        "direction:string hidden_size:int input_forget:int",
        T="float",
        T1="int32",
        T2="uint8 int8",
    ),
)
