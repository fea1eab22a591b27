"""cpu.widen: weights of 16 bits in float32."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.dtypes import float32
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Input, Op
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.halves import HALVES


class Widen(Op):
    """Every number of x as the float32 that it is.

    A ``cast``, but for weights: products that read them as they are stored see through it, and for
    others it is folded together with what packs them.
    """

    name = "cpu.widen"
    folds_late = True
    inputs = (Input("x", frozenset(HALVES)),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (TensorSpec(call.input(0).shape, float32),)


def widen(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.widen``."""
    outputs[0][...] = given(inputs, 0)
