"""Where the bytes of tensors lie in a model file: found in its wire format, without copies.

A protobuf message is a sequence of fields, each a key and a value whose length can be told. Tensors
that are large enough to be worth finding lie in initializers, and in attributes of nodes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from headrace.tensor_spec import Array

LEAST_BYTES = 1024
"""Smaller tensors are not looked for."""

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5  # fields of ModelProto, GraphProto, GraphProto
_ATTRIBUTE, _TENSOR, _RAW_DATA = 5, 5, 9  # of NodeProto, AttributeProto, TensorProto
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_HEAD_BYTES = 4096


class StoredBytes:
    """Finds arrays in files that are there anyway.

    Args:
        files: what they hold; the first is the model, the others have elements of tensors only.
    """

    def __init__(self, files: Sequence[bytes | memoryview]) -> None:
        self._files = [memoryview(file) for file in files]
        self._places: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for start, end in raw_data_of(self._files[0]):
            self._add(0, start, end)
        for number, file in enumerate(self._files[1:], 1):
            self._add(number, 0, len(file))

    def find(self, array: Array) -> tuple[int, int] | None:
        """(file, offset) of the bytes of ``array``; None when they are in none of the files."""
        if array.nbytes < LEAST_BYTES or not array.flags.c_contiguous:
            return None
        data = array.reshape(-1).view("u1").data
        for number, start in self._places.get(_key(data), ()):
            if self._files[number][start : start + len(data)] == data:
                return number, start
        return None

    def _add(self, number: int, start: int, end: int) -> None:
        if end - start >= LEAST_BYTES:
            key = _key(self._files[number][start:end])
            self._places.setdefault(key, []).append((number, start))


def _key(data: memoryview) -> tuple[int, int]:
    return len(data), zlib.crc32(data[:_HEAD_BYTES])


def raw_data_of(model: memoryview) -> Iterator[tuple[int, int]]:
    """(start, end) of ``raw_data`` of initializers and of attributes, of the large ones."""
    for graph in _parts(model, (0, len(model)), _GRAPH):
        for tensor in _parts(model, graph, _INITIALIZER):
            yield from _parts(model, tensor, _RAW_DATA)
        for node in _parts(model, graph, _NODE):
            for attribute in _parts(model, node, _ATTRIBUTE):
                for tensor in _parts(model, attribute, _TENSOR):
                    yield from _parts(model, tensor, _RAW_DATA)


def _parts(data: memoryview, within: tuple[int, int], field: int) -> Iterator[tuple[int, int]]:
    """The values of a field that are large enough; stops where it understands no more."""
    position, end = within
    while position < end:
        key, position = _varint(data, position, end)
        kind = key & 7
        if kind == _VARINT:
            _, position = _varint(data, position, end)
        elif kind == _FIXED64:
            position += 8
        elif kind == _FIXED32:
            position += 4
        elif kind == _BYTES:
            length, position = _varint(data, position, end)
            if position + length > end:
                return
            if key >> 3 == field and length >= LEAST_BYTES:
                yield position, position + length
            position += length
        else:
            return


def _varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return 0, end
