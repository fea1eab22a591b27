"""Windows that slide over space and keep their largest element or their mean."""

from __future__ import annotations

from headrace.dtypes import FLOATS, NUMBERS, int64
from headrace.op_call import OpCall
from headrace.ops.schema import Attr, Input, Op, Output, SbpSignature, fail
from headrace.ops.shapes import addressable
from headrace.ops.window import WINDOW_ATTRS, Window, slide, spatial_shape, window_of
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec

_ATTRS = (Attr("kernel", "ints"), *WINDOW_ATTRS, Attr("ceil_mode", "bool", False))


class Pool(Op):
    """What both pools share: x ``[n, c, *spatial]`` gives y ``[n, c, *windows]``.

    ``kernel`` has one number for each spatial axis. With ``ceil_mode`` one more window may
    overhang the end padding, if it begins before it.
    """

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        kernel = call.ints_attr("kernel")
        if len(kernel) != len(spatial):
            fail(call, f"kernel {kernel} must have {len(spatial)} numbers for x {call.input(0)}")
        windows = slide(call, pool_window(call), spatial, ceil_mode=call.flag_attr("ceil_mode"))
        x = call.input(0)
        y = addressable(call, x.with_shape((*x.shape[:2], *windows)))
        return (y, y.with_dtype(int64))[: call.output_count]

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        # The indices of max_pool count through the whole tensor: a slice cannot know them.
        if call.output_count > 1:
            return ()
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis, length in enumerate(call.input(0).shape[:2])
            if length > 1
        )


class MaxPool(Pool):
    """The largest element of each window; padding never wins, NaN always does.

    ``indices``: where the first largest element is, as an index into all of x flattened;
    its spatial part counts the last axis fastest, or the first with ``storage_order="column"``.
    A window that stands on padding alone gives the lowest value of its dtype and index -1.
    """

    name = "max_pool"
    inputs = (Input("x", NUMBERS),)
    outputs = (Output("y"), Output("indices", optional=True))
    attrs = (*_ATTRS, Attr("storage_order", "str", "row", choices=("row", "column")))


class AvgPool(Pool):
    """The mean of each window.

    The divisor counts the real elements under the window and, with ``count_include_pad``, the
    padding; never what ``ceil_mode`` makes overhang. A window in which nothing counts gives 0.
    16-bit floats are accumulated in float32.
    """

    name = "avg_pool"
    inputs = (Input("x", FLOATS),)
    attrs = (*_ATTRS, Attr("count_include_pad", "bool", False))


def pool_window(call: OpCall) -> Window:
    """The window of a ``max_pool`` or ``avg_pool``."""
    return window_of(call, call.ints_attr("kernel"))


OPS: tuple[type[Op], ...] = (MaxPool, AvgPool)
