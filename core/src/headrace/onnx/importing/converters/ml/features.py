"""What is done to features before a model sees them, and to labels after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace.dtypes import float32, int32, int64
from headrace.onnx.importing.formula import cast, scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _scaler(node: Node) -> Tensor:
    x = cast(node, node.input(0), float32)
    for op, name in (("subtract", "offset"), ("multiply", "scale")):
        if node.attr(name, []):
            x = node.one(op, [x, _of_features(node, x, np.array(node.attr(name), np.float32))])
    return x


def _of_features(node: Node, x: Tensor, numbers: Array) -> Tensor:
    """One number for each feature, or for all."""
    if numbers.size not in (1, x.spec.shape[-1]):
        node.invalid(f"has {numbers.size} numbers for input {x.spec}")
    return node.constant(numbers)


def _imputer(node: Node) -> Tensor:
    x = node.input(0)
    kind, key = ("floats", "float") if x.spec.dtype.is_float else ("int64s", "int64")
    numbers = np.array(node.attr(f"imputed_value_{kind}"), x.spec.dtype.numpy)
    default: float = 0.0 if key == "float" else 0
    missing = node.attr(f"replaced_value_{key}", default)
    found = node.one("is_nan", [x]) if np.isnan(missing) else with_number(node, "equal", x, missing)
    return node.one("where", [found, _of_features(node, x, numbers), x])


def _normalizer(node: Node) -> Tensor:
    """Each row by its greatest number, the sum of its sizes, or its length; a row of 0 stays."""
    x, norm = cast(node, node.input(0), float32), node.attr("norm", "MAX")
    axes = {"axes": (x.spec.rank - 1,), "keep_dims": True}
    if norm == "MAX":
        size = node.one("reduce_max", [x], **axes)
    elif norm == "L1":
        size = node.one("reduce_sum", [node.one("abs", [x])], **axes)
    elif norm == "L2":
        size = node.one("reduce_sum", [node.one("multiply", [x, x])], **axes)
        size = node.one("sqrt", [size])
    else:
        node.invalid(f"norm is {norm!r}; it is MAX, L1 or L2")
    none = with_number(node, "equal", size, 0)
    return node.one("divide", [x, node.one("where", [none, scalar(node, 1, size), size])])


def _binarizer(node: Node) -> Tensor:
    x = node.input(0)
    met = with_number(node, "greater", x, node.attr("threshold", 0.0))
    return cast(node, met, x.spec.dtype)


def _array_feature_extractor(node: Node) -> Tensor:
    x, places = node.input(0), node.one("reshape", [node.input(1)], shape=(-1,))
    if x.spec.rank == 1:
        x = node.one("reshape", [x], shape=(1, -1))
    return node.one("gather", [x, places], axis=x.spec.rank - 1)


def _feature_vectorizer(node: Node) -> Tensor:
    parts = [cast(node, node.input(index), float32) for index in range(len(node.inputs))]
    parts = [
        node.one("reshape", [part], shape=(-1, 1)) if part.spec.rank == 1 else part
        for part in parts
    ]
    return node.one("concat", parts, axis=1)


def _one_hot_encoder(node: Node) -> Tensor:
    """A category that there is not marks nothing."""
    x, categories = node.input(0), node.attr("cats_int64s", [])
    if not categories:
        node.refuse("its categories are texts; headrace has tensors of numbers")
    table = node.constant(np.array(categories).astype(x.spec.dtype.numpy))
    one = node.one("reshape", [x], shape=(*x.spec.shape, 1))
    return cast(node, node.one("equal", [one, table]), float32)


def _label_encoder(node: Node) -> Tensor:
    keys, values = _of_kind(node, "keys"), _of_kind(node, "values")
    if keys.shape != values.shape or keys.ndim != 1:
        node.invalid(f"keys have the shape {keys.shape} and values {values.shape}")
    x = node.input(0)
    default: Array | None = node.attr("default_tensor", None)
    if default is None:
        integer = values.dtype.kind == "i"
        number = node.attr("default_int64", -1) if integer else node.attr("default_float", -0.0)
        default = np.array(number)
    other = node.constant(default.astype(values.dtype).reshape(()))
    if not keys.size:
        return node.one("expand", [other], shape=x.spec.shape)
    if x.spec.dtype in (int32, int64) and _are_near(keys, x.spec.dtype.numpy):
        return _by_number(node, keys, values, default)
    one = node.one("reshape", [x], shape=(*x.spec.shape, 1))
    same = node.one("equal", [one, node.constant(keys.astype(x.spec.dtype.numpy))])
    if node.opset >= 4 and keys.dtype.kind == "f" and np.isnan(keys).any():
        nans = node.one("logical_and", [node.one("is_nan", [one]), node.constant(np.isnan(keys))])
        same = node.one("logical_or", [same, nans])
    found = cast(node, same, float32)
    place = node.one("argmax", [found], axis=x.spec.rank, keep_dims=False)
    known = node.one("reduce_max", [found], axes=(x.spec.rank,), keep_dims=False)
    value = node.one("gather", [node.constant(values), place], axis=0)
    return node.one("where", [with_number(node, "greater", known, 0), value, other])


def _are_near(keys: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a table of all numbers from the least key to the greatest is about as long as them.

    It has one more at either end, which ``dtype`` must have.
    """
    if keys.dtype.kind != "i":
        return False
    limits, least, greatest = np.iinfo(dtype), int(keys.min()), int(keys.max())
    return limits.min < least and greatest < limits.max and greatest - least < 4 * keys.size + 64


def _by_number(node: Node, keys: Array, values: Array, default: Array) -> Tensor:
    """The values looked up in a table; what is beyond the keys finds the default at its ends."""
    x, before, after = node.input(0), int(keys.min()) - 1, int(keys.max()) + 1
    table = np.full(after - before + 1, default.reshape(()), values.dtype)
    table[keys[::-1] - before] = values[::-1]  # of equal keys the first one counts
    within = with_number(node, "minimum", with_number(node, "maximum", x, before), after)
    place = with_number(node, "subtract", within, before)
    return node.one("gather", [node.constant(table), place], axis=0)


def _of_kind(node: Node, which: str) -> Array:
    """The keys or the values, whatever dtype they have."""
    for suffix, dtype in (("int64s", np.int64), ("floats", np.float32)):
        if node.attr(f"{which}_{suffix}", []):
            return np.array(node.attr(f"{which}_{suffix}"), dtype)
    given: Array | None = node.attr(f"{which}_tensor", None)
    if given is None:
        node.refuse(f"its {which} are texts; headrace has tensors of numbers")
    return given


CONVERTERS: Mapping[str, Converter] = {
    "Scaler": _scaler,
    "Imputer": _imputer,
    "Normalizer": _normalizer,
    "Binarizer": _binarizer,
    "ArrayFeatureExtractor": _array_feature_extractor,
    "FeatureVectorizer": _feature_vectorizer,
    "OneHotEncoder": _one_hot_encoder,
    "LabelEncoder": _label_encoder,
}
