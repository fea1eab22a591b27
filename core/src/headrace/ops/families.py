"""The families of ops: the one list of their stems.

A family is a file of the same stem in ``headrace.ops`` (``OPS``), ``headrace.numpy_ops`` and
``headrace.testing.reference`` (``FUNCTIONS``) and ``headrace.onnx.converters`` (``CONVERTERS``);
its cases are ``test_<stem>.py`` of the conformance suite. A new family is one more line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

FAMILIES = (
    "unary",
    "binary",
    "activation",
    "logic",
    "cast",
    "matmul",
    "reduce",
    "softmax",
    "conv",
    "pool",
    "norm",
    "resize",
    "shape",
    "slice",
    "gather",
    "fill",
    "recurrent",
    "quantize",
    "integer",
)
"""Stems of the files, in the order in which documentation and listings show them."""


def merged(package: str, attribute: str, families: Sequence[str] = FAMILIES) -> Mapping[str, Any]:
    """The tables called ``attribute`` in the family files of ``package``, as one table.

    Raises:
        ValueError: two families have an entry of the same name.
    """
    table: dict[str, Any] = {}
    for family in families:
        entries = getattr(import_module(f"{package}.{family}"), attribute)
        twice = table.keys() & entries.keys()
        if twice:
            raise ValueError(f"{package}.{family}: {sorted(twice)} are in another family too")
        table.update(entries)
    return MappingProxyType(table)
