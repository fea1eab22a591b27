"""Elementwise functions of one tensor, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise, ufunc
from headrace.numpy_ops.erf import erf
from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _relu(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.maximum(xs[0], xs[0].dtype.type(0), out=out)


def _erf(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    out[...] = erf(xs[0])


def _sigmoid(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    sigmoid(xs[0], out)


def sigmoid(x: Array, out: Array) -> None:
    """``1 / (1 + exp(-x))`` into ``out``; where ``exp`` overflows, that is 0."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, out.dtype.type(1), out=out)
    np.reciprocal(out, out=out)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "relu": elementwise(_relu),
    "negative": ufunc(np.negative),
    "abs": ufunc(np.absolute),
    "sign": ufunc(np.sign),
    "floor": ufunc(np.floor),
    "ceil": ufunc(np.ceil),
    "round": ufunc(np.rint),
    "sqrt": ufunc(np.sqrt),
    "reciprocal": ufunc(np.reciprocal),
    "exp": ufunc(np.exp),
    "log": ufunc(np.log),
    "erf": elementwise(_erf),
    "sigmoid": elementwise(_sigmoid),
    "sin": ufunc(np.sin),
    "cos": ufunc(np.cos),
    "tan": ufunc(np.tan),
    "asin": ufunc(np.arcsin),
    "acos": ufunc(np.arccos),
    "atan": ufunc(np.arctan),
    "sinh": ufunc(np.sinh),
    "cosh": ufunc(np.cosh),
    "tanh": ufunc(np.tanh),
    "asinh": ufunc(np.arcsinh),
    "acosh": ufunc(np.arccosh),
    "atanh": ufunc(np.arctanh),
}
