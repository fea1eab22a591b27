"""ONNX nodes for: the same elements in another shape or order."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter

CONVERTERS: Mapping[str, Converter] = {}
