"""How the ops of domain ``ai.onnx.ml`` are expressed in headrace ops: one file per family.

Models of scikit-learn, XGBoost and LightGBM are made of them. What gives or takes text, or maps, is
run by the host: see ``headrace.onnx.hosted``.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.node import Converter
from headrace.ops.families import FamilyTable

__all__ = ["CONVERTED", "MACHINE_LEARNING"]

CONVERTED: Mapping[str, tuple[str, ...]] = {
    "trees": ("TreeEnsemble", "TreeEnsembleRegressor", "TreeEnsembleClassifier"),
    "linear": ("LinearRegressor", "LinearClassifier"),
    "support_vectors": ("SVMRegressor", "SVMClassifier"),
    "features": (
        "Scaler", "Imputer", "Normalizer", "Binarizer", "ArrayFeatureExtractor",
        "FeatureVectorizer", "OneHotEncoder", "LabelEncoder",
    ),
}  # fmt: skip
"""What each file has converters of."""

MACHINE_LEARNING: Mapping[str, Converter] = FamilyTable(
    lambda family: family.CONVERTERS, __name__, CONVERTED
)
"""The converter of every op of the domain that headrace imports, by name."""
