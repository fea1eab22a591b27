"""Text cut into tokens, tokens counted, and text as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from headrace.onnx.file.keys import MICROSOFT
from headrace.onnx.hosted.patterns import compiled, first_is_longest
from headrace.onnx.hosted.tables import plain_attributes

_START, _END = "\x02", "\x03"


class Tokenizer(OpRun):
    """The tokens of each text."""

    op_domain = MICROSOFT

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        self._cut = TextCutter(plain_attributes(node))

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        return (self._cut(x),)


class TextCutter:
    """The tokens of each text along a new last axis, filled up to as many as the most has."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        """What a ``Tokenizer`` of these attributes makes."""
        separators, expression = tuple(attrs.get("separators", ())), attrs.get("tokenexp", "")
        self._cut = _cutter(separators, expression, attrs.get("mincharnum", 0))
        self._ends = ([_START], [_END]) if attrs.get("mark", 0) else ([], [])
        self._pad = attrs.get("pad_value", "")

    def __call__(self, x: Any) -> Any:
        """The tokens of texts along one axis or two."""
        if x.ndim not in (1, 2):
            raise ValueError(f"Tokenizer takes one or two axes, not {x.ndim}")
        if not x.size:
            return np.empty((*x.shape[:1], 0)[: x.ndim], object)
        rows = [self._cut(text) for text in x.reshape(-1).tolist()]
        if not any(rows):
            return np.empty((*x.shape, 0), object)
        first, last = self._ends
        rows = [first + row + last for row in rows]
        most = max(map(len, rows))
        made = np.empty((len(rows), most), object)
        made[:] = [row + [self._pad] * (most - len(row)) for row in rows]
        return made.reshape(*x.shape, most)


def _cutter(separators: tuple[str, ...], expression: str, least: int) -> Callable[[str], list[str]]:
    if least < 1:
        raise ValueError(f"Tokenizer: mincharnum {least} is less than 1")
    if not separators and not expression:
        raise ValueError("Tokenizer needs separators or tokenexp")
    if separators == ("",) or expression == ".":
        if least > 1:
            raise ValueError("Tokenizer: single characters are shorter than mincharnum")
        return list
    for pattern in separators or (expression,):
        compiled(pattern)
    if separators:
        return lambda text: [t for t in _between(text, separators) if len(t) >= least]
    if first_is_longest(expression):
        every = compiled(expression).findall
        return lambda text: [token for token in every(text) if len(token) >= least]
    return lambda text: [text[a:b] for a, b in _matches(expression, text) if b - a >= least]


def _between(text: str, separators: Iterable[str]) -> list[str]:
    """What is left where the first separators are taken out, then of that the second, and so on."""
    pieces = [text]
    for separator in separators:
        kept = []
        for piece in pieces:
            place = 0
            for first, last in _matches(separator, piece):
                kept.append(piece[place:first])
                place = max(last, first + 1)
            kept.append(piece[place:])
        pieces = kept
    return [piece for piece in pieces if piece]


def _matches(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the leftmost matches are, the longest at each place, one after the other."""
    place = 0
    search = compiled(pattern).search
    while place < len(text) and (found := search(text, place)):
        first, last = found.span()
        # ``re`` takes the first alternative that fits, not the longest: ask for one more character
        # than it has, in a text that begins one before the match, so that few lengths are asked.
        begin = max(first - 1, 0)
        while last < len(text):
            longer = compiled(pattern, f"(?<=[\\s\\S]{{{last - begin + 1}}})")
            more = longer.match(text[begin:], first - begin)
            if more is None:
                break
            last = begin + more.end()
        yield first, last
        place = max(last, first + 1)


class TfIdfVectorizer(OpRun):
    """How often n-grams are found.

    ONNX's reference implementation goes through every column of every row.
    """

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        self._count = GramCounter(plain_attributes(node))

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        return (self._count(x),)


