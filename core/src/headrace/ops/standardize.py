"""Formulas that the normalisations have in common; ``epsilon`` is that of the call."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headrace.op_call import OpCall
from headrace.ops.formula import Formula
from headrace.ops.schema import GraphBuilder, Tensor


def decompose_groups(
    call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder, groups: int
) -> tuple[Tensor, ...]:
    """Standardize runs of channels, then scale and shift each channel."""
    f = Formula(call, builder)
    x, shape = f.take(inputs[0]), call.input(0).shape
    run = shape[1] // max(groups, 1) * math.prod(shape[2:])
    rows = f.op("reshape", x, shape=(shape[0], groups, run))
    y = f.op("reshape", standardize(f, call, rows, (2,))[0], shape=shape)
    vector = (shape[1], *(1,) * len(shape[2:]))
    gamma, beta = (f.op("reshape", f.take(t), shape=vector) for t in inputs[1:])
    return f.give(f.op("add", f.op("multiply", y, gamma), beta))


def standardize(
    f: Formula, call: OpCall, x: Tensor, axes: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """``(x - mean) * inv_std``, the mean and ``inv_std`` over ``axes``."""
    mean = f.op("reduce_mean", x, axes=axes, keep_dims=True)
    centred = f.op("subtract", x, mean)
    squares = f.op("multiply", centred, centred)
    variance = f.op("reduce_mean", squares, axes=axes, keep_dims=True)
    inv_std = f.op("divide", f.scalar(1), deviation(f, call, variance))
    return f.op("multiply", centred, inv_std), mean, inv_std


def deviation(f: Formula, call: OpCall, variance: Tensor) -> Tensor:
    """``sqrt(variance + epsilon)``."""
    return f.op("sqrt", f.op("add", variance, f.scalar(call.float_attr("epsilon"))))
