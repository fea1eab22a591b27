"""Protobuf's wire format: where the parts of a message lie, found without copies.

A message is a sequence of fields, each a key and a value whose length can be told. Who wants the
large parts of a model for itself finds them here; protobuf would copy them twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from headrace.onnx.file.content import LOOK_BYTES, Content

# Fields of ModelProto; of GraphProto; of NodeProto; of AttributeProto; of TensorProto.
GRAPH = 7
NODE, INITIALIZER = 1, 5
ATTRIBUTE = 5
TENSOR = 5
RAW_DATA = 9

_BYTES = 2
_FIXED = {1: 8, 5: 4}
"""Kinds of fields whose values have all one length, and that."""

_KEY = rb"(?:[%b]|[%b][\x80-\xff]{0,3}[\x00-\x7f])" % (
    re.escape(bytes(range(0x00, 0x80, 8))),
    re.escape(bytes(range(0x80, 0x100, 8))),
)
_NUMBERS = re.compile(rb"(?:%b[\x80-\xff]{0,9}[\x00-\x7f])++" % _KEY)
"""Fields whose values are numbers, as many as there are: nothing is kept of each."""


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


Counts = defaultdict[int, int]
"""How many fields of each number were met."""


def parts(
    data: Content, start: int, end: int, least: int = 0, counts: Counts | None = None
) -> Iterator[Part]:
    """The fields of the message in ``data[start:end]`` whose values have a length of their own.

    Args:
        data, start, end: where it lies.
        least: fields with shorter values are left out.
        counts: of all of them, those left out as well; counted on.

    Raises:
        WireError: it is not understood from here on.
        InvalidModelError: it cannot be read.
    """
    counts = Counts(int) if counts is None else counts
    position = start
    while position < end:
        window, at = data.look(position)
        origin = position - at
        stop = end - origin
        # Of a field that begins before here, key and length are in the window.
        seen = stop if stop <= len(window) else len(window) - LOOK_BYTES + 1
        try:
            while at < seen:
                begin = at
                key, length = window[at], window[at + 1]
                at += 2
                if key & 0x87 != _BYTES:
                    numbers = _NUMBERS.match(window, begin, stop)
                    if numbers is not None:
                        at = numbers.end()
                        continue
                    key, at = _varint(window, begin)
                    if key & 7 != _BYTES:
                        at += _FIXED[key & 7]
                        continue
                    length, at = window[at], at + 1
                if length >= 0x80:
                    more = window[at]
                    if more < 0x80:  # most are so short
                        length, at = length + (more - 1 << 7), at + 1
                    else:
                        length, at = _varint(window, at - 1)
                counts[key >> 3] += 1
                if length >= least:
                    if length > stop - at:
                        raise WireError
                    value = origin + at
                    yield Part(key >> 3, origin + begin, value, value + length)
                at += length
        except LookupError:  # it ends amid a field, or is of a kind that nobody knows
            raise WireError from None
        position = origin + at
    if position != end:
        raise WireError


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A key or a length, and where it ends: each byte but the last has a bit that says so."""
    value = data[at]
    for shift in (7, 14, 21, 28, 35):
        at += 1
        if value < 1 << shift:
            return value, at
        value += data[at] - 1 << shift  # without the bit of the one before
    raise WireError


def header(number: int, nbytes: int) -> bytes:
    """What is written before the value of a field; its number is below 16."""
    made = [number << 3 | _BYTES]
    while nbytes >= 0x80:
        made.append(nbytes & 0x7F | 0x80)
        nbytes >>= 7
    return bytes((*made, nbytes))
