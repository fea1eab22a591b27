"""Ops over windows of quantized images whose channels come last.

onnxruntime writes them into quantized models that it saves at ``ORT_ENABLE_ALL``. Weights lie as in
the op of ONNX; what is turned before an op and after it is turned no more where ops follow each
other.
"""

from __future__ import annotations

from headrace.data_format import CHANNELS_FIRST, CHANNELS_LAST, order_between
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.integer import CONVERTERS as PRODUCTS
from headrace.onnx.importing.converters.pool import CONVERTERS as POOLS
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def where_said(convert: Converter) -> Converter:
    """``convert``, which is for channels that come first, also for a node that has them last."""
    turned = channels_last(convert)

    def either(node: Node) -> Tensor:
        made = (turned if node.attr("channels_last", 0) else convert)(node)
        assert isinstance(made, Tensor)
        return made

    return either


def channels_last(convert: Converter) -> Converter:
    """``convert`` for a node that has the channels of input 0, and those of its result, last."""

    def turned(node: Node) -> Tensor:
        x = node.input(0)
        if x.spec.rank < 3:
            node.invalid(f"input 0 is {x.spec}; it must have a batch, space and channels")
        first = order_between(CHANNELS_LAST, CHANNELS_FIRST, x.spec.rank)
        last = order_between(CHANNELS_FIRST, CHANNELS_LAST, x.spec.rank)
        made = convert(node.reading(node.one("transpose", [x], perm=first), *node.inputs[1:]))
        y = made[0] if isinstance(made, tuple) else made
        assert isinstance(y, Tensor)
        return node.one("transpose", [y], perm=last)

    return turned


_BYTES = "int8 uint8"
_WINDOW = "auto_pad:string dilations:ints pads:ints strides:ints"

OPS = (
    declare(
        "QLinearConv",
        "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float "
        "y_zero_point:T3 B:int32?",
        "y:T3",
        where_said(PRODUCTS["QLinearConv"]),
        f"{_WINDOW} channels_last:int group:int kernel_shape:ints",
        T1=_BYTES,
        T2=_BYTES,
        T3=_BYTES,
    ),
    declare(
        "NhwcMaxPool",
        "x:T",
        "y:T",
        channels_last(POOLS["MaxPool"]),
        f"{_WINDOW} ceil_mode:int kernel_shape:ints!",
        T=_BYTES,
    ),
)
