"""How each ONNX op is expressed in headrace ops: one file per family, stems as in ``headrace.ops``.

Files of other stems are for what ONNX has as ops and headrace composes.

A converter is a function ``Node -> Value | tuple[Value, ...]``. It reads versions with
``node.opset`` and refuses what headrace does not run with ``node.refuse``.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter
from headrace.ops.families import FAMILIES, merged

__all__ = ["CONVERTERS"]

CONVERTERS: Mapping[str, Converter] = merged(
    __name__,
    "CONVERTERS",
    (*FAMILIES, "regions", "sequences", "random", "deform"),
)
"""The converter of every ONNX op that headrace imports, by ONNX name (default domain)."""
