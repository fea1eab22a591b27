"""The steps of a ``cpu.elementwise``: what there are, what each does, how a program names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from headrace.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)
from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.tensor_spec import Array

STEPS: Mapping[str, tuple[int, Callable[..., Array]]] = {
    "add": (2, np.add),
    "subtract": (2, np.subtract),
    "multiply": (2, np.multiply),
    "divide": (2, np.divide),
    "maximum": (2, np.maximum),
    "minimum": (2, np.minimum),
    "power": (2, np.power),
    "negative": (1, np.negative),
    "abs": (1, np.abs),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "round": (1, np.rint),
    "sqrt": (1, np.sqrt),
    "reciprocal": (1, np.reciprocal),
    "exp": (1, np.exp),
    "log": (1, np.log),
    "erf": (1, lambda x: np.vectorize(math.erf, [np.float64])(x)),
    "sigmoid": (1, lambda x: 1 / (1 + np.exp(-x.astype(np.float64)))),
    "tanh": (1, np.tanh),
    "asin": (1, np.arcsin),
    "acos": (1, np.arccos),
    "atan": (1, np.arctan),
    "sin": (1, np.sin),
    "cos": (1, np.cos),
    "relu": (1, lambda x: np.maximum(x, 0)),
    "clip": (3, lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    "leaky_relu": (2, lambda x, alpha: np.where(x < 0, x * alpha, x)),
    "hard_sigmoid": (3, lambda x, alpha, beta: np.clip(x * alpha + beta, 0, 1)),
    "hard_swish": (1, lambda x: x * np.clip(x / 6 + np.float32(0.5), 0, 1)),
    "swish": (2, lambda x, alpha: x / (1 + np.exp(-(alpha * x).astype(np.float64)))),
    "equal": (2, np.equal),
    "less": (2, np.less),
    "less_equal": (2, np.less_equal),
    "greater": (2, np.greater),
    "greater_equal": (2, np.greater_equal),
    "logical_and": (2, np.logical_and),
    "logical_or": (2, np.logical_or),
    "logical_not": (1, np.logical_not),
    "is_nan": (1, np.isnan),
    "where": (3, lambda condition, x, y: np.choose(condition != 0, [y, x])),
    "identity": (1, lambda x: x),
    "dequantize": (3, lambda x, scale, zero: (x - zero) * scale),
    "quantize_int8": (3, lambda x, scale, zero: _whole(x, scale, zero, -128, 127)),
    "quantize_uint8": (3, lambda x, scale, zero: _whole(x, scale, zero, 0, 255)),
    "quantize_int16": (3, lambda x, scale, zero: _whole(x, scale, zero, -32768, 32767)),
    "quantize_uint16": (3, lambda x, scale, zero: _whole(x, scale, zero, 0, 65535)),
    "float16": (1, lambda x: x.astype(np.float16)),
    "bfloat16": (1, lambda x: x.astype(bfloat16.numpy)),
}
"""Step -> how many operands it has, and what it does; as ``program.h`` has them."""

_COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
TRUTHS = frozenset((*_COMPARISONS, "logical_and", "logical_or", "logical_not", "is_nan"))
"""Steps that make truth values."""

RESULTS: Mapping[str, DType] = {
    **dict.fromkeys(TRUTHS, bool_),
    "quantize_int8": int8,
    "quantize_uint8": uint8,
    "quantize_int16": int16,
    "quantize_uint16": uint16,
    "float16": float16,
    "bfloat16": bfloat16,
}
"""Steps whose results are no float32 where they are the last."""

COMPUTED = frozenset({float32, float16, bfloat16, bool_, int8, uint8, int16, uint16, int32, int64})
"""What programs read."""


def _whole(x: Array, scale: Array, zero: Array, low: float, high: float) -> Array:
    whole: Array = np.nan_to_num(np.clip(np.rint(x / scale) + zero, low, high), nan=0)
    return whole


MOST_OPERANDS = 64
"""Inputs, numbers and steps of a program, together."""

Step = tuple[str, ...]
"""A step's name and its operands."""


def parse(call: OpCall) -> Sequence[Step]:
    """The steps of a program.

    Raises:
        OpError: there are none, or one is not as ``Program`` says.
    """
    texts = call.attrs["steps"]
    assert isinstance(texts, tuple)
    try:
        return _parsed(texts, len(call.inputs))
    except ValueError as error:
        fail(call, str(error), OpError)


@lru_cache(maxsize=256)
def _parsed(texts: tuple[object, ...], inputs: int) -> Sequence[Step]:
    """The steps of these texts, once for all the blocks of a net that are alike.

    Raises:
        ValueError: what is wrong with them.
    """
    steps: list[Step] = []
    for text in texts:
        name, *operands = str(text).split()
        if name not in STEPS or len(operands) != STEPS[name][0]:
            raise ValueError(f"there is no step {text!r}")
        for operand in operands:
            place = place_of(operand)
            there = len(steps) if operand[0] == "t" else inputs
            if not _is_number(operand) if place is None else place >= there:
                raise ValueError(f"step {text!r} reads {operand}, which is not there")
        steps.append((name, *operands))
    if not steps:
        raise ValueError("has no steps")
    return tuple(steps)


def place_of(operand: str) -> int | None:
    """Which input or step an operand is; None for a number, of which ``inf`` begins like one."""
    return int(operand[1:]) if operand[0] in "it" and operand[1:].isdecimal() else None


def _is_number(operand: str) -> bool:
    try:
        float(operand)
    except ValueError:
        return False
    return True
