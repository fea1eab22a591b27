"""Recurrent layers: the oracle, one sequence and one neuron at a time, in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.quantize import _dynamic_quantize
from headrace.testing.reference.scalars import INF, exp

Function = Callable[[float], float]


class _Layer:
    """The weights of one direction by gate, and its functions."""

    def __init__(
        self, w: Array, r: Array, b: Array | None, functions: Sequence[Function], clip: float
    ) -> None:
        self.hidden = r.shape[1]
        gates = w.shape[0] // self.hidden if self.hidden else 1
        self.w = w.reshape(gates, self.hidden, w.shape[1])
        self.r = r.reshape(gates, self.hidden, self.hidden)
        zeros = np.zeros((2, gates, self.hidden))
        self.wb, self.rb = zeros if b is None else b.reshape(zeros.shape)
        self.functions = functions
        self.clip = clip

    def of_x(self, gate: int, n: int, x: Sequence[float]) -> float:
        return _dot(self.w[gate, n], x) + float(self.wb[gate, n])

    def of_h(self, gate: int, n: int, h: Sequence[float]) -> float:
        return _dot(self.r[gate, n], h) + float(self.rb[gate, n])

    def activate(self, function: int, value: float) -> float:
        return self.functions[function](min(max(value, -self.clip), self.clip))

    def gate(self, which: int, n: int, x: Sequence[float], h: Sequence[float]) -> float:
        """What gate ``which`` of neuron ``n`` sees."""
        return self.of_x(which, n, x) + self.of_h(which, n, h)


def _rnn(
    x: Array, w: Array, r: Array, b: Any, lens: Any, h: Any, *, direction: str, **more: Any
) -> tuple[Array, ...]:
    def step(layer: _Layer, d: int, x: list[float], h: list[float]) -> list[list[float]]:
        return [[layer.activate(0, layer.gate(0, n, x, h)) for n in range(layer.hidden)]]

    return _run(step, (x, w, r, b, lens), (h,), ("tanh",), direction, more)


def _gru(
    x: Array, w: Array, r: Array, b: Any, lens: Any, h: Any, *, direction: str,
    linear_before_reset: bool, **more: Any,
) -> tuple[Array, ...]:  # fmt: skip
    def step(layer: _Layer, d: int, x: list[float], h: list[float]) -> list[list[float]]:
        neurons = range(layer.hidden)
        z = [layer.activate(0, layer.gate(0, n, x, h)) for n in neurons]
        reset = [layer.activate(0, layer.gate(1, n, x, h)) for n in neurons]
        gated = [reset[n] * h[n] for n in neurons]
        new = []
        for n in neurons:
            if linear_before_reset:
                recurrent = reset[n] * layer.of_h(2, n, h)
            else:
                recurrent = layer.of_h(2, n, gated)
            new.append(layer.activate(1, layer.of_x(2, n, x) + recurrent))
        return [[(1 - z[n]) * new[n] + z[n] * h[n] for n in neurons]]

    return _run(step, (x, w, r, b, lens), (h,), ("sigmoid", "tanh"), direction, more)


def _lstm(
    x: Array, w: Array, r: Array, b: Any, lens: Any, h: Any, c: Any, peephole: Any, *,
    direction: str, input_forget: bool, **more: Any,
) -> tuple[Array, ...]:  # fmt: skip
    def step(
        layer: _Layer, d: int, x: list[float], h: list[float], c: list[float]
    ) -> list[list[float]]:
        peeps = np.zeros((3, layer.hidden)) if peephole is None else peephole[d].reshape(3, -1)
        new_h, new_c = [], []
        for n in range(layer.hidden):
            of_i, of_o, of_f = (float(peep[n]) for peep in peeps)
            i = layer.activate(0, layer.gate(0, n, x, h) + of_i * c[n])
            f = 1 - i if input_forget else layer.activate(0, layer.gate(2, n, x, h) + of_f * c[n])
            cell = f * c[n] + i * layer.activate(1, layer.gate(3, n, x, h))
            o = layer.activate(0, layer.gate(1, n, x, h) + of_o * cell)
            new_h.append(o * layer.functions[2](cell))
            new_c.append(cell)
        return [new_h, new_c]

    usual = ("sigmoid", "tanh", "tanh")
    return _run(step, (x, w, r, b, lens), (h, c), usual, direction, more)


def _run(
    step: Callable[..., list[list[float]]],
    common: tuple[Any, ...],
    initial: tuple[Array | None, ...],
    usual: tuple[str, ...],
    direction: str,
    attrs: Mapping[str, Any],
) -> tuple[Array, ...]:
    """Each sequence of each direction by itself, over the steps that it has."""
    x, w, r, b, lens = common
    (steps, batch, _), (directions, _, hidden) = x.shape, r.shape
    y = np.zeros((steps, directions, batch, hidden))
    ends = np.zeros((len(initial), directions, batch, hidden))
    functions = list(_functions(usual * directions, **attrs))
    for d in range(directions):
        own = functions[d * len(usual) : (d + 1) * len(usual)]
        layer = _Layer(w[d], r[d], None if b is None else b[d], own, attrs["clip"])
        for s in range(batch):
            times = list(range(steps if lens is None else int(lens[s])))
            if direction == "reverse" or d == 1:
                times.reverse()
            state = [
                [0.0] * hidden if begin is None else [float(v) for v in begin[d, s]]
                for begin in initial
            ]
            for t in times:
                state = step(layer, d, [float(v) for v in x[t, s]], *state)
                y[t, d, s] = state[0]
            if times:
                ends[:, d, s] = state
    return tuple(result.astype(x.dtype) for result in (y, *ends))


def _functions(
    usual: tuple[str, ...],
    *,
    activations: tuple[str, ...],
    alphas: tuple[float, ...],
    betas: tuple[float, ...],
    clip: float,
) -> Iterator[Function]:
    for index, name in enumerate(activations or usual):
        alpha, beta = _USUAL.get(name, (0.0, 0.0))
        yield _function(name, alphas[index] if alphas else alpha, betas[index] if betas else beta)


_USUAL = {
    "leaky_relu": (0.01, 0.0), "thresholded_relu": (1.0, 0.0), "hard_sigmoid": (0.2, 0.5),
    "elu": (1.0, 0.0), "affine": (1.0, 0.0), "scaled_tanh": (1.0, 1.0),
}  # fmt: skip


def _function(name: str, alpha: float, beta: float) -> Function:
    functions: dict[str, Function] = {
        "relu": lambda v: v if v > 0 else 0.0,
        "tanh": math.tanh,
        "sigmoid": lambda v: 1 / (1 + exp(-v)),
        "affine": lambda v: alpha * v + beta,
        "leaky_relu": lambda v: v if v >= 0 else alpha * v,
        "thresholded_relu": lambda v: v if v > alpha else 0.0,
        "scaled_tanh": lambda v: alpha * math.tanh(beta * v),
        "hard_sigmoid": lambda v: min(max(alpha * v + beta, 0.0), 1.0),
        "elu": lambda v: v if v >= 0 else alpha * (exp(v) - 1),
        "softsign": lambda v: v / (1 + abs(v)),
        "softplus": lambda v: math.log(1 + exp(v)) if exp(v) < INF else v,
    }
    return functions[name]


def _dot(row: Array, values: Sequence[float]) -> float:
    return math.fsum(float(a) * b for a, b in zip(row, values, strict=True))


def _lstm_integer(
    drive: Array, r: Array, r_scale: Array, r_zero_point: Any, h: Any, c: Any, peephole: Any, *,
    direction: str, input_forget: bool, clip: float, **more: Any,
) -> tuple[Array, ...]:  # fmt: skip
    (steps, batch, rows), hidden = drive.shape, r.shape[1]
    zeros = np.broadcast_to(0 if r_zero_point is None else r_zero_point, rows)
    worths = np.broadcast_to(r_scale, rows)
    functions = list(_functions(("sigmoid", "tanh", "tanh"), clip=clip, **more))
    peeps = np.zeros((3, hidden)) if peephole is None else peephole.reshape(3, hidden)
    h, c = (np.zeros((batch, hidden), np.float32) if begin is None else begin for begin in (h, c))
    y = np.zeros((steps, batch, hidden), np.float32)

    def activate(function: int, value: float) -> float:
        return functions[function](min(max(value, -clip), clip))

    for t in range(steps)[:: -1 if direction == "reverse" else 1]:
        numbers, scale, zero = _dynamic_quantize(h)
        new_h, new_c = np.empty_like(h), np.empty_like(c)
        for s, n in np.ndindex(batch, hidden):
            gates = []
            for row in range(n, rows, hidden):
                weights = [int(number) - int(zeros[row]) for number in r[row]]
                units = [int(number) - int(zero) for number in numbers[s]]
                total = sum(a * b for a, b in zip(weights, units, strict=True))
                worth = float(np.float32(scale * worths[row]))
                gates.append(float(drive[t, s, row]) + total * worth)
            of_i, of_o, of_f = (float(peep[n]) for peep in peeps)
            before = float(c[s, n])
            i = activate(0, gates[0] + of_i * before)
            f = 1 - i if input_forget else activate(0, gates[2] + of_f * before)
            cell = f * before + i * activate(1, gates[3])
            new_h[s, n] = activate(0, gates[1] + of_o * cell) * functions[2](cell)
            new_c[s, n] = cell
        h, c, y[t] = new_h, new_c, new_h
    return y, h, c


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "rnn": _rnn,
    "gru": _gru,
    "lstm": _lstm,
    "lstm_integer": _lstm_integer,
}
