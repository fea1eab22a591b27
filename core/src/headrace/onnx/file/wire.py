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
OP_TYPE, DOMAIN = 4, 7
TENSOR = 5
RAW_DATA = 9

_BYTES = 2
_FIXED = {1: 8, 5: 4}
"""Kinds of fields whose values have all one length, and that."""
_SHIFTS = (7, 14, 21, 28)
"""Of the bytes of a key or a length behind the first one."""

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
    counts = defaultdict(int) if counts is None else counts
    new = tuple.__new__  # in half of the time of calling the class
    position = start
    while position < end:
        window, at = data.look(position)
        origin = position - at
        stop = end - origin
        # Of a field that begins before here, key and length are in the window.
        seen = stop if stop <= len(window) else len(window) - LOOK_BYTES + 1
        try:
            while at < seen:
                key, length = window[at], window[at + 1]
                begin = at + 2  # of the value
                if key & 0x87 != _BYTES:
                    numbers = _NUMBERS.match(window, at, stop)
                    if numbers is not None:
                        at = numbers.end()
                        continue
                    key, begin = _long_key(window, at)
                    if key & 7 != _BYTES:
                        at = begin + _FIXED[key & 7]
                        continue
                    length, begin = window[begin], begin + 1
                if length >= 0x80:
                    for shift in _SHIFTS:
                        more = window[begin]
                        begin += 1
                        length += more - 1 << shift  # without the bit that says that it goes on
                        if more < 0x80:
                            break
                    else:
                        raise WireError
                counts[key >> 3] += 1
                if length >= least:
                    if length > stop - begin:
                        raise WireError
                    value = origin + begin
                    yield new(Part, (key >> 3, origin + at, value, value + length))
                at = begin + length
        except LookupError:  # it ends amid a field, or is of a kind that nobody knows
            raise WireError from None
        position = origin + at
    if position != end:
        raise WireError


def _long_key(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A key, and where it ends."""
    key = 0
    for shift in (0, *_SHIFTS):
        byte = data[at]
        at += 1
        key |= (byte & 0x7F) << shift
        if byte < 0x80:
            return key, at
    raise WireError


def header(number: int, nbytes: int) -> bytes:
    """What is written before the value of a field; its number is below 16."""
    made = [number << 3 | _BYTES]
    while nbytes >= 0x80:
        made.append(nbytes & 0x7F | 0x80)
        nbytes >>= 7
    return bytes((*made, nbytes))
