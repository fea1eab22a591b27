"""Elementwise ops of what is not float32, each one native pass over memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from headrace.device import KernelEntry, Launch, OpCall, any_call, dtypes
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views

UNARY: Mapping[str, tuple[str, ...]] = {
    "relu": (),
    "negative": (),
    "abs": (),
    "sqrt": (),
    "reciprocal": (),
    "floor": (),
    "ceil": (),
    "round": (),
    "erf": (),
    "sigmoid": (),
    "swish": ("alpha",),
    "leaky_relu": ("alpha",),
    "hard_sigmoid": ("alpha", "beta"),
    "hard_swish": (),
}
"""Op -> its attributes, as the extension takes them. Others, numpy computes as fast."""

BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
LOGIC = ("equal", "logical_and", "logical_or", "logical_xor")
CAST = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")
DOUBLES = dtypes("float64")
WHOLE = ("int8", "uint8", "int32", "int64")
NUMBERS = dtypes("float64", "int32", "int64")
"""``kernels/program.py`` computes what is float32."""


class Unary(NativeKernel):
    """An op of ``UNARY``: x: T[...], y: T[...], which may be the same memory. No workspace."""

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, y = views.input(), views.output()
        return native.unary(call.op, x, y, *map(call.float_attr, UNARY[call.op]))


class Clip(NativeKernel):
    """``clip``: x: T[...], limits: T[] or absent, y: T[...], which may be x. No workspace."""

    def _make(self, views: Views) -> Launch:
        x, y = views.input(), views.output()
        low, high = (views.optional(index) for index in (1, 2))
        return native.clip(x, low, high, y)


class Binary(NativeKernel):
    """An op of two tensors with broadcasting: a, b: T[...], y: T or bool[common shape].

    y may be the memory of an input that has its shape and dtype. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        a, b = views.inputs()
        return native.binary(call.op, a, b, views.output())


class Where(NativeKernel):
    """``where``: condition: bool[...], x, y: T[...], made: T[common shape]. No workspace."""

    def _make(self, views: Views) -> Launch:
        condition, x, y = views.inputs()
        return native.where(condition, x, y, views.output())


class Not(NativeKernel):
    """``logical_not``, which is to be equal to false: x, y: bool[...], y may be x. No workspace."""

    def _make(self, views: Views) -> Launch:
        return native.binary("equal", views.input(), np.zeros((), bool), views.output())


class Remainder(Binary):
    """``mod`` of floats: as ``Binary``."""

    def _make(self, views: Views) -> Launch:
        op = "fmod" if self._call.flag_attr("fmod") else "mod"
        a, b = views.inputs()
        return native.binary(op, a, b, views.output())


class Cast(NativeKernel):
    """``cast``: x: of ``CAST`` or 16 bits, y: of ``CAST``, which may be x. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        return native.cast(views.input(), views.output())


def _is_cast(call: OpCall) -> bool:
    return call.outputs[0].dtype.name in CAST


class Count(NativeKernel):
    """``arange``: start, step: T[], y: T[size]. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        start, step = views.inputs()
        return native.arange(start, step, views.output())


class BiasAdd(Binary):
    """``bias_add``: x: T[...], bias: T[length of axis], y: as x, which may be x. No workspace."""

    def _make(self, views: Views) -> Launch:
        return native.binary("add", views.input(), aligned_bias(self._call, views), views.output())


def aligned_bias(call: OpCall, views: Views) -> Array:
    """The bias of a ``bias_add``, so that it broadcasts to x."""
    behind = call.input(0).rank - 1 - call.int_attr("axis") % call.input(0).rank
    return views.input(1).reshape(-1, *(1,) * behind)


def elementwise_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    for op in UNARY:
        yield KernelEntry(tag, op, Unary, DOUBLES)
    yield KernelEntry(tag, "clip", Clip, dtypes("float64", *WHOLE))
    for op in (*BINARY, *COMPARISONS):
        yield KernelEntry(tag, op, Binary, NUMBERS)
    for op in LOGIC:  # alone they are faster than a program, which goes by floats
        yield KernelEntry(tag, op, Binary, dtypes("bool"), priority=2)
    yield KernelEntry(tag, "logical_not", Not, dtypes("bool"), priority=2)
    yield KernelEntry(tag, "where", Where, any_call, priority=2)  # so is this of floats
    yield KernelEntry(tag, "prelu", Binary, DOUBLES)
    yield KernelEntry(tag, "bias_add", BiasAdd, NUMBERS)
    yield KernelEntry(tag, "divide", Binary, dtypes("int8", "uint8"))
    yield KernelEntry(tag, "mod", Remainder, dtypes("float32"))
    # Alone it is faster than a program of one step.
    casts = SomeCalls("to one of these", dtypes(*CAST, "float16", "bfloat16"), _is_cast)
    yield KernelEntry(tag, "cast", Cast, casts, priority=2)
    yield KernelEntry(tag, "arange", Count, dtypes("float32", "float64", "int32", "int64"))
