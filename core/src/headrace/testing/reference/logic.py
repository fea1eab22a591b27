"""Comparisons, boolean and bit logic, and choice by condition: the oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FUNCTIONS: Mapping[str, Callable[..., Any]] = {}
