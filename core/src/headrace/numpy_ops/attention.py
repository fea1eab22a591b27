"""Attention over what was seen before, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.errors import OpError
from headrace.numpy_ops.elementwise import elementwise, wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _cache_write(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, past, begins = given(inputs, 0), inputs[1], given(inputs, 2)
    y, steps, length = outputs[0], x.shape[2], call.int_attr("length")
    outside = begins[(begins < 0) | (begins > length - steps)]
    if steps and outside.size:
        raise OpError(
            f"cache_write {call.name!r}: {steps} steps after {outside[0]} are outside a cache "
            f"of {length}"
        )
    if past is None:
        y[...] = 0
    else:
        y[:, :, : past.shape[2]] = past
        y[:, :, past.shape[2] :] = 0
    for row, written, begin in zip(y, x, begins.tolist(), strict=True):
        row[:, begin : begin + steps] = written
        if call.flag_attr("clears"):
            row[:, max(begin + steps, 0) :] = 0


def _cached_attention(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    q, k, v = (wide(given(inputs, index)) for index in range(3))
    batch, heads, steps, size = q.shape
    shared, length = k.shape[1:3]
    rows = q.reshape(batch, shared, heads // shared * steps, size)
    scores = (rows @ k.swapaxes(2, 3) * q.dtype.type(call.float_attr("scale"))).reshape(
        batch, heads, steps, length
    )
    cap = call.float_attr("softcap")
    if cap:
        scores = np.tanh(scores / q.dtype.type(cap)) * q.dtype.type(cap)
    bias, sink = inputs[5], inputs[6]
    if bias is not None:
        scores = scores + wide(bias)
    seen = _seen(call, given(inputs, 3), inputs[4])
    scores = np.where(seen, scores, -np.inf)
    least = np.finfo(q.dtype).min
    most = scores.max(-1, keepdims=True, initial=least)
    nowhere = 0.0
    if sink is not None:
        column = wide(sink)[:, None, None]
        most = np.maximum(most, column)
        nowhere = np.exp(column - most)
    grown = np.exp(scores - most)
    total = grown.sum(-1, keepdims=True) + nowhere
    shares = np.divide(grown, total, out=np.zeros_like(grown), where=total != 0)
    y = shares.reshape(*rows.shape[:3], length) @ v
    outputs[0][...] = y.reshape(outputs[0].shape)


def _rotary_embedding(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    x, cos, sin = xs[0], xs[1][:, None], xs[2][:, None]
    pairs = cos.shape[3]
    if call.flag_attr("interleaved"):
        first, second = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    else:
        first, second = slice(0, pairs), slice(pairs, 2 * pairs)
    a, b = x[..., first], x[..., second]
    turned = a * cos - b * sin, a * sin + b * cos  # ``out`` may be x
    out[..., first], out[..., second] = turned
    out[..., 2 * pairs :] = x[..., 2 * pairs :]


def _seen(call: OpCall, before: Array, end: Array | None) -> Array:
    """Which places a step sees: ``[batch, 1, steps, length]``."""
    steps, length = call.input(0).shape[2], call.input(1).shape[2]
    place = np.arange(length)
    seen = np.ones((len(before), 1, steps, length), bool)
    if end is not None:
        seen &= place < end[:, None, None, None]
    if call.flag_attr("causal"):
        own = before[:, None, None, None] + np.arange(steps)[:, None]
        seen &= place <= own
        if window := call.int_attr("window"):
            seen &= place > own - window
    return seen


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "cache_write": _cache_write,
    "cached_attention": _cached_attention,
    "rotary_embedding": elementwise(_rotary_embedding),
}
