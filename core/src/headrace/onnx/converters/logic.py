"""ONNX nodes for: comparisons, boolean and bit logic, and choice by condition."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter

CONVERTERS: Mapping[str, Converter] = {}
