"""Running sums and products, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.elementwise import wide
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.running import NOTHING
from headrace.tensor_spec import Array


def _cumulative(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    reduction = call.str_attr("reduction")
    x = np.moveaxis(wide(given(inputs, 0)), call.int_attr("axis"), -1)
    out = np.moveaxis(outputs[0], call.int_attr("axis"), -1)
    if call.flag_attr("reverse"):
        x, out = x[..., ::-1], out[..., ::-1]
    combine = np.add if reduction == "sum" else np.multiply
    made = combine.accumulate(x, axis=-1, dtype=x.dtype)
    if not call.flag_attr("exclusive"):
        out[...] = made
    elif out.shape[-1]:
        out[..., 1:], out[..., 0] = made[..., :-1], NOTHING[reduction]


FUNCTIONS: Mapping[str, NumpyFunction] = {"cumulative": _cumulative}
