"""Attributes of nodes as Python values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto, GraphProto

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx import tensors
from headrace.onnx.text import quote

Attributes = Mapping[str, AttributeProto]

_NO_REFERENCES: Attributes = {}
# Which field holds a value of a type; the lists are copied.
_SCALARS = {AttributeProto.INT: "i", AttributeProto.FLOAT: "f"}
_LISTS = {AttributeProto.INTS: "ints", AttributeProto.FLOATS: "floats"}
_NO_VALUES = (
    AttributeProto.GRAPH,
    AttributeProto.GRAPHS,
    AttributeProto.TYPE_PROTO,
    AttributeProto.TYPE_PROTOS,
)


def resolve(attributes: Sequence[AttributeProto], given: Attributes = _NO_REFERENCES) -> Attributes:
    """The attributes by name, where those of a function's body may refer to those of its call.

    A reference to what the call leaves out leaves the attribute out.
    """
    found: dict[str, AttributeProto] = {}
    if not attributes:
        return found
    for attribute in attributes:
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in given:
            found[attribute.name] = given[attribute.ref_attr_name]
    return found


def values(attributes: Attributes, where: str, folder: Path | None) -> dict[str, Any]:
    """Each attribute as int, float, str, array, or a list of these.

    Graphs are left out, and types: those of values that are none, of which nothing is computed.

    Raises:
        InvalidModelError: a value is malformed.
        UnsupportedModelError: it is a tensor of a dtype headrace lacks.
    """
    found: dict[str, Any] = {}
    for name, attribute in attributes.items():
        kind = attribute.type
        if kind not in _NO_VALUES:
            simple = kind in _SCALARS or kind in _LISTS  # of these no message tells
            place = where if simple else f"{where}, attribute {quote(name)}"
            found[name] = value(attribute, place, folder)
    return found


def value(attribute: AttributeProto, where: str, folder: Path | None) -> Any:
    """One attribute that is not a graph.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``values``.
    """
    kind = attribute.type
    if kind in _SCALARS:
        return getattr(attribute, _SCALARS[kind])
    if kind in _LISTS:
        return list(getattr(attribute, _LISTS[kind]))
    if kind == AttributeProto.STRING:
        return _text(attribute.s, where)
    if kind == AttributeProto.STRINGS:
        return [_text(item, where) for item in attribute.strings]
    if kind == AttributeProto.TENSOR:
        return tensors.to_array(attribute.t, where, folder)
    if kind == AttributeProto.TENSORS:
        return [tensors.to_array(item, where, folder) for item in attribute.tensors]
    if kind == AttributeProto.SPARSE_TENSOR:
        return tensors.sparse_to_array(attribute.sparse_tensor, where, folder)
    try:
        name = AttributeProto.AttributeType.Name(kind).lower()
    except ValueError:
        raise InvalidModelError(f"{where}: ONNX has no attribute type {kind}") from None
    raise UnsupportedModelError(f"{where}: attributes of type {name} are not read")


def graphs(attributes: Iterable[AttributeProto]) -> Iterable[GraphProto]:
    """The graphs among the attributes."""
    for attribute in attributes:
        kind = attribute.type
        if kind == AttributeProto.GRAPH:
            yield attribute.g
        elif kind == AttributeProto.GRAPHS:
            yield from attribute.graphs


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidModelError(f"{where}: {data[:32]!r} is not UTF-8") from None
