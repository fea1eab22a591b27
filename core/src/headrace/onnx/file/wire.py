"""Protobuf's wire format: where the parts of a message lie, found without copies.

A message is a sequence of fields, each a key and a value whose length can be told. Who wants the
large parts of a model for itself finds them here; protobuf would copy them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace.onnx.file.content import LOOK_BYTES, Content

# Fields of ModelProto; of GraphProto; of NodeProto; of AttributeProto; of TensorProto.
GRAPH = 7
NODE, INITIALIZER = 1, 5
OP_TYPE, ATTRIBUTE = 4, 5
TENSOR = 5
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


class WireError(ValueError):
    """The bytes are no message, or one with fields that nobody writes any more (groups)."""


def parts(
    data: Content, start: int, end: int, least: int = 0, counts: dict[int, int] | None = None
) -> Iterator[Part]:
    """The fields of the message in ``data[start:end]`` whose values have a length of their own.

    Args:
        data, start, end: where it lies.
        least: fields with shorter values are left out.
        counts: how many of each number were met, those left out as well; counted on.

    Raises:
        WireError: it is not understood from here on.
        InvalidModelError: it cannot be read.
    """
    position = start
    new = tuple.__new__  # there are thousands: in half of the time of calling the class
    while position < end:
        window, at = data.look(position)
        origin = position - at
        stop = end - origin
        # Of a field that begins before here, key and length are in the window.
        seen = stop if stop <= len(window) else len(window) - LOOK_BYTES + 1
        while at < seen:
            begin = at
            key, at = window[at], at + 1
            if key >= 0x80:
                key, at = _varint(window, begin, stop)
            kind = key & 7
            if kind == _BYTES:
                if at < stop and window[at] < 0x80:  # most are short
                    length, at = window[at], at + 1
                elif at + 1 < stop and window[at + 1] < 0x80:
                    length, at = window[at] - 0x80 + (window[at + 1] << 7), at + 2
                else:
                    length, at = _varint(window, at, stop)
                if length > stop - at:
                    raise WireError
                field = key >> 3
                if counts is not None:
                    counts[field] = counts.get(field, 0) + 1
                if length >= least:
                    value = origin + at
                    yield new(Part, (field, origin + begin, value, value + length))
                at += length
            elif kind == _VARINT:
                if at < stop and window[at] < 0x80:
                    at += 1
                else:
                    _, at = _varint(window, at, stop)
            elif kind == _FIXED64:
                at += 8
            elif kind == _FIXED32:
                at += 4
            else:
                raise WireError
        position = origin + at
    if position != end:
        raise WireError


def header(number: int, nbytes: int) -> bytes:
    """What is written before the value of a field; its number is below 16."""
    return bytes([number << 3 | _BYTES]) + _length(nbytes)


def _length(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _varint(data: bytes | memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError
