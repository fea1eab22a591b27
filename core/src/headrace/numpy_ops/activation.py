"""Activations and limits, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise
from headrace.numpy_ops.erf import erf
from headrace.numpy_ops.function import NumpyFunction
from headrace.numpy_ops.unary import sigmoid
from headrace.op_call import OpCall
from headrace.tensor_spec import Array

# Each function writes `out`, which may be `x`, last: Python floats keep the dtype of an array.


def _clip(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    x, low, high = xs
    if low is not None:
        x = np.maximum(x, low.reshape(()), out=out)
    if high is not None:
        x = np.minimum(x, high.reshape(()), out=out)
    if x is not out:
        np.copyto(out, x)


def _hard_sigmoid(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    _limited_line(xs[0], call.float_attr("alpha"), call.float_attr("beta"), out)


def _hard_swish(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    gate = np.empty_like(out)
    _limited_line(xs[0], 1 / 6, 0.5, gate)
    np.multiply(xs[0], gate, out=out)


def _limited_line(x: Array, alpha: float, beta: float, out: Array) -> None:
    np.multiply(x, alpha, out=out)
    np.add(out, beta, out=out)
    np.clip(out, 0.0, 1.0, out=out)


def _swish(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    gate = np.empty_like(out)
    np.multiply(xs[0], call.float_attr("alpha"), out=gate)
    sigmoid(gate, gate)
    np.multiply(xs[0], gate, out=out)


def _leaky_relu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    _below_zero(xs[0], xs[0] * call.float_attr("alpha"), out)


def _thresholded_relu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    out[...] = np.where(xs[0] > call.float_attr("alpha"), xs[0], 0.0)


def _elu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    _below_zero(xs[0], np.expm1(xs[0]) * call.float_attr("alpha"), out)


def _celu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    x, alpha = xs[0], call.float_attr("alpha")
    bend = np.minimum(np.expm1(x / alpha) * alpha, 0.0)
    np.add(np.maximum(x, 0.0), bend, out=out)


def _selu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    alpha, gamma = call.float_attr("alpha"), call.float_attr("gamma")
    _below_zero(xs[0] * gamma, np.expm1(xs[0]) * (alpha * gamma), out)


def _softplus(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.logaddexp(xs[0], 0.0, out=out)


def _softsign(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.divide(xs[0], np.absolute(xs[0]) + 1.0, out=out)


def _mish(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.multiply(xs[0], np.tanh(np.logaddexp(xs[0], 0.0)), out=out)


def _gelu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    x = xs[0]
    if call.str_attr("approximate") == "none":
        bend = erf(x * math.sqrt(0.5)).astype(out.dtype)
    else:
        bend = np.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi))
    np.multiply(x * 0.5, bend + 1.0, out=out)


def _prelu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    _below_zero(xs[0], xs[0] * xs[1], out)


def _below_zero(x: Array, y: Array, out: Array) -> None:
    """``y`` where ``x`` is below zero, ``x`` elsewhere; NaN stays NaN."""
    below = x < 0
    np.copyto(out, x)
    np.copyto(out, y, where=below)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "clip": elementwise(_clip),
    "hard_sigmoid": elementwise(_hard_sigmoid),
    "hard_swish": elementwise(_hard_swish),
    "swish": elementwise(_swish),
    "leaky_relu": elementwise(_leaky_relu),
    "thresholded_relu": elementwise(_thresholded_relu),
    "elu": elementwise(_elu),
    "celu": elementwise(_celu),
    "selu": elementwise(_selu),
    "softplus": elementwise(_softplus),
    "softsign": elementwise(_softsign),
    "mish": elementwise(_mish),
    "gelu": elementwise(_gelu),
    "prelu": elementwise(_prelu),
}
