"""Comparisons, boolean and bit logic, and choice by condition, in numpy."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.numpy_ops.function import NumpyFunction

FUNCTIONS: Mapping[str, NumpyFunction] = {}
