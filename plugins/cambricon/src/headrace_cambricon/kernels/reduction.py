"""Axes folded into one element, and distributions along an axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headrace.device import KernelEntry, OpCall
from headrace.dtypes import DType
from headrace.ops.axes import folded_axes
from headrace_cambricon.enums import number_of
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.elementwise import Made
from headrace_cambricon.kernels.kernel import (
    Recorder,
    VendorKernel,
    WithWorkspace,
    between_bytes,
)
from headrace_cambricon.kernels.match import FLOATS, NUMBERS, Takes

_OF_NOTHING = {"ADD": 0, "AVG": math.nan, "MUL": 1, "OR": False, "AND": True}


def of_nothing(op: str, dtype: DType) -> bytes:
    """The neutral element of a reduction: for an extreme, the other end of the dtype."""
    if op in _OF_NOTHING:
        value = _OF_NOTHING[op]
    elif dtype.is_float:
        value = -math.inf if op == "MAX" else math.inf
    else:
        limits = np.iinfo(dtype.numpy)
        value = limits.min if op == "MAX" else limits.max
    return np.array(value, dtype.numpy).tobytes()


class Reduce(WithWorkspace):
    """The sum, mean, product or extreme of axes."""

    def __init__(self, call: OpCall, op: str) -> None:
        super().__init__(call)
        self._op = op

    def record(self, r: Recorder) -> None:
        x, axes = self.call.input(0), sorted(folded_axes(self.call))
        if not x.elements:  # of nothing
            shape = (1,) * max(self.call.outputs[0].rank, 1)
            nothing = r.context.constant(of_nothing(self._op, x.dtype))
            one = r.tensor(nothing, shape, x.dtype)
            r.add("cnnlExpand", *one.both, *r.y().both)
            return
        if not axes:  # a scalar has none, and is its own sum
            r.copy(r.outputs[0], r.input(0), x.nbytes)
            return
        kept = [1 if axis in axes else dim for axis, dim in enumerate(x.shape)]
        y = r.tensor(r.outputs[0], kept, x.dtype)
        vendor.reduce(r, self._op, axes, r.x(0), y)


class ArgReduce(WithWorkspace):
    """Where an extreme along an axis is, the first or the last; the library says it in 32 bits."""

    def __init__(self, call: OpCall, op: str) -> None:
        super().__init__(call)
        self._op = op

    def _kept(self) -> tuple[int, ...]:
        x, axis = self.call.input(0), self.call.int_attr("axis") % self.call.input(0).rank
        return tuple(1 if n == axis else dim for n, dim in enumerate(x.shape))

    def between_bytes(self) -> int:
        return between_bytes(self._kept(), self.call.input(0).dtype) + between_bytes(
            self._kept(), "int32"
        )

    def record(self, r: Recorder) -> None:
        axis = self.call.int_attr("axis") % self.call.input(0).rank
        kept = self._kept()
        best, index = r.between(kept, self.call.input(0).dtype), r.between(kept, "int32")
        last = "_LAST_INDEX" if self.call.flag_attr("select_last_index") else ""
        vendor.reduce(r, f"{self._op}{last}", [axis], r.x(0), best, index)
        vendor.cast(r, index, r.tensor(r.outputs[0], kept, "int64"))


class Softmax(VendorKernel):
    """Lines along one axis, as a tensor of three."""

    def __init__(self, call: OpCall, algorithm: str) -> None:
        super().__init__(call)
        self._algorithm = algorithm

    def record(self, r: Recorder) -> None:
        x = self.call.input(0)
        axis = self.call.int_attr("axis") % max(x.rank, 1)
        before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        # The last of three axes is the line, or the middle one where it is not the last.
        mode = "LOW" if after == 1 else "MEDIUM"
        shape = (before, 1, x.shape[axis]) if after == 1 else (before, x.shape[axis], after)
        algorithm = number_of(self._algorithm)
        source, target = (r.tensor(a, shape, x.dtype) for a in (r.input(0), r.outputs[0]))
        direction = number_of(f"CNNL_SOFTMAX_MODE_{mode}_DIMENSION")
        r.add("cnnlSoftmaxForward", algorithm, direction, None, *source.both, None, *target.both)


def reduction_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for reductions and softmax."""
    for op, kind in (
        ("reduce_sum", "ADD"),
        ("reduce_mean", "AVG"),
        ("reduce_prod", "MUL"),
        ("reduce_max", "MAX"),
        ("reduce_min", "MIN"),
    ):
        dtypes = FLOATS if kind == "AVG" else NUMBERS
        match = Takes(dtypes, (*vendor.REDUCE, "cnnlExpand"))
        yield KernelEntry(tag, op, Made(Reduce, (kind,)), match)
    for op, kind in (("reduce_max", "OR"), ("reduce_min", "AND")):
        match = Takes(("bool",), (*vendor.REDUCE, "cnnlExpand"))
        yield KernelEntry(tag, op, Made(Reduce, (kind,)), match)
    for op, kind in (("argmax", "MAX"), ("argmin", "MIN")):
        needs, enums = (*vendor.REDUCE, "cnnlCastDataType"), ("CNNL_CAST_INT32_TO_INT64",)
        match = Takes(NUMBERS, needs, enums)
        yield KernelEntry(tag, op, Made(ArgReduce, (kind,)), match)
    for op, algorithm in (
        ("softmax", "CNNL_SOFTMAX_ACCURATE"),
        ("log_softmax", "CNNL_SOFTMAX_LOG"),
    ):
        modes = tuple(f"CNNL_SOFTMAX_MODE_{mode}_DIMENSION" for mode in ("LOW", "MEDIUM"))
        match = Takes(FLOATS, ("cnnlSoftmaxForward",), (algorithm, *modes))
        yield KernelEntry(tag, op, Made(Softmax, (algorithm,)), match)
