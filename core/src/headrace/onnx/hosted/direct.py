"""Usual nodes of the host as functions of what they read.

The reference implementation looks at a node for longer than a small model runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import NodeProto

from headrace.onnx.hosted.tables import EncoderTable, plain_attributes
from headrace.onnx.hosted.tokens import GramCounter, TextCutter


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
        case "Gather":
            return partial(_gathered, axis=attrs.get("axis", 0))
        case "ArrayFeatureExtractor":
            return _columns
        case "Flatten":
            return partial(_flat, axis=attrs.get("axis", 1))
        case "Tokenizer":
            return TextCutter(attrs)
        case "TfIdfVectorizer":
            return GramCounter(attrs)
        case "LabelEncoder":
            return EncoderTable(attrs, version)
        case "OneHotEncoder" if "cats_strings" in attrs:
            words = attrs["cats_strings"]
            places = {word: place for place, word in enumerate(words)}
            return partial(_hot, places=places, width=len(words), zeros=attrs.get("zeros", 1))
        case "ZipMap":
            texts = attrs.get("classlabels_strings", ())
            return partial(zipped, names=texts or attrs.get("classlabels_int64s", ()))
    return None


def _gathered(x: Any, places: Any, axis: int) -> Any:
    """As numpy's ``take``, which gives a text itself where one alone is taken."""
    found = np.take(x, places, axis)
    return found if isinstance(found, np.ndarray) else np.array(found, x.dtype)


def _flat(x: Any, axis: int) -> Any:
    """The axes before ``axis`` as one, and the others as one; what was fed stays the caller's."""
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])).copy()


def _columns(x: Any, places: Any) -> Any:
    """Elements of the last axis; of a vector they are a row."""
    found = x[..., places.reshape(-1)]
    return found.reshape(1, -1) if x.ndim == 1 else found


def _hot(x: Any, places: Mapping[str, int], width: int, zeros: int) -> Any:
    """1 at the place of each word along a new last axis; of an unknown one nothing but 0."""
    found = [places.get(word) for word in x.reshape(-1).tolist()]
    if not zeros and None in found:
        unknown = x.reshape(-1)[found.index(None)]
        raise ValueError(f"{unknown!r} is none of the {width} categories, and zeros is 0")
    made = np.zeros((len(found), width), np.float32)
    for row, place in enumerate(found):
        if place is not None:
            made[row, place] = 1
    return made.reshape(*x.shape, width)


def zipped(x: Any, names: Sequence[Any]) -> list[dict[Any, float]]:
    """Each row of a matrix as a map from the names of its columns.

    Raises:
        ValueError: it has another number of columns.
    """
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(f"{len(names)} names for the columns of a tensor {list(x.shape)}")
    return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
