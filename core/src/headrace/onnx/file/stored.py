"""Where the bytes of tensors lie in a model file: found in its wire format, without copies.

Tensors that are large enough to be worth finding lie in initializers, and in attributes of nodes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

from headrace.onnx.file import wire
from headrace.onnx.file.content import Content
from headrace.tensor_spec import Array

LEAST_BYTES = 1024
"""Smaller tensors are not looked for."""

_HEAD_BYTES = 4096


class StoredBytes:
    """Finds arrays in files that are there anyway.

    Args:
        files: what they hold; the first is the model, the others have elements of tensors only.
    """

    def __init__(self, files: Sequence[Content]) -> None:
        self._files = files
        self._places: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for start, end in raw_data_of(self._files[0]):
            self._add(0, start, end)
        for number, file in enumerate(self._files[1:], 1):
            self._add(number, 0, len(file))

    def find(self, array: Array) -> tuple[int, int] | None:
        """(file, offset) of the bytes of ``array``; None when they are in none of the files.

        Raises:
            InvalidModelError: a file cannot be read.
        """
        if array.nbytes < LEAST_BYTES or not array.flags.c_contiguous:
            return None
        data = array.reshape(-1).view("u1").data
        for number, start in self._places.get(_key(len(data), data[:_HEAD_BYTES]), ()):
            if self._files[number].begins(data, start):
                return number, start
        return None

    def _add(self, number: int, start: int, end: int) -> None:
        if end - start >= LEAST_BYTES:
            head = self._files[number].part(start, min(end, start + _HEAD_BYTES))
            key = _key(end - start, head)
            self._places.setdefault(key, []).append((number, start))


def _key(nbytes: int, head: bytes | memoryview) -> tuple[int, int]:
    return nbytes, zlib.crc32(head)


def raw_data_of(model: Content) -> Iterator[tuple[int, int]]:
    """(start, end) of ``raw_data`` of initializers and of attributes, of the large ones.

    They end where the message is not understood.
    """
    with suppress(wire.WireError):
        for graph in _large(model, (0, len(model)), wire.GRAPH):
            for tensor in _large(model, graph, wire.INITIALIZER):
                yield from _large(model, tensor, wire.RAW_DATA)
            for node in _large(model, graph, wire.NODE):
                for attribute in _large(model, node, wire.ATTRIBUTE):
                    for tensor in _large(model, attribute, wire.TENSOR):
                        yield from _large(model, tensor, wire.RAW_DATA)


def _large(data: Content, within: tuple[int, int], field: int) -> Iterator[tuple[int, int]]:
    """The values of a field that are large enough."""
    for part in wire.parts(data, *within, LEAST_BYTES):
        if part.field == field:
            yield part.start, part.end
