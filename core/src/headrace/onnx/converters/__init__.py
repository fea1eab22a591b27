"""How each ONNX op is said in headrace ops: one file per family, stems as in ``headrace.ops``.

A converter is a function ``Node -> Tensor | tuple[Tensor, ...]``. It reads versions with
``node.opset`` and refuses what headrace does not run with ``node.refuse``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headrace.onnx.converters import (
    activation,
    binary,
    cast,
    conv,
    fill,
    gather,
    logic,
    matmul,
    norm,
    pool,
    reduce,
    resize,
    shape,
    slice,
    softmax,
    unary,
)
from headrace.onnx.node import Converter

__all__ = ["CONVERTERS"]

_FAMILIES = (
    unary,
    binary,
    activation,
    logic,
    cast,
    matmul,
    reduce,
    softmax,
    conv,
    pool,
    norm,
    resize,
    shape,
    slice,
    gather,
    fill,
)

CONVERTERS: Mapping[str, Converter] = MappingProxyType(
    {name: function for family in _FAMILIES for name, function in family.CONVERTERS.items()}
)
"""The converter of every ONNX op that headrace imports, by ONNX name (default domain)."""
