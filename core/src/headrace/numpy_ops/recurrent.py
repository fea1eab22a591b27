"""Recurrent layers, in numpy: one product with w for all steps, then one step after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from headrace.errors import OpError
from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.numpy_ops.quantize import dynamic_quantized
from headrace.numpy_ops.unary import sigmoid
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.integer import exact_float
from headrace.ops.recurrent import Activation, activations, backwards
from headrace.tensor_spec import Array

State = tuple[Array, ...]
Step = Callable[[Array, State], State]
"""From what x brings ``[batch, gates * hidden]`` and the states ``[batch, hidden]``: the new ones.

Never writes to the states.
"""
Wide = Sequence[Array | None]
"""The inputs, half floats in float32."""


def _scan(
    call: OpCall,
    inputs: Sequence[Array | None],
    outputs: Sequence[Array],
    step_of: Callable[[OpCall, Wide, int], Step],
    states: int = 1,
) -> None:
    arrays = [None if array is None else wide(array) for array in inputs]
    x, w = given(arrays, 0), given(arrays, 1)
    steps, batch, features = x.shape
    lens = _lengths(call, inputs[4], steps)
    y, ends = outputs[0], outputs[1:]
    for d, backward in enumerate(backwards(call)):
        drive = np.matmul(x.reshape(steps * batch, features), w[d].T)
        drive += _early_bias(call, arrays, d)
        drive = drive.reshape(steps, batch, drive.shape[-1])
        step = step_of(call, arrays, d)
        state = tuple(_begin(call, initial, d, x.dtype) for initial in arrays[5 : 5 + states])
        for t in range(steps)[:: -1 if backward else 1]:
            new = step(drive[t], state)
            if lens is None:
                state, y[t, d] = new, new[0]
            else:
                alive = lens[:, None] > t
                y[t, d] = np.where(alive, new[0], 0)
                state = tuple(
                    np.where(alive, after, before) for after, before in zip(new, state, strict=True)
                )
        empty = np.full(batch, steps == 0) if lens is None else lens == 0
        for end, last in zip(ends, state, strict=False):
            end[d] = last
            end[d, empty] = 0


def _lengths(call: OpCall, lens: Array | None, steps: int) -> Array | None:
    if lens is None:
        return None
    outside = lens[(lens < 0) | (lens > steps)]
    if outside.size:
        fail(call, f"sequence_lens has {outside[0]}; x has {steps} steps", OpError)
    return lens if (lens < steps).any() or steps == 0 else None


def _begin(call: OpCall, initial: Array | None, d: int, dtype: np.dtype[np.generic]) -> Array:
    shape = (call.input(0).shape[1], call.input(2).shape[2])
    begin: Array = np.zeros(shape, dtype) if initial is None else initial[d]
    return begin


def _early_bias(call: OpCall, arrays: Wide, d: int) -> Array:
    """What is added to the product of x and w: all biases but the one inside the GRU's brackets."""
    r, b = given(arrays, 2), arrays[3]
    if b is None:
        return np.zeros(1, r.dtype)
    of_w, of_r = np.split(b[d], 2)
    if call.op == "gru" and call.flag_attr("linear_before_reset"):
        of_r = of_r.copy()
        of_r[2 * r.shape[2] :] = 0
    total: Array = of_w + of_r
    return total


def _rnn(call: OpCall, arrays: Wide, d: int) -> Step:
    (f,), r = activations(call, d), given(arrays, 2)[d].T
    clip = call.float_attr("clip")

    def step(drive: Array, state: State) -> State:
        return (_gate(drive + state[0] @ r, f, clip),)

    return step


def _gru(call: OpCall, arrays: Wide, d: int) -> Step:
    (f, g), whole, b = activations(call, d), given(arrays, 2)[d], arrays[3]
    hidden, clip = whole.shape[1], call.float_attr("clip")
    r_gates, r_new = whole[: 2 * hidden].T, whole[2 * hidden :].T
    linear = call.flag_attr("linear_before_reset")
    late = np.zeros(hidden, whole.dtype) if b is None else b[d, 5 * hidden :]

    def step(drive: Array, state: State) -> State:
        (h,) = state
        gates = _gate(drive[:, : 2 * hidden] + h @ r_gates, f, clip)
        z, reset = gates[:, :hidden], gates[:, hidden:]
        product = reset * (h @ r_new + late) if linear else (reset * h) @ r_new
        new = _gate(drive[:, 2 * hidden :] + product, g, clip)
        return ((1 - z) * new + z * h,)

    return step


