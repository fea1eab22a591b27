"""How the ops of domain ``ai.onnx.ml`` are expressed in headrace ops: one file per family.

Models of scikit-learn, XGBoost and LightGBM are made of them. What gives or takes text, or maps, is
run by the host: see ``headrace.onnx.hosted``.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter
from headrace.ops.families import merged

__all__ = ["MACHINE_LEARNING", "ML_DOMAIN"]

ML_DOMAIN = "ai.onnx.ml"

MACHINE_LEARNING: Mapping[str, Converter] = merged(
    __name__, "CONVERTERS", ("trees", "linear", "support_vectors", "features")
)
"""The converter of every op of the domain that headrace imports, by name."""
