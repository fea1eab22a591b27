"""ONNX nodes for: sequences of tensors, and values that may be none.

Neither is there when a job runs: how long a sequence is, and which of its tensors is meant, is
known while a model is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from headrace.dtypes import float32
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Converter, Node
from headrace.onnx.importing.values import Nothing, TensorSequence, Value
from headrace.ops import Tensor


def _construct(node: Node) -> TensorSequence:
    return _of(node, [node.input(index) for index in range(len(node.inputs))])


def _of(node: Node, tensors: Sequence[Tensor]) -> TensorSequence:
    dtypes = {tensor.spec.dtype for tensor in tensors}
    if len(dtypes) != 1:
        node.invalid(f"makes a sequence of tensors of {sorted(map(str, dtypes)) or 'no dtype'}")
    return TensorSequence(tuple(tensors), dtypes.pop())


def _empty(node: Node) -> TensorSequence:
    dtype = dtype_from_onnx(node.attr("dtype"), str(node)) if node.has_attr("dtype") else float32
    return TensorSequence((), dtype)


def _at(node: Node) -> Tensor:
    sequence = node.sequence(0)
    return sequence.tensors[_position(node, 1, len(sequence.tensors))]


def _insert(node: Node) -> TensorSequence:
    sequence, tensor = node.sequence(0), node.input(1)
    if sequence.dtype != tensor.spec.dtype:
        node.invalid(f"inserts {tensor.spec} into a sequence of {sequence.dtype}")
    tensors, end = list(sequence.tensors), len(sequence.tensors)
    place = end if node.optional(2) is None else _position(node, 2, end, to_end=True)
    tensors.insert(place, tensor)
    return TensorSequence(tuple(tensors), sequence.dtype)


def _erase(node: Node) -> TensorSequence:
    sequence = node.sequence(0)
    end = len(sequence.tensors)
    place = end - 1 if node.optional(1) is None else _position(node, 1, end)
    if not end:
        node.invalid("takes a tensor out of a sequence that has none")
    kept = sequence.tensors[:place] + sequence.tensors[place + 1 :]
    return TensorSequence(kept, sequence.dtype)


def _position(node: Node, index: int, length: int, *, to_end: bool = False) -> int:
    """Input ``index``, a place in a sequence, counted from its beginning."""
    value = node.value(index)
    if value.size != 1:
        node.invalid(f"the place is {value.shape}, not one number")
    place, last = int(value.item()), length if to_end else length - 1
    if not -length <= place <= last:
        node.invalid(f"place {place} is not in a sequence of {length} tensors")
    return place + length if place < 0 else place


def _length(node: Node) -> Tensor:
    return node.constant(np.array(len(node.sequence(0).tensors), np.int64))


def _split(node: Node) -> TensorSequence:
    x = node.input(0)
    axis = normal_axis(node, node.attr("axis", 0), x.spec.rank)
    length = x.spec.shape[axis]
    sizes = [1] * length
    if node.optional(1) is not None:
        given = node.value(1)
        sizes = [int(size) for size in given.reshape(-1)]
        if given.ndim == 0:  # parts of one size, of which the last may be smaller
            (size,) = sizes
            if size < 1:
                node.invalid(f"splits into parts of {size}")
            sizes = [min(size, length - begin) for begin in range(0, length, size)]
    if sum(sizes) != length or any(size < 0 for size in sizes):
        node.invalid(f"splits {length} into parts of {sizes}")
    parts = [
        node.one("slice", [x], starts=(end - size,), ends=(end,), axes=(axis,))
        for size, end in zip(sizes, accumulate(sizes), strict=True)
    ]
    if node.optional(1) is None and not node.attr("keepdims", 1):
        shape = x.spec.shape[:axis] + x.spec.shape[axis + 1 :]
        parts = [node.one("reshape", [part], shape=shape) for part in parts]
    return TensorSequence(tuple(parts), x.spec.dtype)


def _concat(node: Node) -> Tensor:
    tensors = node.sequence(0).tensors
    if not tensors:
        node.invalid("joins a sequence that has no tensors")
    rank, parts = tensors[0].spec.rank, list(tensors)
    if not node.attr("new_axis", 0):
        return node.one("concat", parts, axis=normal_axis(node, node.attr("axis"), rank))
    axis = normal_axis(node, node.attr("axis"), rank + 1)
    shape = tensors[0].spec.shape
    if any(tensor.spec.shape != shape for tensor in tensors):
        node.invalid("stacks tensors of different shapes")
    shape = (*shape[:axis], 1, *shape[axis:])
    parts = [node.one("reshape", [part], shape=shape) for part in parts]
    return node.one("concat", parts, axis=axis)


def _optional(node: Node) -> Value:
    return node.given(0) if any(node.inputs) else Nothing()


def _has_element(node: Node) -> Tensor:
    value = node.inputs[0] if node.inputs else None
    return node.constant(np.array(value is not None and not isinstance(value, Nothing)))


def _get_element(node: Node) -> Value:
    value = node.given(0)
    if isinstance(value, Nothing):
        node.invalid("takes the element of an optional value that has none")
    return value


CONVERTERS: Mapping[str, Converter] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
