"""ONNX nodes for: tensors made from a few values.

What such a node makes may be far larger than the model. Nothing is made here: the ops say how, and
they are folded only when the result is small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array

# The attributes that a Constant may have, and the dtype of those that are Python numbers.
_VALUES = {
    "value": None,
    "sparse_value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
_TEXT = ("value_string", "value_strings")


def _constant(node: Node) -> Tensor:
    names = (*_VALUES, *_TEXT)
    given = [*filter(node.has_attr, names)]
    if len(given) != 1:
        node.invalid(
            f"holds {' and '.join(given) or 'nothing'}; it must be one of {', '.join(names)}"
        )
    (name,) = given
    if name in _TEXT:
        node.refuse("holds no numbers; strings are no tensors here")
    return node.constant(np.asarray(node.attr(name), _VALUES[name]))


def _constant_of_shape(node: Node) -> Tensor:
    shape = node.ints(0)
    value: Array = node.attr("value", np.zeros(1, np.float32))
    if value.size != 1:
        node.invalid(f"value must be one element; it has shape {value.shape}")
    # Not `fill`, whose value is a float: large int64 would not survive.
    return node.one("expand", [node.constant(value.reshape(()))], shape=shape)


def _range(node: Node) -> Tensor:
    inputs = (0, 1, 2)
    if not all(map(node.is_known, inputs)):
        likely = [node.likely(index) for index in inputs]
        if all(value is not None and value.size == 1 for value in likely):
            # As long in every turn of a loop, wherever it begins.
            size = _range_size(node, *(value.item() for value in likely if value is not None))
            node.assume(inputs, lambda *values: _range_size(node, *_numbers(values)) == size)
            return node.one("arange", [node.input(0), node.input(2)], size=size)
    size = _range_size(node, *(_scalar(node, index) for index in inputs))
    return node.one("arange", [node.input(0), node.input(2)], size=size)


def _numbers(values: Sequence[Array]) -> list[int | float]:
    return [value.item() for value in values]


def _range_size(node: Node, start: int | float, limit: int | float, delta: int | float) -> int:
    if isinstance(delta, int) and delta != 0:
        size = -((start - limit) // delta)
        return max(int(size) if isinstance(size, float) else size, 0)
    if delta == 0 or not math.isfinite((limit - start) / delta):
        node.invalid(f"start {start}, limit {limit} and delta {delta} give no range")
    return max(math.ceil((limit - start) / delta), 0)


def _scalar(node: Node, index: int) -> int | float:
    """The one element of input ``index``, as Python number: differences of these do not wrap."""
    numbers = node.numbers(index)
    if numbers is not None and len(numbers) == 1:
        return numbers[0]
    value = node.value(index)
    if value.size != 1:
        node.invalid(f"input {index} must be one element; it has shape {value.shape}")
    number: int | float = value.reshape(-1)[0].item()
    return number


def _one_hot(node: Node) -> Tensor:
    depth = _scalar(node, 1)
    depth = int(depth) if isinstance(depth, float) else depth
    axis = node.attr("axis", -1)
    return node.one("one_hot", [node.input(0), node.input(2)], depth=depth, axis=axis)


def _eye_like(node: Node) -> Tensor:
    x = node.input(0)
    if x.spec.rank != 2:
        node.invalid(f"takes a matrix; it is {x.spec}")
    dtype = x.spec.dtype
    if node.has_attr("dtype"):
        dtype = dtype_from_onnx(node.attr("dtype"), str(node))
    values = node.constant(np.array([0, 1]).astype(dtype.numpy))
    rows, columns = x.spec.shape
    k = min(max(node.attr("k", 0), -rows), columns)  # no diagonal is further away
    # Row i has its 1 in column i + k. Counted along the axis on which positions are not negative:
    # a negative one would count from the end, one that is too large marks nothing.
    depth, size, axis = (columns, rows, 1) if k >= 0 else (rows, columns, 0)
    first, step = (node.constant(np.array(number, np.int64)) for number in (abs(k), 1))
    positions = node.one("arange", [first, step], size=size)
    return node.one("one_hot", [positions, values], depth=depth, axis=axis)


CONVERTERS: Mapping[str, Converter] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "OneHot": _one_hot,
    "EyeLike": _eye_like,
}
