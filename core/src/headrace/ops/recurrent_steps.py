"""Recurrent layers in simpler ops: every step of every direction written out.

The graph grows with the number of steps. It is what a device without a kernel of its own runs, and
long sequences on such a device are long plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headrace.dtypes import float32, int64, uint32
from headrace.light_tuple import NamedTuple
from headrace.op_call import OpCall
from headrace.ops.formula import Formula
from headrace.ops.schema import GraphBuilder, Tensor

if TYPE_CHECKING:
    from headrace.ops.recurrent import Activation

Functions = Sequence["Activation"]
State = tuple[Tensor, ...]


class _Direction(NamedTuple):
    """What one direction is computed with; everything in the dtype of the formula.

    Attributes:
        drive: ``[steps, batch, gates * hidden]``: the product of x and w, and its biases.
        r: ``[gates * hidden, hidden]``.
        late_bias: ``[hidden]``: the bias that ``linear_before_reset`` adds to a product with r.
        peephole: ``[3 * hidden]``.
        state: where it begins: H, or H and C.
    """

    drive: Tensor
    r: Tensor
    late_bias: Tensor | None
    peephole: Tensor | None
    state: State


def decompose(
    call: OpCall,
    inputs: Sequence[Tensor | None],
    builder: GraphBuilder,
    backwards: Sequence[bool],
    gates: int,
    functions: Sequence[Functions],
) -> tuple[Tensor, ...]:
    """The outputs of a recurrent layer."""
    steps = _Steps(call, inputs, builder, gates)
    ends = [steps.run(d, backward, functions[d]) for d, backward in enumerate(backwards)]
    made = [ends[0]] if len(ends) == 1 else ends
    joined = [
        steps.join([end[output] for end in made], axis=1 if output == 0 else 0)
        for output in range(call.output_count)
    ]
    return tuple(steps.f.give(tensor)[0] for tensor in joined)


def decompose_integer(
    call: OpCall,
    inputs: Sequence[Tensor | None],
    builder: GraphBuilder,
    backward: bool,
    functions: Functions,
) -> tuple[Tensor, ...]:
    """The outputs of an ``lstm_integer``."""
    ends = _IntegerSteps(call, inputs, builder).run(0, backward, functions)
    pairs = zip(ends, call.outputs, strict=False)
    return tuple(builder.op("reshape", [end], shape=made.shape)[0] for end, made in pairs)


class _Steps:
    """Writes the steps of one call."""

    def __init__(
        self, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder, gates: int
    ) -> None:
        self.f = Formula(call, builder)
        self._call = call
        self._constant = builder.constant
        self._gates = gates
        self._inputs = [
            tensor if tensor is None or index == 4 else self.f.take(tensor)
            for index, tensor in enumerate((*inputs, *(None,) * (8 - len(inputs))))
        ]
        self._steps, self._batch, _ = call.input(0).shape
        self._hidden = call.input(2).shape[2]
        self._alive = self._within_lengths()

    def run(self, d: int, backward: bool, functions: Functions) -> State:
        """``y`` ``[steps, 1, batch, hidden]`` and the final states ``[1, batch, hidden]``."""
        direction = self._direction(d)
        step = {"rnn": self._rnn, "gru": self._gru}.get(self._call.op, self._lstm)
        state = direction.state
        results: list[Tensor] = []
        times = range(self._steps)
        for t in reversed(times) if backward else times:
            drive = self._part(direction.drive, 0, t, 1, (self._batch, self._gates * self._hidden))
            new = step(direction, drive, state, functions)
            result = new[0]
            if self._alive is not None:
                alive = self._part(self._alive, 1, t, 1, (self._batch, 1))
                new = tuple(
                    self.f.op("where", alive, *pair) for pair in zip(new, state, strict=True)
                )
                result = self.f.op("where", alive, result, self.f.scalar(0))
            state = new
            results.append(self._reshape(result, (1, 1, self._batch, self._hidden)))
        results = results[::-1] if backward else results
        ends = [self._reshape(end, (1, self._batch, self._hidden)) for end in self._ends(state)]
        return (self._sequence(results), *ends)

    def join(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The directions side by side."""
        return tensors[0] if len(tensors) == 1 else self.f.op("concat", *tensors, axis=axis)

    def _sequence(self, results: Sequence[Tensor]) -> Tensor:
        if not results:
            return self._zeros(0, 1, self._batch, self._hidden)
        return self.join(results, axis=0)

    def _ends(self, state: State) -> State:
        """The final states: 0 where a sequence has no steps."""
        if self._steps == 0:
            return tuple(self._zeros(self._batch, self._hidden) for _ in state)
        if self._alive is None:
            return state
        any_step = self._part(self._alive, 1, 0, 1, (self._batch, 1))
        return tuple(self.f.op("where", any_step, end, self.f.scalar(0)) for end in state)

    def _within_lengths(self) -> Tensor | None:
        """``[batch, steps]``: is this step one of the sequence?"""
        lens = self._inputs[4]
        if lens is None:
            return None
        table = np.arange(self._steps) < np.arange(self._steps + 1)[:, None]
        # A row for each length there may be: any other is an index that the gather refuses. A
        # negative one would count from the end; unsigned, it is too large like the rest.
        unsigned = self.f.op("cast", lens, dtype=uint32)
        index = self.f.op("cast", unsigned, dtype=int64)
        return self.f.op("gather", self._constant(table), index, axis=0)

    def _direction(self, d: int) -> _Direction:
        x, w, r, b, _, *states, peephole = self._inputs
        assert x is not None and w is not None and r is not None
        rows, hidden = self._gates * self._hidden, self._hidden
        drive = self.f.op("matmul", x, self._part(w, 0, d, 1, w.spec.shape[1:]), transpose_b=True)
        late_bias = None
        if b is not None:
            own = self._reshape(self._part(b, 0, d, 1, (2 * rows,)), (2, rows))
            of_w, of_r = (self._part(own, 0, i, 1, (rows,)) for i in (0, 1))
            if self._call.op == "gru" and self._call.flag_attr("linear_before_reset"):
                late_bias = self._part(of_r, 0, 2 * hidden, hidden, (hidden,))
                early = self._part(of_r, 0, 0, 2 * hidden, (2 * hidden,))
                of_r = self.join([early, self._zeros(hidden)], axis=0)
            drive = self.f.op("add", drive, self.f.op("add", of_w, of_r))
        begin = tuple(
            self._zeros(self._batch, hidden)
            if state is None
            else self._part(state, 0, d, 1, (self._batch, hidden))
            for state in states[: 2 if self._call.op == "lstm" else 1]
        )
        if peephole is not None:
            peephole = self._part(peephole, 0, d, 1, (3 * hidden,))
        return _Direction(drive, self._part(r, 0, d, 1, (rows, hidden)), late_bias, peephole, begin)

    def _rnn(self, own: _Direction, drive: Tensor, state: State, functions: Functions) -> State:
        return (self._gate(self._driven(drive, state[0], own.r), functions[0]),)

    def _gru(self, own: _Direction, drive: Tensor, state: State, functions: Functions) -> State:
        f, g = functions
        (h,), split = state, 2 * self._hidden
        r_gates = self._part(own.r, 0, 0, split, (split, self._hidden))
        r_new = self._part(own.r, 0, split, self._hidden, (self._hidden, self._hidden))
        first = self._part(drive, 1, 0, split, (self._batch, split))
        gates = self._gate(self._driven(first, h, r_gates), f)
        z, reset = self._cut(gates, 0), self._cut(gates, 1)
        if self._call.flag_attr("linear_before_reset"):
            product = self.f.op("matmul", h, r_new, transpose_b=True)
            if own.late_bias is not None:
                product = self.f.op("add", product, own.late_bias)
            product = self.f.op("multiply", reset, product)
        else:
            product = self.f.op("matmul", self.f.op("multiply", reset, h), r_new, transpose_b=True)
        new = self._gate(self.f.op("add", self._cut(drive, 2), product), g)
        rest = self.f.op("multiply", self.f.op("subtract", self.f.scalar(1), z), new)
        return (self.f.op("add", rest, self.f.op("multiply", z, h)),)

    def _lstm(self, own: _Direction, drive: Tensor, state: State, functions: Functions) -> State:
        f, g, last = functions
        h, c = state
        driven = self._driven(drive, h, own.r)
        i, o, forget, new = (self._cut(driven, gate) for gate in range(4))
        i = self._gate(self._peep(own, i, 0, c), f)
        if self._call.flag_attr("input_forget"):
            forget = self.f.op("subtract", self.f.scalar(1), i)
        else:
            forget = self._gate(self._peep(own, forget, 2, c), f)
        new = self.f.op("multiply", i, self._gate(new, g))
        c = self.f.op("add", self.f.op("multiply", forget, c), new)
        o = self._gate(self._peep(own, o, 1, c), f)
        return self.f.op("multiply", o, self._activate(c, last)), c

    def _driven(self, drive: Tensor, h: Tensor, r: Tensor) -> Tensor:
        return self.f.op("add", drive, self.f.op("matmul", h, r, transpose_b=True))

    def _peep(self, own: _Direction, gate: Tensor, which: int, c: Tensor) -> Tensor:
        if own.peephole is None:
            return gate
        hidden = self._hidden
        weight = self._part(own.peephole, 0, which * hidden, hidden, (hidden,))
        return self.f.op("add", gate, self.f.op("multiply", weight, c))

    def _gate(self, x: Tensor, function: Activation) -> Tensor:
        clip = self._call.float_attr("clip")
        if clip < np.inf:
            x = self.f.op("clip", x, self.f.scalar(-clip), self.f.scalar(clip))
        return self._activate(x, function)

    def _activate(self, x: Tensor, function: Activation) -> Tensor:
        name, alpha, beta = function
        scalar: Callable[[float], Tensor] = self.f.scalar
        if name == "affine":
            return self.f.op("add", self.f.op("multiply", x, scalar(alpha)), scalar(beta))
        if name == "scaled_tanh":
            bend = self.f.op("tanh", self.f.op("multiply", x, scalar(beta)))
            return self.f.op("multiply", bend, scalar(alpha))
        if name == "hard_sigmoid":
            return self.f.op(name, x, alpha=alpha, beta=beta)
        if name in ("elu", "leaky_relu", "thresholded_relu"):
            return self.f.op(name, x, alpha=alpha)
        return self.f.op(name, x)

    def _cut(self, gates: Tensor, gate: int) -> Tensor:
        shape = (self._batch, self._hidden)
        return self._part(gates, 1, gate * self._hidden, self._hidden, shape)

    def _part(self, x: Tensor, axis: int, start: int, count: int, shape: tuple[int, ...]) -> Tensor:
        """``count`` entries along ``axis``, as ``shape``."""
        part = self.f.op("slice", x, starts=(start,), ends=(start + count,), axes=(axis,))
        return self._reshape(part, shape)

    def _reshape(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        return x if x.spec.shape == shape else self.f.op("reshape", x, shape=shape)

    def _zeros(self, *shape: int) -> Tensor:
        return self._constant(np.zeros(shape, self.f.scalar(0).spec.dtype.numpy))


class _IntegerSteps(_Steps):
    """Writes the steps of an ``lstm_integer``, which begin with what quantizes H."""

    def __init__(
        self, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> None:
        self.f = Formula(call, builder)
        self._call = call
        self._constant = builder.constant
        self._builder = builder
        self._gates = 4
        self._inputs = list(inputs)
        self._steps, self._batch, _ = call.input(0).shape
        self._hidden = call.input(1).shape[1]
        self._alive = None

    def _direction(self, d: int) -> _Direction:
        drive, r, _, _, h, c, peephole = self._inputs
        assert drive is not None and r is not None
        zeros = (self._batch, self._hidden)
        begin = tuple(self._zeros(*zeros) if state is None else state for state in (h, c))
        return _Direction(drive, r, None, peephole, begin)

    def _driven(self, drive: Tensor, h: Tensor, r: Tensor) -> Tensor:
        r_scale, zero = self._inputs[2:4]
        assert r_scale is not None
        if zero is not None:
            rows = zero.spec.elements
            zero = self._reshape(zero, () if rows == 1 else (rows, 1))
        numbers, scale, h_zero = self._builder.op("dynamic_quantize", [h], outputs=3)
        given = (numbers, r, h_zero, zero)
        (product,) = self._builder.op("matmul_integer", given, transpose_b=True)
        sums = self.f.op("cast", product, dtype=float32)
        worth = self.f.op("multiply", scale, r_scale)
        return self.f.op("add", drive, self.f.op("multiply", sums, worth))
