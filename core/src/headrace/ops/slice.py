"""Parts of tensors and tensors from parts."""

from __future__ import annotations

from headrace.data_format import Order
from headrace.op_call import OpCall
from headrace.ops.axes import pad_amounts, slice_parts
from headrace.ops.elementwise import split_along
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, Input, Op, Reordered, SbpSignature
from headrace.ops.shapes import addressable, normal_axis
from headrace.tensor_spec import TensorSpec


class Slice(Op):
    """``x[start:end:step]`` along some axes, as numpy cuts: bounds clamp, negative ones count back.

    Attributes:
        starts, ends: one bound for each axis that is cut.
        axes: the axes that are cut; empty means the first ones.
        steps: any integers but 0; empty means 1 for each.
    """

    name = "slice"
    inputs = (Input("x"),)
    attrs = (
        Attr("starts", "ints"),
        Attr("ends", "ints"),
        Attr("axes", "ints", ()),
        Attr("steps", "ints", ()),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (call.input(0).with_shape(tuple([count for count, *_ in slice_parts(call)])),)

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        """One run of bytes: single indices, then a range, then whole axes."""
        x, parts = call.input(0), slice_parts(call)
        if not call.outputs[0].elements:
            return None
        position, is_whole = 0, False  # the first axis that keeps more than one index has been met
        for dim, part in zip(x.shape, parts, strict=True):
            if is_whole and part != (dim, 0, 1):
                return None
            count, first, step = part
            position = position * dim + first
            is_whole = is_whole or count > 1
            if step != 1:
                return None
        return position * x.dtype.itemsize

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        shape = call.input(0).shape
        whole = (n for n, part in enumerate(slice_parts(call)) if part == (shape[n], 0, 1))
        return split_along(*(((axis,), axis) for axis in whole if shape[axis] > 1))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        starts = call.ints_attr("starts")
        named = call.ints_attr("axes") or tuple(range(len(starts)))
        axes = tuple(order.index(axis % len(order)) for axis in named)
        return Reordered(call.attrs | {"axes": axes}, (order,), (order,))


class Concat(Op):
    """The inputs one after another along ``axis``; all other dimensions are equal."""

    name = "concat"
    inputs = (Input("xs", variadic=True),)
    attrs = (Attr("axis", "int"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        first = call.input(0)
        axis = normal_axis(call, call.int_attr("axis"), first.rank)
        specs = [call.input(index) for index in range(len(call.inputs))]
        for spec in specs:
            rest, expected = list(spec.shape), list(first.shape)
            if (
                spec.rank != first.rank
                or rest[:axis] != expected[:axis]
                or (rest[axis + 1 :] != expected[axis + 1 :])
            ):
                fail(call, f"{first} and {spec} differ elsewhere than along axis {axis}")
        total = sum(spec.shape[axis] for spec in specs)
        return (first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :])),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        first, count = call.input(0), len(call.inputs)
        joined = call.int_attr("axis") % first.rank
        others = (n for n, dim in enumerate(first.shape) if n != joined and dim > 1)
        return split_along(*(((axis,) * count, axis) for axis in others))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        axis = order.index(call.int_attr("axis") % len(order))
        given = (order,) * len(call.inputs)
        return Reordered(call.attrs | {"axis": axis}, given, (order,))


class Pad(Op):
    """``x`` with more elements around it; negative amounts take elements away first.

    Inputs:
        value: one element, used by mode ``constant``; 0 when it is absent.

    Attributes:
        pads: amounts before each axis, then amounts after each axis.
        mode: ``constant`` writes ``value``; ``edge`` repeats the border; ``reflect`` mirrors at the
            border element, which is not repeated; ``wrap`` goes on at the other side. Mirroring
            and wrapping start over as often as the amount needs.
    """

    name = "pad"
    inputs = (Input("x"), Input("value", optional=True))
    attrs = (
        Attr("pads", "ints"),
        Attr("mode", "str", "constant", ("constant", "reflect", "edge", "wrap")),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, mode, amounts = call.input(0), call.str_attr("mode"), pad_amounts(call)
        if call.has_input(1) and call.input(1).elements != 1:
            fail(call, f"value must be one element; it is {call.input(1)}")
        shape: list[int] = []
        for axis, (dim, (before, after)) in enumerate(zip(x.shape, amounts, strict=True)):
            shape.append(before + dim + after)
            kept = dim + min(before, 0) + min(after, 0)
            if shape[-1] < 0:
                fail(call, f"pads {(before, after)} take more than axis {axis} of {x} has")
            if mode != "constant" and kept <= 0 < shape[-1]:
                fail(call, f"axis {axis} of {x} leaves nothing to pad with in mode {mode!r}")
        return (addressable(call, x.with_shape(tuple(shape))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        shape = call.input(0).shape
        kept = (n for n, amounts in enumerate(pad_amounts(call)) if amounts == (0, 0))
        return split_along(*(((axis, None), axis) for axis in kept if shape[axis] > 1))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        rank, pads = len(order), call.ints_attr("pads")
        moved = tuple(pads[side + axis] for side in (0, rank) for axis in order)
        return Reordered(call.attrs | {"pads": moved}, (order, None), (order,))


class Tile(Op):
    """``x`` repeated ``repeats[i]`` times along axis ``i``."""

    name = "tile"
    inputs = (Input("x"),)
    attrs = (Attr("repeats", "ints"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, repeats = call.input(0), call.ints_attr("repeats")
        if len(repeats) != x.rank or any(count < 0 for count in repeats):
            fail(call, f"repeats {repeats} must hold a count of at least 0 for each axis of {x}")
        shape = tuple(dim * count for dim, count in zip(x.shape, repeats, strict=True))
        return (addressable(call, x.with_shape(shape)),)

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0 if call.input(0).elements == call.outputs[0].elements else None

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        shape = call.input(0).shape
        kept = (n for n, count in enumerate(call.ints_attr("repeats")) if count == 1)
        return split_along(*(((axis,), axis) for axis in kept if shape[axis] > 1))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        repeats = tuple(call.ints_attr("repeats")[axis] for axis in order)
        return Reordered(call.attrs | {"repeats": repeats}, (order,), (order,))


OPS: tuple[type[Op], ...] = (Slice, Concat, Pad, Tile)
