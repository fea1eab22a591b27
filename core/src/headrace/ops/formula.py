"""``Formula``: how ``decompose`` writes an op as a formula over simpler ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.dtypes import DType, bfloat16, float16, float32
from headrace.op_call import OpCall
from headrace.ops.schema import GraphBuilder, Tensor

HALF = frozenset({float16, bfloat16})
"""Floats that are computed in float32 and rounded once."""


class Formula:
    """Adds the ops of one decomposition; half floats go through float32 and come back at its end.

    Example, ``x * sigmoid(x)``::

        f = Formula(call, builder)
        x = f.take(inputs[0])
        return f.give(f.op("multiply", x, f.op("sigmoid", x)))
    """

    def __init__(self, call: OpCall, builder: GraphBuilder, wide: DType | None = None) -> None:
        """Begin; ``wide`` is the dtype to compute in when it is not the usual one."""
        self._builder = builder
        self._dtype = call.input(0).dtype
        self._computed = wide or (float32 if self._dtype in HALF else self._dtype)

    def take(self, tensor: Tensor | None) -> Tensor:
        """A given input of the first one's dtype, in the dtype that the formula is computed in."""
        assert tensor is not None, "ask for an optional input only when it is given"
        return self._cast(tensor, self._computed)

    def op(self, name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
        """Add an op with one output."""
        return self._builder.op(name, inputs, **attrs)[0]

    def scalar(self, value: float) -> Tensor:
        """A constant of rank 0 in the dtype that the formula is computed in."""
        return self._builder.constant(np.array(value, self._computed.numpy))

    def give(self, tensor: Tensor) -> tuple[Tensor, ...]:
        """The result, back in the dtype of the op's first input."""
        return (self._cast(tensor, self._dtype),)

    def _cast(self, tensor: Tensor, dtype: DType) -> Tensor:
        return tensor if tensor.spec.dtype == dtype else self.op("cast", tensor, dtype=dtype)
