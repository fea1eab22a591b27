"""Protobuf's wire format: where the parts of a message lie, found without copies.

A message is a sequence of fields, each a key and a value whose length can be told. Who wants the
large parts of a model for itself finds them here; protobuf would copy them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

# Fields of ModelProto; of GraphProto; of NodeProto; of AttributeProto; of TensorProto.
GRAPH = 7
NODE, INITIALIZER = 1, 5
OP_TYPE, ATTRIBUTE, DOMAIN = 4, 5, 7
NAME, TENSOR = 1, 5
RAW_DATA = 9

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Part(NamedTuple):
    """A field whose value is bytes, text or a message.

    Attributes:
        field: its number.
        key: where the field begins.
        start, end: where its value lies.
    """

    field: int
    key: int
    start: int
    end: int

    @property
    def nbytes(self) -> int:
        """The length of its value."""
        return self.end - self.start


class Bytes(Protocol):
    """What a message lies in."""

    def __getitem__(self, position: int, /) -> int:
        """The byte there."""


class WireError(ValueError):
    """The bytes are no message, or one with fields that nobody writes any more (groups)."""


def parts(data: Bytes, start: int, end: int) -> Iterator[Part]:
    """The fields of the message in ``data[start:end]`` whose values have a length of their own.

    Raises:
        WireError: it is not understood from here on.
    """
    position = start
    while position < end:
        begin = position
        key = data[position]
        position += 1
        if key >= 0x80:
            key, position = _varint(data, begin, end)
        kind = key & 7
        if kind == _BYTES:
            length = data[position] if position < end else 0x80
            if length < 0x80:
                position += 1
            else:
                length, position = _varint(data, position, end)
            if length > end - position:
                raise WireError
            yield Part(key >> 3, begin, position, position + length)
            position += length
        elif kind == _VARINT:
            _, position = _varint(data, position, end)
        elif kind == _FIXED64:
            position += 8
        elif kind == _FIXED32:
            position += 4
        else:
            raise WireError
    if position != end:
        raise WireError


def field(number: int, value: bytes) -> bytes:
    """A field as it is written; its number is below 16."""
    return bytes([number << 3 | _BYTES]) + _length(len(value)) + value


def _length(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _varint(data: Bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError
