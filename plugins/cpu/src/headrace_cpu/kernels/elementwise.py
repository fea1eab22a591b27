"""Elementwise ops, each one native pass over memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.device import KernelEntry, Launch, dtypes
from headrace_cpu.kernels.match import FLOATS
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
    "sigmoid": (),
    "swish": ("alpha",),
    "leaky_relu": ("alpha",),
    "hard_sigmoid": ("alpha", "beta"),
    "hard_swish": (),
}
"""Op -> its attributes, as the extension takes them. Others, numpy computes as fast."""

BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
BINARY_FLOATS = ("divide", "prelu")
DOUBLES = dtypes("float64")
"""What ``kernels/program.py`` does not compute."""
NUMBERS = dtypes("float32", "float64", "int32", "int64")


class Unary(NativeKernel):
    """An op of ``UNARY``: x: T[...], y: T[...], which may be the same memory. No workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call = self._call
        x, y = views.input(), views.output()
        return _native.unary(call.op, x, y, *map(call.float_attr, UNARY[call.op]))


class Erf(Unary):
    """``erf``: x: T[...], y: T[...], which may be the same memory. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        return _native.erf(views.input(), views.output())


class Clip(Unary):
    """``clip``: x: T[...], limits: T[] or absent, y: T[...], which may be x. No workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        x, y = views.input(), views.output()
        low, high = (views.optional(index) for index in (1, 2))
        return _native.clip(x, low, high, y)


class Binary(NativeKernel):
    """An op of two tensors with broadcasting: a, b: T[...], y: T[common shape]. No workspace.

    y may be the memory of an input that has its shape.
    """

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call = self._call
        a, b = views.inputs()
        return _native.binary(call.op, a, b, views.output())


class BiasAdd(Binary):
    """``bias_add``: x: T[...], bias: T[length of axis], y: as x, which may be x. No workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call = self._call
        x, bias = views.inputs()
        behind = x.ndim - 1 - call.int_attr("axis") % x.ndim
        aligned = bias.reshape(-1, *(1,) * behind)
        return _native.binary("add", x, aligned, views.output())


def elementwise_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    for op in UNARY:
        yield KernelEntry(tag, op, Unary, DOUBLES)
    yield KernelEntry(tag, "erf", Erf, DOUBLES)
    yield KernelEntry(tag, "clip", Clip, FLOATS)
    for op in BINARY:
        yield KernelEntry(tag, op, Binary, NUMBERS)
    for op in BINARY_FLOATS:
        yield KernelEntry(tag, op, Binary, FLOATS)
    yield KernelEntry(tag, "bias_add", BiasAdd, NUMBERS)
