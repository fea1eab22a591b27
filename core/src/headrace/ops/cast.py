"""Changes of dtype."""

from __future__ import annotations

from headrace.dtypes import ALL, DType
from headrace.op_call import OpCall
from headrace.ops.elementwise import Elementwise
from headrace.ops.schema import Attr, Input, Op


class Cast(Elementwise):
    """``x`` as another dtype.

    To a float: rounded to nearest, even on ties; beyond its range, infinite. To an integer: a
    float is cut towards zero and kept within the integer's range, NaN becomes 0; an integer keeps
    its low bits. To an integer of 4 bits: as to int32, and then the low ones of its bits.
    To bool: True where it is not zero.

    Attributes:
        dtype: the dtype of ``y``.
        saturate: for a float of 8 bits: what is beyond its range, infinity too, becomes its
            largest finite value; otherwise infinity, or NaN where the type has no infinity.
    """

    name = "cast"
    inputs = (Input("x", ALL),)
    attrs = (Attr("dtype", "dtype"), Attr("saturate", "bool", True))

    @classmethod
    def result_dtype(cls, call: OpCall) -> DType:
        return call.dtype_attr("dtype")

    @classmethod
    def view(cls, call: OpCall) -> int | None:
        return 0 if call.outputs[0].dtype is call.input(0).dtype else None


OPS: tuple[type[Op], ...] = (Cast,)
