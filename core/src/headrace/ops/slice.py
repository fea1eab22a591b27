"""Parts of tensors and tensors from parts."""

from __future__ import annotations

from headrace.ops.schema import Op

OPS: tuple[type[Op], ...] = ()
