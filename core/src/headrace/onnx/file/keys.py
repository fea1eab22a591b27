"""Of which op a node is: its domain, its name, and which of several functions of that name.

Domains that are more than a name to us are named here.
"""

from __future__ import annotations

from onnx import NodeProto

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of an op, or of a function of a model."""

ML_DOMAIN = "ai.onnx.ml"
"""Of classical models: trees, scores, encodings."""

MICROSOFT = "com.microsoft"
"""The domain of ops that any runtime can run."""

LAYOUT_DOMAINS = frozenset({"com.microsoft.nchwc", "com.ms.internal.nhwc"})
"""Of ops in the memory layouts of onnxruntime."""

LAYOUT_ADVICE = (
    "it is for the memory layouts of one runtime on one machine: save the model again with its "
    "graph_optimization_level at ORT_ENABLE_EXTENDED or below"
)

LOOPS = frozenset({"Loop", "Scan"})
"""Ops whose body runs any number of times."""


def domain_of(text: str) -> str:
    """The domain, with the default one always written as ""."""
    return "" if text == "ai.onnx" else text


def function_key(node: NodeProto) -> FunctionKey:
    """The op that a node is of, and what it would call if it calls a function of the model."""
    return domain_of(node.domain), node.op_type, getattr(node, "overload", "")
