"""The families of ops: the one list of their stems.

A family is a file of the same stem in ``headrace.ops`` (``OPS``), ``headrace.numpy_ops``,
``headrace.testing.reference`` (``FUNCTIONS``) and ``headrace.onnx.importing.converters``
(``CONVERTERS``); its cases are ``test_<stem>.py`` of the conformance suite. A new family is one
more line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "unary": (
        "relu", "negative", "abs", "sign", "floor", "ceil", "round", "sqrt", "reciprocal", "exp",
        "log", "erf", "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "asinh", "acosh", "atanh",
    ),
    "binary": (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "mod", "add_n",
        "bias_add",
    ),
    "activation": (
        "clip", "hard_sigmoid", "hard_swish", "swish", "leaky_relu", "thresholded_relu", "elu",
        "celu", "selu", "softplus", "softsign", "mish", "gelu", "prelu",
    ),
    "logic": (
        "equal", "greater", "less", "greater_equal", "less_equal", "logical_and", "logical_or",
        "logical_xor", "logical_not", "is_nan", "is_inf", "bitwise_and", "bitwise_or",
        "bitwise_xor", "bitwise_not", "bit_shift", "where",
    ),
    "cast": ("cast",),
    "matmul": ("matmul",),
    "reduce": (
        "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin",
    ),
    "running": ("cumulative",),
    "softmax": ("softmax", "log_softmax", "couple_pairs"),
    "attention": ("cache_write", "cached_attention", "rotary_embedding"),
    "conv": ("conv", "conv_transpose"),
    "pool": ("max_pool", "avg_pool"),
    "norm": ("normalization", "instance_norm", "group_norm", "layer_norm", "lrn"),
    "resize": ("resize",),
    "sampling": ("grid_sample", "col2im"),
    "signal": ("dft", "stft"),
    "shape": ("identity", "reshape", "transpose", "expand"),
    "slice": ("slice", "concat", "pad", "tile"),
    "gather": (
        "gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "top_k",
        "tree_ensemble",
    ),
    "detection": ("non_max_suppression",),
    "fill": ("fill", "arange", "one_hot"),
    "recurrent": ("rnn", "gru", "lstm", "lstm_integer"),
    "quantize": ("quantize", "dequantize", "dynamic_quantize", "unpack_bits"),
    "integer": ("matmul_integer", "conv_integer"),
}  # fmt: skip
"""Stems of the files and their ops, as documentation and listings show them: what there is can be
told without importing a family, and a process imports those whose ops it uses."""


class FamilyTable(Mapping[str, Any]):
    """An entry for every op, by its name; a family is imported when an op of it is first used."""

    def __init__(
        self,
        entries: Callable[[Any], Mapping[str, Any]],
        package: str,
        families: Mapping[str, Sequence[str]] = FAMILIES,
    ) -> None:
        """Take the families that are in ``package``.

        Args:
            entries: gives those of the module of a family, by op.
            package: what these modules are in.
            families: their stems, and the ops that each has entries of.
        """
        self._entries = entries
        self._package = package
        self._family_of = {op: family for family, ops in families.items() for op in ops}
        self._found: dict[str, Any] = {}

    def __getitem__(self, op: str) -> Any:
        if op not in self._found:
            family = import_module(f"{self._package}.{self._family_of[op]}")
            self._found.update(self._entries(family))
        return self._found[op]

    def __iter__(self) -> Iterator[str]:
        return iter(self._family_of)

    def __len__(self) -> int:
        return len(self._family_of)

    def __contains__(self, op: object) -> bool:
        return op in self._family_of
