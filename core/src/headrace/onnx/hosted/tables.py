"""Looking values up: words for numbers, numbers for words, and the values of a map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx.helper import get_attribute_value
from onnx.numpy_helper import to_array
from onnx.reference.op_run import OpRun

from headrace.onnx.file.keys import ML_DOMAIN


class LabelEncoder(OpRun):
    """What a table has for each element.

    ONNX's reference implementation has not the first version, and finds no NaN.
    """

    op_domain = ML_DOMAIN

    def __init__(self, node: Any, params: Any) -> None:
        super().__init__(node, params)
        version = params["opsets"].get(ML_DOMAIN, NAN_IS_A_KEY)
        self._table = EncoderTable(plain_attributes(node), version)

    def _run(self, x: Any, **attrs: Any) -> tuple[Any]:
        return (self._table(x),)


NAN_IS_A_KEY = 4
"""From this version of its domain on ``LabelEncoder`` finds NaN."""


class EncoderTable:
    """What a ``LabelEncoder`` makes of text or numbers, in each version of the op."""

    def __init__(self, attrs: Mapping[str, Any], version: int) -> None:
        """The table that these attributes are, in this version of the domain."""
        self._attrs = attrs
        self._key = _key if version >= NAN_IS_A_KEY else _as_it_is
        self._tables = {of_text: self._table(of_text) for of_text in (False, True)}

    def __call__(self, x: Any) -> Any:
        """What the table has for each element."""
        table, default, dtype = self._tables[x.dtype.kind in "OU"]
        items = x.reshape(-1).tolist()
        keys = map(self._key, items) if x.dtype.kind == "f" else items
        return np.array([table.get(key, default) for key in keys], dtype).reshape(x.shape)

    def _table(self, of_text: bool) -> tuple[dict[Any, Any], Any, Any]:
        """Of the version that has one list for both ways, the way from text or to it."""
        keys, values = self._side("keys"), self._side("values")
        if "classes_strings" in self._attrs:
            words = self._attrs["classes_strings"]
            places = np.arange(len(words), dtype=np.int64)
            keys, values = (words, places) if of_text else (places.tolist(), words)
        dtype = getattr(values, "dtype", np.dtype(object))
        table = dict(zip(map(self._key, keys), list(values), strict=True))
        return table, self._default(dtype), dtype

    def _side(self, side: str) -> Any:
        for kind, dtype in (("floats", np.float32), ("int64s", np.int64), ("strings", object)):
            if values := self._attrs.get(f"{side}_{kind}"):
                return values if dtype is object else np.array(values, dtype)
        tensor = self._attrs.get(f"{side}_tensor", ())
        return list(tensor) if getattr(tensor, "dtype", np.dtype(int)).kind == "O" else tensor

    def _default(self, dtype: Any) -> Any:
        if "default_tensor" in self._attrs:
            return self._attrs["default_tensor"].reshape(-1)[0]
        if dtype.kind == "O":
            return self._attrs.get("default_string", "_Unused")
        if dtype.kind == "f":
            return self._attrs.get("default_float", -0.0)
        return self._attrs.get("default_int64", -1)


def plain_attributes(node: Any) -> dict[str, Any]:
    """What a node says, by name: text as ``str``, tensors as arrays."""
    return {a.name: _plain(get_attribute_value(a)) for a in node.attribute}


def _plain(value: Any) -> Any:
    """Text as ``str``, tensors as arrays."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return to_array(value) if hasattr(value, "data_type") else value


def _as_it_is(value: Any) -> Any:
    return value


def _key(value: Any) -> Any:
    """One key for every NaN, which was none before version 4."""
    return None if isinstance(value, (float, np.floating)) and math.isnan(value) else value


class CategoryMapper(OpRun):
    """Text as numbers, or numbers as text, by two lists."""

    op_domain = ML_DOMAIN

    def _run(
        self,
        x: Any,
        cats_int64s: Sequence[int] | None = None,
        cats_strings: Sequence[str] | None = None,
        default_int64: int | None = None,
        default_string: str | None = None,
    ) -> tuple[Any]:
        pairs = list(zip(cats_strings or (), cats_int64s or (), strict=True))
        if x.dtype.kind in "iu":
            default = "_Unused" if default_string is None else default_string
            names = {number: text for text, number in pairs}
            made = [names.get(number, default) for number in x.reshape(-1).tolist()]
            return (np.array(made, object).reshape(x.shape),)
        unknown = -1 if default_int64 is None else default_int64
        numbers = dict(pairs)
        found = [numbers.get(text, unknown) for text in x.reshape(-1).tolist()]
        return (np.array(found, np.int64).reshape(x.shape),)


class DictVectorizer(OpRun):
    """The values of a map in the order of a list of its keys, 0 for those that it has not."""

    op_domain = ML_DOMAIN

    def _run(
        self,
        x: Mapping[Any, Any],
        int64_vocabulary: Sequence[int] = (),
        string_vocabulary: Sequence[str] = (),
    ) -> tuple[Any]:
        return (np.array([[x[key] for key in string_vocabulary or int64_vocabulary]]),)
