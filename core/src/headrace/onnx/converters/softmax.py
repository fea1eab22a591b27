"""ONNX nodes for: normalised exponentials along an axis."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter

CONVERTERS: Mapping[str, Converter] = {}
