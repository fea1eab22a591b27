"""What is fed to a model that takes text or sequences, checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ValueInfoProto

from headrace.errors import InputError
from headrace.onnx.importing.lists import tensors_dtype
from headrace.onnx.signature import TensorInfo, check_array, check_names, check_shape, input_place
from headrace.tensor_spec import Array

_SEQUENCE = "sequence of tensors"


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
    value: list[Array] | Array | None, info: TensorInfo, model: str
) -> list[Array] | Array | None:
    """A sequence of tensors, or an optional value, that a device takes.

    Args:
        value: what is fed.
        info: as ``list_info`` says it.
        model: its name, for messages.

    Raises:
        InputError: it is no sequence but an optional value may be one, or the other way about; a
            tensor is of another dtype than the model says.
    """
    if value is None:
        return None
    if isinstance(value, list) != (info.kind == _SEQUENCE):
        wanted = "a list of arrays" if info.kind == _SEQUENCE else "an array"
        raise InputError(
            f"{input_place(info, model)}: is an optional {info.kind}; give {wanted}, or None, "
            f"not {type(value).__name__}"
        )
    if not isinstance(value, list):
        return check_array(value, info, model)
    each = (TensorInfo(f"{info.name}[{index}]", info.dtype, None) for index in range(len(value)))
    return [check_array(tensor, of, model) for tensor, of in zip(value, each, strict=True)]


def list_info(declared: ValueInfoProto, model: str) -> TensorInfo:
    """What a device takes for an input: a tensor, or a sequence; and the dtype of its tensors.

    Raises:
        UnsupportedModelError: headrace has no such dtype.
    """
    of = declared.type
    while of.HasField("optional_type"):
        of = of.optional_type.elem_type
    kind = _SEQUENCE if of.HasField("sequence_type") else "tensor"
    return TensorInfo(declared.name, tensors_dtype(declared, model), None, kind=kind)


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
