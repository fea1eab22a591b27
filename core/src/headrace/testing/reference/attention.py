"""Attention over what was seen before: the oracle, one step and one place at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _cache_write(
    x: Array, past: Array | None, before: Array, *, length: int, clears: bool
) -> Array:
    batch, heads, steps, size = x.shape
    y = np.zeros((batch, heads, length, size), x.dtype)
    for b, h in np.ndindex(batch, heads):
        if past is not None:
            for place in range(past.shape[2]):
                y[b, h, place] = past[b, h, place]
        for step in range(steps):
            y[b, h, int(before[b]) + step] = x[b, h, step]
        if clears:
            for place in range(int(before[b]) + steps, length):
                y[b, h, place] = np.zeros(size, y.dtype)
    return y


def _cached_attention(
    q: Array,
    k: Array,
    v: Array,
    before: Array,
    end: Array | None,
    bias: Array | None,
    sink: Array | None,
    *,
    scale: float,
    causal: bool,
    window: int,
    softcap: float,
) -> Array:
    batch, heads, steps, _ = q.shape
    shared, length = k.shape[1:3]
    if bias is not None:
        bias = np.broadcast_to(bias, (batch, heads, steps, length))
    y = np.zeros((batch, heads, steps, v.shape[3]), np.float64)
    for b, h, i in np.ndindex(batch, heads, steps):
        kept, own = h // (heads // shared), int(before[b]) + i
        scores: dict[int, float] = {}
        for place in range(length):
            hidden = end is not None and place >= int(end[b])
            hidden |= causal and place > own
            hidden |= window > 0 and place <= own - window
            if not hidden:
                pairs = zip(q[b, h, i].tolist(), k[b, kept, place].tolist(), strict=True)
                score = scale * math.fsum(float(one) * float(other) for one, other in pairs)
                if softcap:
                    score = softcap * math.tanh(score / softcap)
                if bias is not None:
                    score += float(
                        np.broadcast_to(bias, (batch, heads, steps, length))[b, h, i, place]
                    )
                scores[place] = score
        if not scores:
            continue
        every = [*scores.values(), *([] if sink is None else [float(sink[h])])]
        most = max(every)
        total = math.fsum(math.exp(score - most) for score in every)
        for place, score in scores.items():
            share = math.exp(score - most) / total
            y[b, h, i] += share * v[b, kept, place].astype(np.float64)
    return y.astype(q.dtype)


def _rotary_embedding(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    y, pairs = x.astype(np.float64), cos.shape[2]
    for b, h, i, p in np.ndindex(*x.shape[:3], pairs):
        first, second = (2 * p, 2 * p + 1) if interleaved else (p, pairs + p)
        angles = 0 if len(cos) == 1 else b
        number = complex(x[b, h, i, first], x[b, h, i, second])
        turned = number * complex(cos[angles, i, p], sin[angles, i, p])
        y[b, h, i, first], y[b, h, i, second] = turned.real, turned.imag
    return y.astype(x.dtype)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "cache_write": _cache_write,
    "cached_attention": _cached_attention,
    "rotary_embedding": _rotary_embedding,
}