class GramCounter:
    """How often each n-gram of a pool is in each row, or what weighs it."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        """What a ``TfIdfVectorizer`` of these attributes makes."""
        self._mode, self._most_skipped = attrs["mode"], attrs["max_skip_count"]
        pool = attrs.get("pool_strings") or attrs.get("pool_int64s", ())
        columns = attrs["ngram_indexes"]
        starts = [*attrs["ngram_counts"], len(pool)]
        self._width = max(columns) + 1
        self._weights = np.ones(self._width, np.float32)
        if attrs.get("weights"):  # in the order of the pool
            self._weights[columns] = attrs["weights"]
        sizes = range(attrs["min_gram_length"], attrs["max_gram_length"] + 1)
        self._columns: dict[int, dict[Any, int]] = {size: {} for size in sizes}
        grams = (
            pool[place : place + size]
            for size, (start, end) in enumerate(pairwise(starts), 1)
            for place in range(start, end - size + 1, size)
        )
        for gram, column in zip(grams, columns, strict=False):
            if len(gram) in sizes:
                self._columns[len(gram)][_key(gram)] = column

    def __call__(self, x: Any) -> Any:
        """The counts of one row, or of several."""
        if x.ndim > 2 or (x.ndim == 2 and not len(x)):
            raise ValueError(f"TfIdfVectorizer takes [C] or [B, C], not {list(x.shape)}")
        rows = x.tolist() if x.ndim == 2 else [x.reshape(-1).tolist()]
        places: list[int] = []
        for number, row in enumerate(rows):
            start = number * self._width
            for grams, column_of in self._grams(row):
                places += [start + c for c in map(column_of, grams) if c is not None]
        counts = np.bincount(places, minlength=len(rows) * self._width).astype(np.float32)
        counts = counts.reshape(len(rows), -1) if x.ndim == 2 else counts
        if self._mode == "IDF":
            counts = np.minimum(counts, 1)
        return counts if self._mode == "TF" else counts * self._weights

    def _grams(self, row: list[Any]) -> Iterator[tuple[Iterable[Any], Callable[[Any], int | None]]]:
        """The n-grams of a row, and what finds the column of one."""
        for size, columns in self._columns.items():
            if size == 1:
                yield row, columns.get
                continue
            for step in range(1, self._most_skipped + 2):
                shifted = (row[place * step :] for place in range(size))
                yield zip(*shifted, strict=False), columns.get


def _key(gram: Sequence[Any]) -> Any:
    """What an n-gram is looked up by: one word by itself."""
    return gram[0] if len(gram) == 1 else tuple(gram)


class MurmurHash3(OpRun):
    """A number of 32 bits for each element: of its bytes, of text those of UTF-8."""

    op_domain = MICROSOFT

    def _run(self, x: Any, positive: int = 1, seed: int = 0) -> tuple[Any]:
        return (hashes(x, positive, seed),)


def hashes(x: Any, positive: int = 1, seed: int = 0) -> Any:
    """What a ``MurmurHash3`` of these attributes makes."""
    of_text = x.dtype.kind in "OU"
    parts = [t.encode() if of_text else t.tobytes() for t in x.reshape(-1)]
    made = np.array([_hashed(part, seed & 0xFFFFFFFF) for part in parts], np.uint32)
    return made.reshape(x.shape).view(np.uint32 if positive else np.int32)


def _hashed(data: bytes, seed: int) -> int:
    """MurmurHash3 of 32 bits, as its author published it for x86."""
    state = seed
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        state ^= _mixed(int.from_bytes(data[place : place + 4], "little"))
        state = (_turned(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if rest := data[whole:]:
        state ^= _mixed(int.from_bytes(rest, "little"))
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ state >> shift) * factor) & 0xFFFFFFFF
    return state ^ state >> 16


def _mixed(word: int) -> int:
    return (_turned(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593) & 0xFFFFFFFF


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & 0xFFFFFFFF
