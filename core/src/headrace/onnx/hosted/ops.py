"""Ops of text and of optional values that the reference implementation lacks or has for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


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
