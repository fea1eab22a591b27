"""Changes of dtype, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from headrace.dtypes import bfloat16, storage_only
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _cast(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, out = given(inputs, 0), outputs[0]
    source, target = call.input(0).dtype, call.outputs[0].dtype
    if source == target:
        np.copyto(out, x)
        return
    if source.is_float and source.itemsize < 4:
        x = x.astype(np.float32)  # exact, and a dtype whose every conversion numpy has
    if target.is_float and storage_only(target):
        to_float8(x, out, call)
    elif target == bfloat16:
        out[...] = _once(x).astype(out.dtype)
    elif target.is_int:
        carrier = np.dtype(np.int32) if storage_only(target) else out.dtype
        out[...] = (_cut(x, carrier) if source.is_float else x.astype(carrier)).astype(out.dtype)
    else:
        out[...] = x.astype(out.dtype)


def _cut(x: Array, dtype: np.dtype[Any]) -> Array:
    """Floats as integers: cut towards zero, kept within the range; NaN becomes 0."""
    limits = np.iinfo(dtype)
    low, beyond = float(limits.min), 2.0 ** int(limits.max).bit_length()  # both exact
    y = np.where((x >= low) & (x < beyond), x, 0).astype(dtype)
    y[x >= beyond] = limits.max
    y[x < low] = limits.min
    return y


def _once(x: Array) -> Array:
    """Float32 that rounds to a narrower float as ``x`` itself does.

    Rounding to nearest twice can go wrong: the first step may end on a tie of the second. So the
    first cuts, and marks what it cut off in its last bit ("rounding to odd"), which then breaks it.
    """
    if x.dtype == np.float32:
        return x
    exact = _mark_low_bits(x).astype(np.float64)
    y: Array = np.array(exact, np.float32)
    inexact = y != exact
    np.copyto(y, np.nextafter(y, np.float32(0)), where=np.abs(y) > np.abs(exact))
    bits = y.view(np.uint32)
    np.bitwise_or(bits, 1, out=bits, where=inexact & ~np.isnan(y))
    return y


def _mark_low_bits(x: Array) -> Array:
    """Great integers of 64 bits as integers that float64 holds, marked in the same way."""
    if x.dtype not in (np.int64, np.uint64):
        return x
    rest = x & x.dtype.type(2047)  # float64 has 53 bits
    great = x.astype(np.float64)
    marked = (x - rest) | np.where(rest != 0, 2048, 0).astype(x.dtype)
    return np.where(np.abs(great) >= 2.0**53, marked, x)


def to_float8(x: Array, out: Array, call: OpCall) -> None:
    """Round floats to those of 8 bits, as the attribute ``saturate`` of ``call`` says."""
    x = _once(x)
    if call.flag_attr("saturate"):
        info = ml_dtypes.finfo(out.dtype)
        greatest = float(info.max)
        x = np.clip(x, -greatest, greatest)
    out[...] = x.astype(out.dtype)


FUNCTIONS: Mapping[str, NumpyFunction] = {"cast": _cast}
