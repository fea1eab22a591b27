"""Long lists of numbers and words in attributes: found in the file, and read as arrays.

Protobuf makes a Python object of each element that it is asked for, and its messages take several
times the memory. What is not understood here is left to it, which tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from onnx import AttributeProto

from headrace.onnx.file import wire
from headrace.onnx.file.content import Content, Extent
from headrace.tensor_spec import Array

LEAST_BYTES = 1 << 16
"""Of a list that is long."""

_KEYS: Mapping[int, int] = {
    AttributeProto.FLOATS: 0x3D,
    AttributeProto.INTS: 0x40,
    AttributeProto.STRINGS: 0x4A,
}
"""How each element begins, by the type of the attribute; they are not packed."""
_NAME = 0x0A
_TYPE = b"\xa0\x01"
TAIL_BYTES = 3
"""Of the type, which is written last."""

_PIECE_BYTES = 1 << 20
"""Of integers that are read at once, so that what is made on the way stays small."""
_MOST_BYTES = 10
"""Of an integer."""
_MOST_WORDS = 32
"""So few of them are there again and again, in a long list."""


class Words(NamedTuple):
    """A list of words.

    Attributes:
        distinct: which there are.
        places: which one of these each element is.
    """

    distinct: list[str]
    places: Array

    def tolist(self) -> list[str]:
        """The words themselves."""
        return [self.distinct[place] for place in self.places.tolist()]


def find_list(model: Content, attribute: wire.Part) -> tuple[str, Extent] | None:
    """The name of an attribute and where its elements lie, if it is a long list; else None.

    Before them is nothing but the name, behind them nothing but the type.
    """
    if attribute.nbytes < LEAST_BYTES:
        return None
    key, length = model.part(attribute.start, attribute.start + 2)
    begin, end = attribute.start + 2 + length, attribute.end - TAIL_BYTES
    if key != _NAME or length >= 0x80:
        return None
    head, tail = model.part(begin - length, begin + 1), model.part(end, attribute.end)
    if not tail.startswith(_TYPE) or head[-1] != _KEYS.get(tail[-1]):
        return None
    try:
        return head[:-1].decode(), Extent(model, begin, end)
    except UnicodeDecodeError:
        return None


def read_list(kind: int, elements: Extent) -> Array | Words | None:
    """The elements of an attribute of type ``kind``; None if more than these are there.

    Raises:
        InvalidModelError: they cannot be read.
    """
    data = elements.array()
    if kind == AttributeProto.FLOATS:
        return _floats(data)
    return _integers(data) if kind == AttributeProto.INTS else _words(data)


def _floats(data: Array) -> Array | None:
    if data.size % 5 or (data[::5] != _KEYS[AttributeProto.FLOATS]).any():
        return None
    values: Array = data.reshape(-1, 5)[:, 1:].copy().view("<f4").reshape(-1)
    return values.astype(np.float32, copy=False)


def _integers(data: Array) -> Array | None:
    """Each is a key of one byte and a number, in bytes of 7 bits of which the last is below 128."""
    made: list[Array] = []
    done = 0
    while done < data.size:
        piece = data[done : done + _PIECE_BYTES]
        ends = np.flatnonzero(piece < 0x80)
        keys, ends = ends[0 : ends.size // 2 * 2 : 2], ends[1::2]
        lengths = ends - keys
        if not ends.size or lengths.max() > _MOST_BYTES:
            return None
        if keys[0] or (keys[1:] != ends[:-1] + 1).any():
            return None
        if (piece[keys] != _KEYS[AttributeProto.INTS]).any():
            return None
        values = (piece[keys + 1] & 0x7F).astype(np.int64)
        for byte in range(1, int(lengths.max())):
            more = np.flatnonzero(lengths > byte)
            bits = (piece[keys[more] + 1 + byte] & 0x7F).astype(np.int64)
            values[more] |= bits << 7 * byte
        made.append(values)
        done += int(ends[-1]) + 1
    return np.concatenate(made)


def _words(data: Array) -> Words | None:
    """Where no word has the letter that is the key, each key begins one."""
    begins = np.flatnonzero(data[:-1] == _KEYS[AttributeProto.STRINGS])
    lengths = data[begins + 1].astype(np.int64)
    if begins[0] or (begins + lengths + 2 != np.append(begins[1:], data.size)).any():
        return None
    distinct: list[str] = []
    places = np.zeros(begins.size, np.int8)
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        if not 0 < length < 0x80:
            return None
        left = np.flatnonzero(lengths == length)
        words = np.lib.stride_tricks.sliding_window_view(data, length)[begins[left] + 2]
        while left.size:
            if len(distinct) == _MOST_WORDS:
                return None
            is_other = (words != words[0]).any(1)
            try:
                word = words[0].tobytes().decode()
            except UnicodeDecodeError:
                return None
            places[left[~is_other]] = len(distinct)
            distinct.append(word)
            left, words = left[is_other], words[is_other]
    return Words(distinct, places)
