"""All ops of onnxruntime's own domain that headrace imports."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.contrib import ContribOp, by_name
from headrace.onnx.importing.converters.microsoft import (
    activation,
    attention,
    blocks,
    channels_last,
    early,
    fused,
    grouped,
    norm,
    products,
    qlinear,
    recurrent,
    rotary,
)

CONTRIB: Mapping[tuple[str, str], ContribOp] = by_name(
    op
    for family in (
        qlinear,
        channels_last,
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
"""By domain and name."""
