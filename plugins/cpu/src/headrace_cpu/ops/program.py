"""cpu.elementwise: several elementwise ops as one, a small program of ``steps.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import DType, float32
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input
from headrace.ops.elementwise import Elementwise
from headrace.tensor_spec import Array
from headrace_cpu.ops.steps import COMPUTED, RESULTS, STEPS, parse, place_of


class Program(Elementwise):
    """Steps on elements at one index, of inputs that are broadcast together.

    Attributes:
        steps: in order, each a name of ``STEPS`` and operands: ``i0`` is an input, ``t0`` what an
            earlier step made, and anything else a number. The last step makes the result.

    Numbers and what steps make are float32, truth 1 and 0; the result is bool if the last step
    makes truth, of the integer or the type of 16 bits that it quantizes or rounds to. Integers are
    rounded to float32 first.
    """

    name = "cpu.elementwise"
    inputs = (Input("xs", COMPUTED, group="", variadic=True),)
    attrs = (Attr("steps", "strs"),)

    @classmethod
    def result_dtype(cls, call: OpCall) -> DType:
        return RESULTS.get(parse(call)[-1][0], float32)


def elementwise(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.elementwise``: one step after another."""
    made: list[Array] = []

    def value(operand: str) -> Array:
        place = place_of(operand)
        if place is None:
            return np.array(operand, np.float32)
        return made[place] if operand[0] == "t" else given(inputs, place).astype(np.float32)

    for name, *operands in parse(call):
        made.append(STEPS[name][1](*map(value, operands)).astype(np.float32))
    outputs[0][...] = made[-1]
