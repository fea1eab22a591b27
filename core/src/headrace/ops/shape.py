"""The same elements in another shape or order."""

from __future__ import annotations

import math

from headrace.op_call import OpCall
from headrace.ops.schema import Attr, Input, Op, fail
from headrace.ops.shapes import addressable, normal_axes
from headrace.tensor_spec import TensorSpec


class Identity(Op):
    """``y = x``."""

    name = "identity"
    inputs = (Input("x"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (call.input(0),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)


class Reshape(Op):
    """The elements of ``x`` in row-major order, as a tensor of ``shape``.

    One dimension of ``shape`` may be -1: it takes what the others leave. A 0 is a dimension of 0.
    """

    name = "reshape"
    inputs = (Input("x"),)
    attrs = (Attr("shape", "ints"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, wanted = call.input(0), call.ints_attr("shape")
        if any(dim < -1 for dim in wanted) or wanted.count(-1) > 1:
            fail(call, f"shape {wanted} must hold dimensions of at least 0 and at most one -1")
        others = math.prod(dim for dim in wanted if dim != -1)
        if -1 in wanted:
            if others == 0:
                fail(call, f"shape {wanted} of {x} says nothing about -1: its other axes are empty")
            shape = tuple(x.elements // others if dim == -1 else dim for dim in wanted)
        else:
            shape = wanted
        if math.prod(shape) != x.elements:
            fail(call, f"{x} has {x.elements} elements and does not fit the shape {wanted}")
        return (addressable(call, x.with_shape(shape)),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)


class Transpose(Op):
    """Axis ``i`` of ``y`` is axis ``perm[i]`` of ``x``; an empty ``perm`` reverses the axes."""

    name = "transpose"
    inputs = (Input("x"),)
    attrs = (Attr("perm", "ints", ()),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        return (x.with_shape(tuple(x.shape[axis] for axis in permutation(call))),)


def permutation(call: OpCall) -> tuple[int, ...]:
    """The axes of ``x`` in the order that a ``transpose`` gives them; none is negative.

    Raises:
        ShapeError: ``perm`` does not name every axis once.
    """
    rank, perm = call.input(0).rank, call.ints_attr("perm")
    if not perm:
        return tuple(reversed(range(rank)))
    if len(perm) != rank:
        fail(call, f"perm {perm} must name each of the {rank} axes of {call.input(0)} once")
    return normal_axes(call, perm, rank, "perm")


class Expand(Op):
    """``x`` repeated to ``shape`` by numpy's broadcasting: leading axes are added, 1s grow."""

    name = "expand"
    inputs = (Input("x"),)
    attrs = (Attr("shape", "ints"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, shape = call.input(0), call.ints_attr("shape")
        fits = len(shape) >= x.rank and all(
            have in (1, want)
            for have, want in zip(reversed(x.shape), reversed(shape), strict=False)
        )
        if not fits or any(dim < 0 for dim in shape):
            fail(call, f"{x} does not broadcast to the shape {shape}")
        return (addressable(call, x.with_shape(shape)),)


OPS: tuple[type[Op], ...] = (Identity, Reshape, Transpose, Expand)
