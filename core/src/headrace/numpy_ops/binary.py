"""Elementwise arithmetic of two or more tensors, with broadcasting, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.numpy_ops.elementwise import elementwise, ufunc
from headrace.numpy_ops.function import NumpyFunction
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _divide(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    a, b = xs
    if out.dtype.kind == "f":
        np.divide(a, b, out=out)
    elif out.dtype.kind == "u":
        np.floor_divide(a, b, out=out)
    else:
        # Less its remainder, `a` is a multiple of `b`: rounding down changes nothing any more.
        np.floor_divide(a - np.fmod(a, b), b, out=out)


def _power(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    a, b = xs
    if out.dtype.kind != "i":
        np.power(a, b, out=out)
        return
    # numpy refuses negative exponents of integers: 1 / a**n is a whole number for 1 and -1 only,
    # and for these a**-n is a**n; every other base gives 0.
    whole = np.where((b < 0) & (np.absolute(a) != 1), 0, a)
    exponent = np.where(b == np.iinfo(b.dtype).min, 2, np.absolute(b))
    np.power(whole, exponent, out=out)


def _mod(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    remainder = np.fmod if call.flag_attr("fmod") else np.mod
    remainder(xs[0], xs[1], out=out)


def _add_n(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    np.copyto(out, xs[0])
    for x in xs[1:]:
        np.add(out, x, out=out)


def _bias_add(call: OpCall, xs: Sequence[Any], out: Array) -> None:
    x, bias = xs
    trailing = x.ndim - 1 - call.int_attr("axis") % x.ndim
    np.add(x, bias.reshape(-1, *(1,) * trailing), out=out)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "add": ufunc(np.add),
    "subtract": ufunc(np.subtract),
    "multiply": ufunc(np.multiply),
    "divide": elementwise(_divide),
    "maximum": ufunc(np.maximum),
    "minimum": ufunc(np.minimum),
    "power": elementwise(_power),
    "mod": elementwise(_mod),
    "add_n": elementwise(_add_n),
    "bias_add": elementwise(_bias_add),
}
