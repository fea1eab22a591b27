"""Ops of text and of optional values that the reference implementation lacks or has otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from headrace.onnx.hosted.patterns import compiled
from headrace.onnx.hosted.tables import plain_attributes


class Unique(OpRun):
    """What differs, sorted or as it is first found, with its places; of slices along an axis."""

    def _run(self, x: Any, axis: int | None = None, **attrs: int) -> tuple[Any, ...]:
        slices = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
        places: dict[Any, list[int]] = {}
        for place, values in enumerate(slices):
            places.setdefault(tuple(np.ravel(values).tolist()), []).append(place)
        groups = [places[key] for key in (sorted(places) if attrs["sorted"] else places)]
        first = np.array([group[0] for group in groups], np.int64)
        counts = np.array([len(group) for group in groups], np.int64)
        inverse = np.empty(len(slices), np.int64)
        for number, group in enumerate(groups):
            inverse[group] = number
        unique = slices[first] if axis is None else np.moveaxis(slices[first], 0, axis)
        return (unique, first, inverse, counts)[: len(self.onnx_node.output)]


class OneHot(OpRun):
    """The second of two values where an index points along a new axis, and the first elsewhere."""

    def _run(self, indices: Any, depth: Any, values: Any, axis: int) -> tuple[Any]:
        length = int(np.ravel(depth)[0])
        places = np.expand_dims(np.where(indices < 0, indices + length, indices), axis)
        shape = [1] * places.ndim
        shape[axis] = length
        is_hot = places == np.arange(length).reshape(shape)
        return (values[is_hot.astype(np.intp)],)


class Optional(OpRun):
    """An optional that holds a value, which stands for it."""

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        return (x,)


class StringNormalizer(OpRun):
    """Words in upper or lower case, without those that are to be left out."""

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        self._normalized = WordNormalizer(plain_attributes(node))

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        return (self._normalized(x),)


class WordNormalizer:
    """Words in upper or lower case, without those that are to be left out.

    Letters are changed one for one, whatever the locale: the locale is the process's.
    """

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        """What a ``StringNormalizer`` of these attributes makes."""
        action = attrs.get("case_change_action", "NONE")
        if action not in _CASES:
            raise ValueError(f"case_change_action {action} is none of {list(_CASES)}")
        self._changed = _CASES[action]
        self._compared = _CASES["NONE" if attrs.get("is_case_sensitive", 0) else "LOWER"]
        self._left_out = set(map(self._compared, attrs.get("stopwords", ())))

    def __call__(self, x: Any) -> Any:
        """The words of one row that are kept; a word without a letter where none is."""
        if x.ndim not in (1, 2) or (x.ndim == 2 and len(x) != 1):
            raise ValueError(f"StringNormalizer takes [C] or [1, C], not {list(x.shape)}")
        kept = x.reshape(-1).tolist()
        if self._left_out:
            kept = [word for word in kept if self._compared(word) not in self._left_out]
        made = np.array([self._changed(word) for word in kept] or [""], object)
        return made.reshape((1, -1) if x.ndim == 2 else -1)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(c.lower()[0] for c in text)


def _upper(text: str) -> str:
    if text.isascii():
        return text.upper()
    return "".join(c if len(c.upper()) > 1 else c.upper() for c in text)


_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": _lower, "UPPER": _upper}


class RegexFullMatch(OpRun):
    """Whether a pattern fits each text as a whole."""

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        self._pattern = compiled(getattr(self, "pattern", None) or "")

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        fits = self._pattern.fullmatch
        return (np.array([bool(fits(t)) for t in x.reshape(-1)], bool).reshape(x.shape),)
