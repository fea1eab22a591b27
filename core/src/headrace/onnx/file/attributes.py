"""Attributes of nodes as Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file import tensors
from headrace.onnx.file.content import Extent
from headrace.onnx.file.lists import read_list
from headrace.onnx.file.text import quote

Attributes = Mapping[str, AttributeProto]

_NO_REFERENCES: Attributes = {}
_NO_LISTS: Mapping[str, Extent] = {}
# How numbers are read, of which no message tells; the lists are copied.
_NUMBERS: Mapping[int, Callable[[AttributeProto], Any]] = {
    AttributeProto.INT: attrgetter("i"),
    AttributeProto.FLOAT: attrgetter("f"),
    AttributeProto.INTS: lambda attribute: attribute.ints[:],
    AttributeProto.FLOATS: lambda attribute: attribute.floats[:],
}
_NO_VALUES = frozenset(
    {
        AttributeProto.GRAPH,
        AttributeProto.GRAPHS,
        AttributeProto.TYPE_PROTO,
        AttributeProto.TYPE_PROTOS,
    }
)


class Resolved(NamedTuple):
    """The attributes of a node at its place.

    Attributes:
        protos: as the file, or the call of a function, has them.
        kinds: name and type number of each.
        numbers: the values of those that are numbers, or lists of numbers.
        graphs: those that are graphs, or among lists of graphs.
        names: of all, also of those that refer to what is left out.
        lists: where the elements lie of those that are long lists, which are empty here.
    """

    protos: Attributes
    kinds: tuple[tuple[str, int], ...]
    numbers: Mapping[str, Any]
    graphs: Sequence[GraphProto]
    names: Sequence[str]
    lists: Mapping[str, Extent] = _NO_LISTS


def resolve(attributes: Sequence[AttributeProto], given: Attributes = _NO_REFERENCES) -> Resolved:
    """The attributes by name, where those of a function's body may refer to those of its call.

    A reference to what the call leaves out leaves the attribute out.
    """
    if not attributes:
        return _NO_ATTRIBUTES
    protos: dict[str, AttributeProto] = {}
    kinds: list[tuple[str, int]] = []
    numbers: dict[str, Any] = {}
    names: list[str] = []
    for attribute in attributes:
        name, source = attribute.name, attribute.ref_attr_name
        names.append(name)
        if source:
            if source not in given:
                continue
            attribute = given[source]
        protos[name] = attribute
        kind = attribute.type
        kinds.append((name, kind))
        read = _NUMBERS.get(kind)
        if read is not None:
            numbers[name] = read(attribute)
    inner = () if len(numbers) == len(protos) else list(graphs(protos.values()))
    return Resolved(protos, tuple(kinds), numbers, inner, names)


_NO_ATTRIBUTES = Resolved({}, (), {}, (), ())


def values(attributes: Resolved, where: str, folder: Path | None) -> Mapping[str, Any]:
    """Each attribute as int, float, str, array, or a list of these; a long list as an array.

    Graphs are left out, and types: those of values that are none, of which nothing is computed.

    Raises:
        InvalidModelError: a value is malformed.
        UnsupportedModelError: it is a tensor of a dtype headrace lacks.
    """
    protos, kinds, numbers, _, _, lists = attributes
    if len(numbers) == len(protos) and not lists:
        return numbers
    found = dict(numbers)
    for name, kind in kinds:
        if name not in numbers and kind not in _NO_VALUES:
            found[name] = value(protos[name], f"{where}, attribute {quote(name)}", folder)
    for name, elements in lists.items():
        found[name] = _long(protos[name], elements, f"{where}, attribute {quote(name)}")
    return found


def _long(attribute: AttributeProto, elements: Extent, where: str) -> Any:
    """A long list: an array, or ``Words``; a list where other fields are among its elements."""
    made = read_list(attribute.type, elements)
    return value(whole(attribute, elements, where), where, None) if made is None else made


def whole(attribute: AttributeProto, elements: Extent, where: str) -> AttributeProto:
    """An attribute with the elements that were cut out of it.

    Raises:
        InvalidModelError: they cannot be read, or are damaged.
    """
    made = AttributeProto()
    made.CopyFrom(attribute)
    try:
        made.MergeFromString(elements.part())
    except DecodeError as error:
        raise InvalidModelError(f"{where}: its elements are damaged") from error
    if form_of(made) != form_of(attribute):
        raise InvalidModelError(f"{where}: says twice what it is")
    return made


def value(attribute: AttributeProto, where: str, folder: Path | None) -> Any:
    """One attribute that is not a graph.

    Raises:
        InvalidModelError, UnsupportedModelError: as ``values``.
    """
    kind = attribute.type
    if kind in _NUMBERS:
        return _NUMBERS[kind](attribute)
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


form_of = attrgetter("name", "type", "ref_attr_name")
"""What an attribute says besides its value."""


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
