"""The same elements in another shape or order."""

from __future__ import annotations

from headrace.ops.schema import Op

OPS: tuple[type[Op], ...] = ()
