"""What a model takes and gives, and the check of what a caller feeds."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from headrace.dtypes import DType
from headrace.errors import DTypeError, InputError
from headrace.light_dataclass import dataclass
from headrace.onnx.file.text import quote, quote_all
from headrace.tensor_spec import Array, TensorSpec

Shape = tuple[int | str | None, ...]
"""Dimensions that are fixed, that have a name, or that have neither."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input or output of a model, as the model declares it.

    Attributes:
        name: as the model says it.
        dtype: None for an output whose dtype the model does not declare.
        shape: a number for a fixed dimension, a name for one that may be any, None for one that
            may be any and has no name; None in place of a shape when not even the rank is given.
        optional: it has a value in the model that is used when nothing is fed.
        kind: ``tensor`` of numbers, or what the host alone has: ``text``, a tensor of ``str``;
            ``sequence of tensors``, a list of arrays; ``sequence of maps``, a list of dicts.
    """

    name: str
    dtype: DType | None
    shape: Shape | None
    optional: bool = False
    kind: str = "tensor"

    def __str__(self) -> str:
        if self.kind not in ("tensor", "text"):
            return self.kind
        of = "text" if self.kind == "text" else self.dtype or "?"
        if self.shape is None:
            return f"{of}[...]"
        return f"{of}[{', '.join('?' if d is None else str(d) for d in self.shape)}]"


def check_names(
    feeds: Mapping[str, object], inputs: tuple[TensorInfo, ...], model: str
) -> dict[str, TensorInfo]:
    """Check the names of what is fed; returns the inputs that are, in their order.

    Raises:
        InputError: a name is missing or unknown.
    """
    if not isinstance(feeds, Mapping):
        raise InputError(
            f"{model}: inputs are given as a mapping of names to arrays, "
            f"not as {type(feeds).__name__}"
        )
    known = {info.name: info for info in inputs}
    if feeds.keys() == known.keys():
        return known
    missing = [info.name for info in inputs if not info.optional and info.name not in feeds]
    extra = [name for name in feeds if name not in known]
    if missing or extra:
        required = [info.name for info in inputs if not info.optional]
        parts = [f"no input is called {quote_all(map(str, extra))}"] if extra else []
        parts += [f"{quote_all(missing)} not given"] if missing else []
        raise InputError(
            f"{model}: {'; '.join(parts)}; the model's inputs are {quote_all(required) or 'none'}"
        )
    return {name: info for name, info in known.items() if name in feeds}


def check_spec(spec: TensorSpec, info: TensorInfo, model: str) -> None:
    """Check the dtype and shape of what is fed to an input.

    Raises:
        InputError: the model declares another dtype, rank or dimension.
    """
    if spec.dtype != info.dtype:
        raise InputError(
            f"{input_place(info, model)}: is {spec} and the model takes {info}; "
            f"if no value is lost by it, give array.astype({str(info.dtype)!r})"
        )
    if not _fits(spec.shape, info):
        raise InputError(f"{input_place(info, model)}: is {spec} and the model takes {info}")


def check_shape(shape: tuple[int, ...], info: TensorInfo, model: str) -> None:
    """Check the shape of what is fed to an input, whatever it is a tensor of.

    Raises:
        InputError: the model declares another rank or dimension.
    """
    if not _fits(shape, info):
        raise InputError(
            f"{input_place(info, model)}: is of shape {list(shape)} and the model takes {info}"
        )


def _fits(shape: tuple[int, ...], info: TensorInfo) -> bool:
    if info.shape is None:
        return True
    if len(info.shape) != len(shape):
        return False
    for wanted, dim in zip(info.shape, shape, strict=True):
        if isinstance(wanted, int) and wanted != dim:
            return False
    return True


def check_array(value: object, info: TensorInfo, model: str) -> Array:
    """Check what is fed to an input; returns it in the machine's byte order, row by row.

    Raises:
        InputError: it is no array, or does not fit. Nothing is converted that could change a
            value: a list has no dtype, and a masked array would lose its mask.
    """
    if _is_masked(value) or not isinstance(value, (np.ndarray, np.generic)):
        raise InputError(
            f"{input_place(info, model)}: is of type {type(value).__name__}; give a numpy array, "
            f"for example np.asarray(value, {str(info.dtype)!r})"
        )
    array = np.asarray(value)
    try:
        spec = TensorSpec.of(array)
    except DTypeError as error:
        raise InputError(f"{input_place(info, model)}: {error}") from None
    check_spec(spec, info, model)
    if array.flags.c_contiguous and array.dtype.isnative:
        return array
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native).reshape(spec.shape)


def _is_masked(value: object) -> bool:
    """Without importing numpy.ma, which takes longer than loading a small model, to find out."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def input_place(info: TensorInfo, model: str) -> str:
    """Which input a message is about."""
    return f"{model}: input {quote(info.name)}"
