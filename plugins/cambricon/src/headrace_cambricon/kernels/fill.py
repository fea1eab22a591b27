"""Tensors made from a few values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headrace.device import KernelEntry, OpCall
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.cast import (
    Step,
    cast_steps,
    convert,
    convert_bytes,
    is_known,
)
from headrace_cambricon.kernels.indices import (
    UPWARD,
    UPWARD_ENUMS,
    given,
    known,
    upward,
    upward_bytes,
)
from headrace_cambricon.kernels.kernel import (
    Recorder,
    VendorKernel,
    WithWorkspace,
    between_bytes,
)
from headrace_cambricon.kernels.match import Takes
from headrace_cambricon.kernels.movement import bits, collapsed, made


class Fill(VendorKernel):
    """One number everywhere, spread from one element that lies on the device."""

    def record(self, r: Recorder) -> None:
        y = self.call.outputs[0]
        element = np.array(self.call.float_attr("value")).astype(y.dtype.numpy).tobytes()
        shape = (1,) * max(len(y.shape), 1)
        one = r.tensor(r.context.constant(element), shape, bits(y.dtype))
        r.add("cnnlExpand", *one.both, *made(r).both)


class Arange(WithWorkspace):
    """``start + i * step``, in float32 or int32: what ``i`` is, is known."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        own = call.outputs[0].dtype
        self._wide = "float32" if own.is_float else "int32"
        self._there = _steps(own.name, self._wide)
        self._back = _steps(self._wide, own.name)

    def between_bytes(self) -> int:
        count = self.call.outputs[0].elements
        scalars = 2 * convert_bytes(1, self._there)
        back = convert_bytes(count, self._back[:-1])
        return scalars + back + 2 * between_bytes((count,), self._wide)

    def record(self, r: Recorder) -> None:
        y = self.call.outputs[0]
        counted = np.arange(y.elements, dtype=self._wide)
        places = r.tensor(r.context.constant(counted.tobytes()), y.shape, self._wide)
        start, step = (convert(r, r.tensor(r.input(n), (1,), y.dtype), self._there) for n in (0, 1))
        steps = r.between(y.shape, self._wide)
        vendor.op_tensor(r, "CNNL_OP_TENSOR_MUL", places, step, steps)
        summed = r.between(y.shape, self._wide) if self._back else r.y()
        vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", steps, start, summed)
        if self._back:
            convert(r, summed, self._back, r.y())


class OneHot(WithWorkspace):
    """The one of two values where a position is the index, the other elsewhere."""

    def _shape(self) -> tuple[int, int, int]:
        y = self.call.outputs[0]
        return collapsed(y.shape, self.call.int_attr("axis") % y.rank)

    def between_bytes(self) -> int:
        indices = self.call.input(0)
        marks = between_bytes(self._shape(), "bool")
        whole = convert_bytes(indices.elements, _to_index(indices.dtype.name))
        return whole + upward_bytes("int64", indices.elements) + marks

    def record(self, r: Recorder) -> None:
        before, depth, after = shape = self._shape()
        values, indices = self.call.input(1).dtype, given(r, 0)
        whole = convert(r, indices, _to_index(indices.dtype))
        places = upward(r, whole, depth).address
        index, marks = r.tensor(places, (before, 1, after), "int32"), r.between(shape, "bool")
        every = known(r, np.arange(depth, dtype=np.int32).reshape(1, depth, 1))
        vendor.logic(r, "EQ", index, every, marks)
        off, on = (
            r.tensor(r.input(1) + n * values.itemsize, (1, 1, 1), bits(values)) for n in (0, 1)
        )
        vendor.select(r, marks, on, off, made(r, shape))


def _steps(source: str, target: str) -> tuple[Step, ...]:
    return () if source == target else cast_steps(source, target)


def _is_counted(call: OpCall) -> bool:
    """In what is no wider than what is counted in; of integers the low bits are the same."""
    dtype = call.input(0).dtype
    wide = "float32" if dtype.is_float else "int32"
    return dtype.itemsize <= 4 and all(
        a == b or is_known(a, cast_steps(a, b)) for a, b in ((dtype.name, wide), (wide, dtype.name))
    )


def _to_index(dtype: str) -> tuple[Step, ...]:
    """The way to a dtype of indices that has every number."""
    if dtype in ("int32", "int64"):
        return ()
    return cast_steps(dtype, "int64" if dtype == "uint32" else "int32")


def _has_index(call: OpCall) -> bool:
    name = call.input(0).dtype.name
    return name in ("int32", "int64") or (
        name not in ("uint64", "float64") and is_known(name, _to_index(name))
    )


def fill_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for ``fill``, ``arange`` and ``one_hot``."""
    casts = (*vendor.SLICE, *vendor.COPY, "cnnlCastDataType")
    yield KernelEntry(tag, "fill", Fill, Takes((), ("cnnlExpand",)))
    match = Takes(
        (),
        (*vendor.OP_TENSOR, *casts),
        ("CNNL_OP_TENSOR_ADD", "CNNL_OP_TENSOR_MUL"),
        _is_counted,
        "floats and integers of up to 32 bits",
    )
    yield KernelEntry(tag, "arange", Arange, match)
    match = Takes(
        (),
        (*UPWARD, *vendor.LOGIC, *vendor.SELECT, *casts),
        (*UPWARD_ENUMS, "CNNL_LOGIC_OP_EQ"),
        _has_index,
        "indices that fit into 64 bits",
    )
    yield KernelEntry(tag, "one_hot", OneHot, match)
