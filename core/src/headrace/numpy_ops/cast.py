"""Changes of dtype, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from headrace.dtypes import DType, storage_only
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
    if target.is_int and source.is_float:
        _float_to_int(x, out, target)
    elif target.is_float and storage_only(target):
        _to_float8(x if x.dtype.kind == "f" else x.astype(np.float32), out, call)
    elif target.is_int and storage_only(target):
        out[...] = x.astype(np.int8).astype(out.dtype)  # its low four bits
    else:
        out[...] = x.astype(out.dtype)


def _float_to_int(x: Array, out: Array, target: DType) -> None:
    """Cut towards zero, keep within the range; NaN becomes 0."""
    info = ml_dtypes.iinfo(out.dtype)  # type: ignore[no-untyped-call]
    low, beyond = float(info.min), float(info.max) + 1.0  # exact: both are powers of two, or 0
    if target.itemsize == 8:
        beyond = 2.0 ** (63 if target.kind == "i" else 64)  # the sum above was rounded
    carrier = np.dtype(np.int8) if storage_only(target) else out.dtype
    y = np.where((x >= low) & (x < beyond), x, 0).astype(carrier)
    y[x >= beyond] = int(info.max)
    y[x < low] = int(info.min)
    out[...] = y.astype(out.dtype)


def _to_float8(x: Array, out: Array, call: OpCall) -> None:
    if call.flag_attr("saturate"):
        info = ml_dtypes.finfo(out.dtype)  # type: ignore[no-untyped-call]
        greatest = float(info.max)
        x = np.clip(x, -greatest, greatest)
    out[...] = x.astype(out.dtype)


FUNCTIONS: Mapping[str, NumpyFunction] = {"cast": _cast}
