"""Usual nodes of the host as functions of what they read.

The reference implementation looks at a node for longer than a small model runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import NodeProto

from headrace.onnx.hosted.ops import WordNormalizer
from headrace.onnx.hosted.tables import EncoderTable, plain_attributes
from headrace.onnx.hosted.tokens import GramCounter, TextCutter, hashes


def direct(node: NodeProto, version: int) -> Callable[..., Any] | None:
    """What computes the one output of a node, or None.

    Args:
        node: one of the host.
        version: of the ops of ONNX's domain of machine learning.
    """
    attrs = plain_attributes(node)
    match node.op_type:
        case "Identity":
            return lambda x: x.copy()  # what was fed stays the caller's
        case "Shape":
            return partial(_sizes, start=attrs.get("start", 0), end=attrs.get("end"))
        case "Reshape" if len(node.input) == 2:
            return partial(_shaped, keeps_zeros=bool(attrs.get("allowzero", 0)))
        case "Concat":
            return partial(_joined, axis=attrs.get("axis", 1))
        case "Gather":
            return partial(_gathered, axis=attrs.get("axis", 0))
        case "ArrayFeatureExtractor":
            return _columns
        case "Flatten":
            return partial(_flat, axis=attrs.get("axis", 1))
        case "StringNormalizer":
            return WordNormalizer(attrs)
        case "Tokenizer":
            return TextCutter(attrs)
        case "TfIdfVectorizer":
            return GramCounter(attrs)
        case "MurmurHash3":
            return partial(hashes, **attrs)
        case "LabelEncoder":
            return EncoderTable(attrs, version)
        case "OneHotEncoder" if "cats_strings" in attrs:
            return WordMarker(attrs["cats_strings"], attrs.get("zeros", 1))
        case "SequenceConstruct":
            return _listed
        case "ZipMap":
            texts = attrs.get("classlabels_strings", ())
            return RowZipper(texts or attrs.get("classlabels_int64s", ()))
    return None


def _sizes(x: Any, start: int, end: int | None) -> Any:
    return np.array(x.shape[start:end], np.int64)


def _shaped(x: Any, sizes: Any, keeps_zeros: bool) -> Any:
    """``x`` in another shape, 0 for a size that it has; what was fed stays the caller's."""
    shape = sizes.tolist()
    if not keeps_zeros:
        shape = [size or x.shape[axis] for axis, size in enumerate(shape)]
    return x.reshape(shape).copy()


def _joined(*parts: Any, axis: int) -> Any:
    return np.concatenate(parts, axis)


def _listed(*parts: Any) -> list[Any]:
    return list(parts)


def _gathered(x: Any, places: Any, axis: int) -> Any:
    """As numpy's ``take``, which gives a text itself where one alone is taken."""
    found = x.take(places, axis)
    return found if isinstance(found, np.ndarray) else np.array(found, x.dtype)


def _flat(x: Any, axis: int) -> Any:
    """The axes before ``axis`` as one, and the others as one; what was fed stays the caller's."""
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])).copy()


def _columns(x: Any, places: Any) -> Any:
    """Elements of the last axis; of a vector they are a row."""
    found = x.take(places.reshape(-1), -1)
    return found.reshape(1, -1) if x.ndim == 1 else found


class WordMarker:
    """1 at the place of each word along a new last axis; of an unknown one nothing but 0."""

    def __init__(self, words: Sequence[str], zeros: int) -> None:
        """What a ``OneHotEncoder`` of these words makes; without ``zeros`` all must be known."""
        self._width = len(words)
        self._places = {word: place for place, word in enumerate(words)}
        self._marks = np.eye(self._width + 1, self._width, dtype=np.float32)
        self._zeros = zeros

    def __call__(self, x: Any) -> Any:
        """The marks of these words."""
        place_of, unknown = self._places.get, self._width
        found = [place_of(word, unknown) for word in x.reshape(-1).tolist()]
        if not self._zeros and unknown in found:
            word = x.reshape(-1)[found.index(unknown)]
            raise ValueError(f"{word!r} is none of the {unknown} categories, and zeros is 0")
        return self._marks.take(np.array(found, np.intp), 0).reshape((*x.shape, self._width))


class RowZipper:
    """Each row of a matrix as a map from the names of its columns."""

    def __init__(self, names: Sequence[Any]) -> None:
        """What a ``ZipMap`` of these names makes."""
        self._names = tuple(names)
        self._map: dict[Any, float] = dict.fromkeys(names, 0.0)

    def __call__(self, x: Any) -> list[dict[Any, float]]:
        """The maps of these rows.

        Raises:
            ValueError: they have another number of columns.
        """
        rows, names = x.reshape(1, -1) if x.ndim == 1 else x, self._names
        if rows.ndim != 2 or rows.shape[1] != len(names):
            raise ValueError(f"{len(names)} names for the columns of a tensor {list(x.shape)}")
        if len(rows) <= len(names):
            return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        # Column by column into copies of one map: twice as fast as a map of the pairs of each row.
        maps = [self._map.copy() for _ in range(len(rows))]
        for name, column in zip(names, rows.T.tolist(), strict=True):
            for of_row, value in zip(maps, column, strict=True):
                of_row[name] = value
        return maps
