"""Tensors made from a few values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.dtypes import BOOL, NUMBERS, DType, bool_, float32
from headrace.errors import OpError
from headrace.op_call import AttrValue, OpCall
from headrace.ops.elementwise import split_along, split_everywhere
from headrace.ops.failure import fail
from headrace.ops.schema import Attr, Input, Op, SbpSignature
from headrace.ops.shapes import addressable, normal_axis
from headrace.tensor_spec import TensorSpec


class Fill(Op):
    """Every element is ``value``; it must be one that ``dtype`` holds, rounded if that is a float.

    Integers beyond 2**53 do not survive a float attribute: ``expand`` a constant for these.
    """

    name = "fill"
    attrs = (
        Attr("shape", "ints"),
        Attr("value", "float", 0.0),
        Attr("dtype", "dtype", float32),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        value, dtype = call.float_attr("value"), call.dtype_attr("dtype")
        shape = call.ints_attr("shape")
        if any(dim < 0 for dim in shape):
            fail(call, f"shape {shape} has a negative dimension")
        if dtype not in NUMBERS | BOOL:
            fail(call, f"gives numbers and bool, not {dtype}", OpError)
        if not dtype.is_float:
            low, high = _limits(dtype)
            if not (value.is_integer() and low <= int(value) <= high):
                fail(call, f"value {value!r} is none that {dtype} holds exactly", OpError)
        return (addressable(call, TensorSpec(shape, dtype)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call)

    @classmethod
    def part_attrs(cls, call: OpCall, outputs: Sequence[TensorSpec]) -> Mapping[str, AttrValue]:
        return call.attrs | {"shape": outputs[0].shape}


def _limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer that both ``dtype`` and a float attribute hold."""
    if dtype == bool_:
        return 0, 1
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    greatest = min(2**bits - 1, 2**53)
    return (-min(2**bits, 2**53) if dtype.kind == "i" else 0), greatest


class Arange(Op):
    """``y[i] = start + i * step`` for ``size`` elements; integers wrap around."""

    name = "arange"
    inputs = (Input("start", NUMBERS), Input("step", NUMBERS))
    attrs = (Attr("size", "int"),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        start, step, size = call.input(0), call.input(1), call.int_attr("size")
        if start.elements != 1 or step.elements != 1:
            fail(call, f"start and step must be one element each; they are {start} and {step}")
        if size < 0:
            fail(call, f"size {size} is negative")
        return (addressable(call, start.with_shape((size,))),)


class OneHot(Op):
    """``values[1]`` where the position along a new axis is the index, ``values[0]`` elsewhere.

    Inputs:
        indices: -1 is the last position; an index outside ``-depth..depth-1`` marks no position.
            Floating indices are cut to integers.
        values: the two values (off, on).

    Attributes:
        depth: length of the new axis.
        axis: where the new axis stands in ``y``.
    """

    name = "one_hot"
    inputs = (Input("indices", NUMBERS, group=""), Input("values", group=""))
    attrs = (Attr("depth", "int"), Attr("axis", "int", -1))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        indices, values, depth = call.input(0), call.input(1), call.int_attr("depth")
        if values.shape != (2,):
            fail(call, f"values must be (off, on), a tensor of shape (2,); they are {values}")
        if depth < 0:
            fail(call, f"depth {depth} is negative")
        axis = normal_axis(call, call.int_attr("axis"), indices.rank + 1)
        shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
        return (addressable(call, values.with_shape(shape)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        new = call.int_attr("axis") % call.outputs[0].rank
        long = (n for n, dim in enumerate(call.input(0).shape) if dim > 1)
        return split_along(*(((axis, None), axis + (axis >= new)) for axis in long))


OPS: tuple[type[Op], ...] = (Fill, Arange, OneHot)
