"""The same elements in another shape or order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from headrace.data_format import Order, moves_nothing
from headrace.dtypes import NUMBERS
from headrace.op_call import AttrValue, OpCall
from headrace.ops.axes import permutation
from headrace.ops.elementwise import partial, split_along, split_everywhere
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, Input, Op, Reordered, SbpSignature
from headrace.ops.shapes import addressable
from headrace.sbp import REDUCTIONS
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

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return (*split_everywhere(call), *_any_partial(call))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return Reordered(call.attrs, (order,), (order,))


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
        said = [dim for dim in wanted if dim >= 0]
        unsaid = len(wanted) - len(said)
        if unsaid > 1 or (unsaid and -1 not in wanted):
            fail(call, f"shape {wanted} must hold dimensions of at least 0 and at most one -1")
        shape = wanted
        if unsaid:
            others = math.prod(said)
            if others == 0:
                fail(call, f"shape {wanted} of {x} says nothing about -1: its other axes are empty")
            shape = tuple([x.elements // others if dim == -1 else dim for dim in wanted])
        if math.prod(shape) != x.elements:
            fail(call, f"{x} has {x.elements} elements and does not fit the shape {wanted}")
        return (addressable(call, x.with_shape(shape)),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        """Along axes with equally many elements before them, one of which divides the other.

        A part of the longer one is then a part of the shorter one if the devices share both
        evenly; whoever chooses a signature sees whether they do.
        """
        x, y = call.input(0).shape, call.outputs[0].shape
        pairs = [
            ((i,), j)
            for i, before in enumerate(x)
            for j, after in enumerate(y)
            if min(before, after) > 1
            and math.prod(x[:i]) == math.prod(y[:j])
            and max(before, after) % min(before, after) == 0
        ]
        return (*split_along(*pairs), *_any_partial(call))

    @classmethod
    def part_attrs(cls, call: OpCall, outputs: Sequence[TensorSpec]) -> Mapping[str, AttrValue]:
        return {"shape": outputs[0].shape}

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        x, y = call.input(0).shape, call.outputs[0].shape
        made = tuple(range(len(y)))
        if not moves_nothing(x, order):
            if [dim for dim in x if dim != 1] != [dim for dim in y if dim != 1]:
                return None
            # Only axes of 1 come and go: these stay where they are in y, the others are as in x.
            stays = dict(zip(_long(x, range(len(x))), _long(y, made), strict=True))
            moved = (stays[axis] for axis in _long(x, order))
            made = tuple(axis if y[axis] == 1 else next(moved) for axis in made)
        return Reordered({"shape": tuple(y[axis] for axis in made)}, (order,), (made,))


def _long(shape: tuple[int, ...], axes: Iterable[int]) -> list[int]:
    return [axis for axis in axes if shape[axis] != 1]


class Transpose(Op):
    """Axis ``i`` of ``y`` is axis ``perm[i]`` of ``x``; an empty ``perm`` reverses the axes."""

    name = "transpose"
    inputs = (Input("x"),)
    attrs = (Attr("perm", "ints", ()),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        return (x.with_shape(tuple(x.shape[axis] for axis in permutation(call))),)

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0 if moves_nothing(call.input(0).shape, permutation(call)) else None

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        pairs = [
            ((axis,), made)
            for made, axis in enumerate(permutation(call))
            if call.input(0).shape[axis] > 1
        ]
        return (*split_along(*pairs), *_any_partial(call))


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

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0 if call.input(0).elements == call.outputs[0].elements else None

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return (*split_everywhere(call), *_any_partial(call))

    @classmethod
    def part_attrs(cls, call: OpCall, outputs: Sequence[TensorSpec]) -> Mapping[str, AttrValue]:
        return {"shape": outputs[0].shape}


def _any_partial(call: OpCall) -> tuple[SbpSignature, ...]:
    """Numbers that are only moved may be terms of a sum, of a maximum or of a minimum."""
    if call.input(0).dtype not in NUMBERS:
        return ()
    return tuple(
        signature for reduction in REDUCTIONS for signature in partial(reduction, (0,), count=1)
    )


OPS: tuple[type[Op], ...] = (Identity, Reshape, Transpose, Expand)
