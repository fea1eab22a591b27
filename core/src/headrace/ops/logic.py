"""Comparisons, boolean and bit logic, and choice by condition."""

from __future__ import annotations

from headrace.ops.schema import Op

OPS: tuple[type[Op], ...] = ()
