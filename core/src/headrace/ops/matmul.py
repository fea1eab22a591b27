"""Matrix products."""

from __future__ import annotations

from headrace.ops.schema import Op

OPS: tuple[type[Op], ...] = ()
