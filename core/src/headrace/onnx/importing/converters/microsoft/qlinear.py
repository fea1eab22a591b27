"""Ops from small integers to small integers, each tensor with a scale and a zero point.

All but sums over space are said in the numbers that are meant, which float32 holds exactly: such a
tensor is read, mapped, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.dtypes import DType, float32, int32
from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.activation import softmax_from
from headrace.onnx.importing.converters.microsoft.channels_last import where_said
from headrace.onnx.importing.converters.microsoft.integers import whole
from headrace.onnx.importing.converters.pool import pool_attrs
from headrace.onnx.importing.converters.quantize import CONVERTERS
from headrace.onnx.importing.converters.window import sliding_window
from headrace.onnx.importing.formula import cast, scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor

_BYTES = "uint8 int8"


def _read(node: Node, first: int) -> Tensor:
    """The numbers that input ``first`` stands for; its scale and zero point are the next two."""
    given = [node.input(first), node.input(first + 1), node.optional(first + 2)]
    return node.one("dequantize", given, dtype=float32)


def _write(node: Node, y: Tensor, scale: int, dtype: DType) -> Tensor:
    """``y`` by the scale at that index and the zero point after it."""
    given = [y, node.input(scale), node.optional(scale + 1)]
    return node.one("quantize", given, dtype=dtype)


def _write_summed(node: Node, y: Tensor, scale: int) -> Tensor:
    """As ``_write``, rounded with the zero point added, by which ties fall to other sides."""
    y = node.one("divide", [y, whole(node, node.input(scale))])
    zero = node.optional(scale + 1)
    if zero is not None:
        y = node.one("add", [y, cast(node, whole(node, zero), float32)])
    return node.one("quantize", [y, scalar(node, 1, y), None], dtype=node.input(0).spec.dtype)


def _binary(op: str) -> Converter:
    def convert(node: Node) -> Tensor:
        return _write_summed(node, node.one(op, [_read(node, 0), _read(node, 3)]), 6)

    return convert


def _unary(of: Callable[[Node, Tensor], Tensor]) -> Converter:
    def convert(node: Node) -> Tensor:
        return _write(node, of(node, _read(node, 0)), 3, node.input(0).spec.dtype)

    return convert


def _sigmoid(node: Node, x: Tensor) -> Tensor:
    return node.one("sigmoid", [x])


def _leaky_relu(node: Node, x: Tensor) -> Tensor:
    return node.one("leaky_relu", [x], alpha=node.attr("alpha", 0.01))


def _softmax(node: Node, x: Tensor) -> Tensor:
    """Along ``axis``; as before operator set 13, over all axes from it on."""
    axis = node.attr("axis", -1)
    if node.attr("opset") < 13:
        return softmax_from(node, x, axis)
    return node.one("softmax", [x], axis=normal_axis(node, axis, x.spec.rank))


def _average_pool(node: Node) -> Tensor:
    padding = bool(node.attr("count_include_pad", 0))
    window = pool_attrs(node, sliding_window(node))
    y = node.one("avg_pool", [_read(node, 0)], count_include_pad=padding, **window)
    return _write_summed(node, y, 3)


def _global_average_pool(node: Node) -> Tensor:
    """Summed as integers, and scaled once."""
    x = node.input(0)
    if x.spec.rank < 3:
        node.invalid(f"input 0 is {x.spec}; it must have a batch, channels and space")
    first = 1 if node.attr("channels_last", 0) else 2
    axes = tuple(range(first, first + x.spec.rank - 2))
    return _mean(node, axes, keep_dims=True)


def _reduce_mean(node: Node) -> Tensor:
    rank = node.input(0).spec.rank
    axes = tuple(normal_axis(node, axis, rank) for axis in node.attr("axes")) or range(rank)
    return _mean(node, tuple(axes), keep_dims=bool(node.attr("keepdims")))


def _mean(node: Node, axes: tuple[int, ...], *, keep_dims: bool) -> Tensor:
    x, zero = node.input(0), node.optional(2)
    numbers = cast(node, x, int32)
    if zero is not None:
        numbers = node.one("subtract", [numbers, cast(node, whole(node, zero), int32)])
    sums = node.one("reduce_sum", [numbers], axes=axes, keep_dims=keep_dims)
    count = x.spec.elements // max(sums.spec.elements, 1)
    unit = with_number(node, "multiply", whole(node, node.input(3)), count)
    factor = node.one("divide", [whole(node, node.input(1)), unit])
    y = node.one("multiply", [cast(node, sums, float32), factor])
    given = [y, scalar(node, 1, y), node.optional(4)]
    return node.one("quantize", given, dtype=x.spec.dtype)


def _concat(node: Node) -> Tensor:
    """Each input is read by its own scale; all are written by that of the output."""
    if (len(node.inputs) - 2) % 3:
        node.invalid(
            f"has {len(node.inputs)} inputs; they are 2 and 3 for each tensor that is joined"
        )
    parts = [_read(node, index) for index in range(2, len(node.inputs), 3)]
    axis = normal_axis(node, node.attr("axis"), parts[0].spec.rank)
    return _write(node, node.one("concat", parts, axis=axis), 0, node.input(1).spec.dtype)


def _where(node: Node) -> Tensor:
    chosen = node.one("where", [node.input(0), _read(node, 1), _read(node, 4)])
    return _write(node, chosen, 7, node.input(8).spec.dtype)


_ONE = "X:T X_scale:float X_zero_point:T? Y_scale:float Y_zero_point:T?"
_TWO = (
    "A:T A_scale:float A_zero_point:T? B:T B_scale:float B_zero_point:T? "
    "C_scale:float C_zero_point:T?"
)
_POOLED = "X:T x_scale:float x_zero_point:T? y_scale:float y_zero_point:T?"
_WINDOW = (
    "auto_pad:string ceil_mode:int channels_last:int count_include_pad:int kernel_shape:ints! "
    "pads:ints strides:ints"
)

OPS = (
    declare("QLinearAdd", _TWO, "C:T", _binary("add"), T=_BYTES),
    declare("QLinearMul", _TWO, "C:T", _binary("multiply"), T=_BYTES),
    declare("QLinearSigmoid", _ONE, "Y:T", _unary(_sigmoid), T=_BYTES),
    declare("QLinearLeakyRelu", _ONE, "Y:T", _unary(_leaky_relu), "alpha:float", T=_BYTES),
    declare(
        "QLinearSoftmax",
        "X:T X_scale:float x_zero_point:T? y_scale:float y_zero_point:T",
        "Y:T",
        _unary(_softmax),
        "axis:int opset:int!",
        T=_BYTES,
    ),
    declare("QLinearAveragePool", _POOLED, "Y:T", where_said(_average_pool), _WINDOW, T=_BYTES),
    declare(
        "QLinearGlobalAveragePool",
        "X:T x_scale:float x_zero_point:T y_scale:float y_zero_point:T",
        "Y:T",
        _global_average_pool,
        "channels_last:int",
        T=_BYTES,
    ),
    declare(
        "QLinearReduceMean",
        "data:T data_scale:float data_zero_point:T? reduced_scale:float reduced_zero_point:T?",
        "reduced:T",
        _reduce_mean,
        "axes:ints! keepdims:int!",
        T=_BYTES,
    ),
    declare(
        "QLinearConcat",
        "Y_scale:TF Y_zero_point:T8 inputs:TV*",
        "Y:T8",
        _concat,
        "axis:int!",
        T8=_BYTES,
        TF="float",
        TV=f"{_BYTES} float",
    ),
    declare(
        "QLinearWhere",
        "condition:B X:T x_scale:TF x_zero_point:T Y:T y_scale:TF y_zero_point:T z_scale:TF "
        "z_zero_point:T",
        "Z:T",
        _where,
        B="bool",
        TF="float",
        T=_BYTES,
    ),
    declare(
        "QuantizeLinear",
        "x:T1 y_scale:T1 y_zero_point:T2?",
        "y:T2",
        CONVERTERS["QuantizeLinear"],
        "axis:int",
        T1="float16 float",
        T2="int8 uint8 int16 uint16 int4 uint4",
    ),
    declare(
        "DequantizeLinear",
        "x:T1 x_scale:T2 x_zero_point:T1?",
        "y:T2",
        CONVERTERS["DequantizeLinear"],
        "axis:int",
        T1="int8 uint8 int16 uint16 int32 int4 uint4",
        T2="float16 float",
    ),
)
