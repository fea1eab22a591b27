"""The converters of all ops of domain ``ai.onnx.ml`` that headrace imports."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter
from headrace.ops.families import merged

MACHINE_LEARNING: Mapping[str, Converter] = merged(
    "headrace.onnx.converters.ml", "CONVERTERS", ("trees", "linear", "support_vectors", "features")
)
"""By name."""