def _lstm(call: OpCall, arrays: Wide, d: int) -> Step:
    r, peephole = given(arrays, 2)[d].T, arrays[7]
    return _cell(call, d, lambda h: h @ r, None if peephole is None else peephole[d])


def _cell(call: OpCall, d: int, product: Callable[[Array], Array], peephole: Array | None) -> Step:
    """The step of an LSTM whose H gives the gates ``product``."""
    (f, g, last), clip = activations(call, d), call.float_attr("clip")
    coupled = call.flag_attr("input_forget")
    peeps = None if peephole is None else np.split(peephole, 3)

    def step(drive: Array, state: State) -> State:
        h, c = state
        hidden = h.shape[1]
        gates = drive + product(h)
        i, o, forget, new = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
        if peeps is not None:
            i += peeps[0] * c
            forget += peeps[2] * c
        i = _gate(i, f, clip)
        forget = 1 - i if coupled else _gate(forget, f, clip)
        c = forget * c + i * _gate(new, g, clip)
        if peeps is not None:
            o += peeps[1] * c
        return _gate(o, f, clip) * _activate(c, last), c

    return step


def _gate(x: Array, function: Activation, clip: float) -> Array:
    return _activate(x if clip == math.inf else np.clip(x, -clip, clip), function)


def _activate(x: Array, function: Activation) -> Array:
    return _FUNCTIONS[function.name](x, function.alpha, function.beta)


def _sigmoid(x: Array, alpha: float, beta: float) -> Array:
    y = np.empty_like(x)
    sigmoid(x, y)
    return y


# Python floats keep the dtype of an array.
_FUNCTIONS: Mapping[str, Callable[[Array, float, float], Array]] = {
    "affine": lambda x, alpha, beta: x * alpha + beta,
    "elu": lambda x, alpha, beta: np.where(x < 0, np.expm1(x) * alpha, x),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(x * alpha + beta, 0.0, 1.0),
    "leaky_relu": lambda x, alpha, beta: np.where(x < 0, x * alpha, x),
    "relu": lambda x, alpha, beta: np.maximum(x, 0.0),
    "scaled_tanh": lambda x, alpha, beta: np.tanh(x * beta) * alpha,
    "sigmoid": _sigmoid,
    "softplus": lambda x, alpha, beta: np.logaddexp(x, 0.0),
    "softsign": lambda x, alpha, beta: x / (np.absolute(x) + 1.0),
    "tanh": lambda x, alpha, beta: np.tanh(x),
    "thresholded_relu": lambda x, alpha, beta: np.where(x > alpha, x, 0.0),
}


def _run_rnn(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    _scan(call, inputs, outputs, _rnn)


def _run_gru(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    _scan(call, inputs, outputs, _gru)


def _run_lstm(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    _scan(call, inputs, outputs, _lstm, states=2)


def _run_lstm_integer(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    drive, r, r_scale, zero = given(inputs, 0), given(inputs, 1), given(inputs, 2), inputs[3]
    exact = exact_float(r.shape[1]).numpy
    weights = r.astype(exact)
    if zero is not None:
        weights -= zero.reshape(-1, 1)

    def product(h: Array) -> Array:
        numbers, scale, h_zero = dynamic_quantized(h)
        sums: Array = (numbers.astype(exact) - h_zero) @ weights.T
        worth: Array = scale * r_scale.reshape(-1)
        return sums.astype(np.float32) * worth

    step, (backward,) = _cell(call, 0, product, inputs[6]), backwards(call)
    begin = np.zeros((drive.shape[1], r.shape[1]), np.float32)
    state = tuple(begin if initial is None else initial for initial in inputs[4:6])
    for t in range(len(drive))[:: -1 if backward else 1]:
        state = step(drive[t], state)
        outputs[0][t] = state[0]
    for end, last in zip(outputs[1:], state, strict=False):
        end[...] = last


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "rnn": _run_rnn,
    "gru": _run_gru,
    "lstm": _run_lstm,
    "lstm_integer": _run_lstm_integer,
}
