"""How the ops of onnxruntime's own domain are expressed in headrace ops: one file per family.

Models have them that onnxruntime's tools have quantized or optimised. Each file declares its ops
next to their converters, in ``OPS``.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.contrib import ContribOp, by_name
from headrace.onnx.converters.microsoft import (
    activation,
    attention,
    blocks,
    early,
    fused,
    grouped,
    norm,
    products,
    qlinear,
    recurrent,
    rotary,
)

__all__ = ["CONTRIB"]

CONTRIB: Mapping[tuple[str, str], ContribOp] = by_name(
    op
    for family in (
        qlinear,
        products,
        recurrent,
        fused,
        activation,
        norm,
        attention,
        rotary,
        grouped,
        blocks,
        early,
    )
    for op in family.OPS
)
"""Every such op that headrace imports, by domain and name."""
