"""The LSTM whose products are of small integers, every step written out.

What a step is given is quantized when it is known: all steps of the input together, and the state
anew at each step. So its products cannot be those of one ``lstm``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.onnx.contrib import declare
from headrace.onnx.converters.microsoft.integers import Quantized, dynamic_quantize, product
from headrace.onnx.formula import scalar
from headrace.onnx.node import Node
from headrace.ops import Tensor

_ACTIVATIONS = {
    name.lower(): name.lower() for name in ("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh")
}
_USUAL = ("Sigmoid", "Tanh", "Tanh")
_X, _W, _R, _B, _LENGTHS, _H, _C, _P, _W_SCALE, _W_ZERO, _R_SCALE, _R_ZERO = range(12)


def _dynamic_lstm(node: Node) -> tuple[Tensor, ...]:
    directions = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    name = node.attr("direction", "forward").lower()
    if name not in directions:
        node.invalid(f"direction is {name!r}; it may be {', '.join(directions)}")
    _check(node, len(directions[name]))
    x = dynamic_quantize(node, node.input(_X))
    ends = [
        _Direction(node, d, x, _functions(node, d, len(directions[name]))).run(backward=backward)
        for d, backward in enumerate(directions[name])
    ]
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
    if node.attr("hidden_size", hidden) != hidden:
        node.invalid(f"hidden_size is {node.attr('hidden_size')} and R is {r}")
    if node.optional(_LENGTHS) is not None:
        lengths = node.known(node.input(_LENGTHS))
        if lengths is None or (lengths != x.shape[0]).any():
            # The input is quantized up to the longest sequence, and the state with what is beyond.
            node.refuse("sequence_lens are given; sequences of all steps run")


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


@dataclass(frozen=True, slots=True)
class _State:
    """H and C, ``[batch, hidden]`` each."""

    h: Tensor
    c: Tensor


class _Direction:
    """Writes the steps of one direction."""

    def __init__(self, node: Node, d: int, x: Quantized, functions: list[str]) -> None:
        self._node = node
        self._d = d
        self._functions = functions
        self._steps, self._batch, _ = node.input(_X).spec.shape
        self._hidden = node.input(_R).spec.shape[1]
        self._r = self._weight(_R, _R_SCALE, _R_ZERO)
        self._drive = self._driven(x, self._weight(_W, _W_SCALE, _W_ZERO))
        self._peephole = None if node.optional(_P) is None else self._own(_P)

    def run(self, *, backward: bool) -> tuple[Tensor, Tensor, Tensor]:
        """``[steps, 1, batch, hidden]``, and the last H and C, ``[1, batch, hidden]``."""
        state = _State(self._begin(_H), self._begin(_C))
        made: dict[int, Tensor] = {}
        times = range(self._steps)
        for t in reversed(times) if backward else times:
            state = self._step(self._part(self._drive, 0, t, 1), state)
            made[t] = self._reshape(state.h, 1, 1, self._batch, self._hidden)
        whole = self._node.one("concat", [made[t] for t in times], axis=0)
        h, c = (self._reshape(end, 1, self._batch, self._hidden) for end in (state.h, state.c))
        return whole, h, c

    def _step(self, drive: Tensor, state: _State) -> _State:
        """``drive``: gates i, o, f and c as the input drives them, ``[1, batch, 4 * hidden]``."""
        f, g, last = self._functions
        h = dynamic_quantize(self._node, state.h)
        gates = self._reshape(drive, self._batch, 4 * self._hidden)
        gates = self._op("add", gates, product(self._node, h, self._r))
        i, o, forget, new = (
            self._part(gates, 1, gate * self._hidden, self._hidden) for gate in range(4)
        )
        i = self._gate(self._peep(i, 0, state.c), f)
        if self._node.attr("input_forget", 0):
            forget = self._op("subtract", scalar(self._node, 1, i), i)
        else:
            forget = self._gate(self._peep(forget, 2, state.c), f)
        kept = self._op("multiply", forget, state.c)
        c = self._op("add", kept, self._op("multiply", i, self._gate(new, g)))
        o = self._gate(self._peep(o, 1, c), f)
        return _State(self._op("multiply", o, self._op(last, c)), c)

    def _driven(self, x: Quantized, weight: Quantized) -> Tensor:
        """What the input and both biases add to the gates of every step."""
        drive = product(self._node, x, weight)
        if self._node.optional(_B) is None:
            return drive
        rows = 4 * self._hidden
        of_w, of_r = (self._part(self._own(_B), 0, start, rows) for start in (0, rows))
        return self._op("add", drive, self._op("add", of_w, of_r))

    def _gate(self, x: Tensor, function: str) -> Tensor:
        if self._node.has_attr("clip"):
            bound = self._node.attr("clip")
            low, high = (scalar(self._node, limit, x) for limit in (-bound, bound))
            x = self._op("clip", x, low, high)
        return self._op(function, x)

    def _peep(self, gate: Tensor, which: int, c: Tensor) -> Tensor:
        if self._peephole is None:
            return gate
        weight = self._part(self._peephole, 0, which * self._hidden, self._hidden)
        return self._op("add", gate, self._op("multiply", weight, c))

    def _begin(self, index: int) -> Tensor:
        if self._node.optional(index) is None:
            return self._node.constant(np.zeros((self._batch, self._hidden), np.float32))
        return self._own(index)

    def _weight(self, index: int, scale: int, zero: int) -> Quantized:
        return Quantized(self._own(index), self._own(scale), self._own(zero))

    def _own(self, index: int) -> Tensor:
        """The entry of input ``index`` that is this direction's."""
        x = self._node.input(index)
        return self._reshape(self._part(x, 0, self._d, 1), *x.spec.shape[1:])

    def _part(self, x: Tensor, axis: int, start: int, count: int) -> Tensor:
        ends = (start + count,)
        return self._node.one("slice", [x], starts=(start,), ends=ends, axes=(axis,))

    def _reshape(self, x: Tensor, *shape: int) -> Tensor:
        return self._node.one("reshape", [x], shape=shape)

    def _op(self, op: str, *inputs: Tensor) -> Tensor:
        return self._node.one(op, inputs)


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
