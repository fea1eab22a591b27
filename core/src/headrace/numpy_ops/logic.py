"""Comparisons, logic, bits, and the choice between two tensors, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise, ufunc
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _is_inf(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.isinf(xs[0], out=out)
    for attr, sign in (("detect_positive", 1), ("detect_negative", -1)):
        if not call.flag_attr(attr):
            np.logical_and(out, xs[0] != sign * np.inf, out=out)


def _bit_shift(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    # Counts outside the number of bits, negative ones too, give 0 or the sign in numpy as well.
    shift = np.left_shift if call.str_attr("direction") == "left" else np.right_shift
    shift(xs[0], xs[1], out=out)


def _where(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    np.copyto(outputs[0], given(inputs, 2))
    np.copyto(outputs[0], given(inputs, 1), where=given(inputs, 0))


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "equal": ufunc(np.equal),
    "greater": ufunc(np.greater),
    "less": ufunc(np.less),
    "greater_equal": ufunc(np.greater_equal),
    "less_equal": ufunc(np.less_equal),
    "logical_and": ufunc(np.logical_and),
    "logical_or": ufunc(np.logical_or),
    "logical_xor": ufunc(np.logical_xor),
    "logical_not": ufunc(np.logical_not),
    "is_nan": ufunc(np.isnan),
    "is_inf": elementwise(_is_inf),
    "bitwise_and": ufunc(np.bitwise_and),
    "bitwise_or": ufunc(np.bitwise_or),
    "bitwise_xor": ufunc(np.bitwise_xor),
    "bitwise_not": ufunc(np.invert),
    "bit_shift": elementwise(_bit_shift),
    "where": _where,
}
