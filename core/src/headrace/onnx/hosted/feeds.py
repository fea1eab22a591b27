"""What is fed to a model that takes text or sequences, checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ValueInfoProto

from headrace.errors import InputError
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.file.text import quote
from headrace.onnx.importing.lists import element_of
from headrace.onnx.signature import TensorInfo, check_array, check_names, check_shape, input_place
from headrace.tensor_spec import Array


def check_feeds(
    feeds: Mapping[str, Any], inputs: tuple[TensorInfo, ...], model: str
) -> dict[str, Any]:
    """What is fed by name: arrays of numbers, of ``str`` as objects, lists of arrays, or maps.

    Raises:
        InputError: a name, a kind, a dtype or a shape is not the model's.
    """
    found = check_names(feeds, inputs, model)
    return {name: _checked(feeds[name], info, model) for name, info in found.items()}


def _checked(value: Any, info: TensorInfo, model: str) -> Any:
    if info.kind == "tensor":
        return check_array(value, info, model)
    if info.kind == "text":
        return _text(value, info, model)
    where = input_place(info, model)
    if info.kind.startswith("sequence"):
        if not isinstance(value, (list, tuple)):
            raise InputError(f"{where}: is a sequence; give a list, not {type(value).__name__}")
        return [np.asarray(item) for item in value]
    if info.kind == "map" and info.dtype is not None:
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: is a map; give a dict, not {type(value).__name__}")
        number = info.dtype.numpy.type
        return defaultdict(number, {key: number(item) for key, item in value.items()})
    if info.kind == "optional":
        is_list = isinstance(value, (list, tuple))
        return (
            [np.asarray(v) for v in value]
            if is_list
            else None
            if value is None
            else np.asarray(value)
        )
    raise InputError(f"{where}: is a {info.kind}, which headrace does not take")


def check_list(
    value: list[Array] | Array | None, declared: ValueInfoProto, model: str
) -> list[Array] | Array | None:
    """A sequence of tensors, or an optional value, that a device takes.

    Raises:
        InputError: a tensor is of another dtype than the model says.
    """
    where = f"{model}: input {quote(declared.name)}"
    dtype = dtype_from_onnx(element_of(declared.type).elem_type, where)
    info = TensorInfo(declared.name, dtype, None)
    if isinstance(value, list):
        return [check_array(tensor, info, model) for tensor in value]
    return None if value is None else check_array(value, info, model)


def _text(value: Any, info: TensorInfo, model: str) -> Any:
    if not isinstance(value, (np.ndarray, np.generic)):
        raise InputError(
            f"{input_place(info, model)}: is of type {type(value).__name__}; give a numpy array of "
            "text, for example np.array([['a', 'b']], object)"
        )
    array = np.asarray(value)
    if array.dtype.kind not in "OU" or not _is_text(array):
        raise InputError(
            f"{input_place(info, model)}: holds what is no text; every element must be a str"
        )
    check_shape(array.shape, info, model)
    return array.astype(object)


def _is_text(array: Any) -> bool:
    kinds = set(map(type, array.reshape(-1).tolist()))
    return kinds <= {str} or all(issubclass(kind, str) for kind in kinds)
