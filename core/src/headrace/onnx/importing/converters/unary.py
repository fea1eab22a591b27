"""ONNX nodes for: elementwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.formula import same_op
from headrace.onnx.importing.node import Converter

CONVERTERS: Mapping[str, Converter] = {
    "Relu": same_op("relu"),
    "Neg": same_op("negative"),
    "Abs": same_op("abs"),
    "Sign": same_op("sign"),
    "Floor": same_op("floor"),
    "Ceil": same_op("ceil"),
    "Round": same_op("round"),
    "Sqrt": same_op("sqrt"),
    "Reciprocal": same_op("reciprocal"),
    "Exp": same_op("exp"),
    "Log": same_op("log"),
    "Erf": same_op("erf"),
    "Sigmoid": same_op("sigmoid"),
    "Sin": same_op("sin"),
    "Cos": same_op("cos"),
    "Tan": same_op("tan"),
    "Asin": same_op("asin"),
    "Acos": same_op("acos"),
    "Atan": same_op("atan"),
    "Sinh": same_op("sinh"),
    "Cosh": same_op("cosh"),
    "Tanh": same_op("tanh"),
    "Asinh": same_op("asinh"),
    "Acosh": same_op("acosh"),
    "Atanh": same_op("atanh"),
}
