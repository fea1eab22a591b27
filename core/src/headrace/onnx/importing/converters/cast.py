"""ONNX nodes for: changes of dtype."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto

from headrace.dtypes import DType
from headrace.onnx.file.tensors import dtype_from_onnx
from headrace.onnx.file.text import Said
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _cast(node: Node) -> Tensor:
    number = node.attr("to")
    if isinstance(number, str):  # the dtype's name, before opset 6
        if number not in tuple(TensorProto.DataType.keys()):
            node.invalid(f"to is {number!r}, which is no data type")
        number = TensorProto.DataType.Value(number)
    return _to(node, dtype_from_onnx(number, Said(str, node)))


def _cast_like(node: Node) -> Tensor:
    return _to(node, node.input(1).spec.dtype)


def _to(node: Node, dtype: DType) -> Tensor:
    # `round_mode` speaks of an 8-bit exponent type only, which is no tensor dtype here.
    saturate = node.attr("saturate", 1)
    return node.one("cast", [node.input(0)], dtype=dtype, saturate=saturate)


CONVERTERS: Mapping[str, Converter] = {"Cast": _cast, "CastLike": _cast_like}
