"""Sequences and optional values at the ends of a job: they are fed, and given, as their tensors.

A job has tensors only. Of a sequence its tensors travel one by one, beside a number that says how
many they are; of an optional value that is a tensor, that tensor; of one that is none, nothing is
fed, and the number that is given is ``NONE``. So a job is found again by how many there are, as by
their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import ValueInfoProto

from headrace.dtypes import DType
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.file.text import quote
from headrace.onnx.importing.values import Nothing, TensorSequence, Value, is_list
from headrace.ops import Tensor
from headrace.tensor_spec import Array

NONE = -1


def tensors_dtype(declared: ValueInfoProto, model: str) -> DType:
    """The dtype of the tensors that an input, a sequence or an optional value, is made of.

    Raises:
        UnsupportedModelError: headrace has no such dtype.
    """
    kind = declared.type
    while is_list(kind):
        is_sequence = kind.HasField("sequence_type")
        kind = (kind.sequence_type if is_sequence else kind.optional_type).elem_type
    return dtype_from_onnx(kind.tensor_type.elem_type, f"{model}: input {quote(declared.name)}")


def taken_apart(name: str, value: list[Array] | Array | None) -> dict[str, Array]:
    """What is fed to a job for a value called ``name``."""
    if value is None:
        return {}
    if not isinstance(value, list):
        return {name: value}
    tensors = {_tensor_name(name, index): tensor for index, tensor in enumerate(value)}
    return {_length_name(name): np.array(len(value), np.int64), **tensors}


def put_together(name: str, made: Mapping[str, Array]) -> Any:
    """The value that a job has given as its tensors."""
    length = made.get(_length_name(name))
    if length is None:
        return made[name]
    if length == NONE:
        return None
    return [made[_tensor_name(name, index)] for index in range(int(length))]


def fed_as(declared: ValueInfoProto, given: Callable[[str], Tensor | None], model: str) -> Value:
    """The value of an input, of what was ``given`` for it by name."""
    name = declared.name
    if given(_length_name(name)) is None:
        return given(name) or Nothing()
    tensors: list[Tensor] = []
    while (tensor := given(_tensor_name(name, len(tensors)))) is not None:
        tensors.append(tensor)
    return TensorSequence(tuple(tensors), tensors_dtype(declared, model))


def given_as(name: str, value: Value, number: Callable[[Array], Tensor]) -> dict[str, Tensor]:
    """The outputs of a job for a value called ``name``; ``number`` makes constants."""
    if isinstance(value, Tensor):
        return {name: value}
    tensors = value.tensors if isinstance(value, TensorSequence) else ()
    length = NONE if isinstance(value, Nothing) else len(tensors)
    outputs = {_tensor_name(name, index): tensor for index, tensor in enumerate(tensors)}
    return {_length_name(name): number(np.array(length, np.int64)), **outputs}


def _length_name(name: str) -> str:
    return f"length of {name}"


def _tensor_name(name: str, index: int) -> str:
    return f"tensor {index} of {name}"
