"""headrace: a dataflow compiler and runtime for deep learning, with devices as plugins.

The usual import is ``import headrace as flow``. Jobs are Python functions decorated with
``flow.global_function``; ONNX models are loaded with ``flow.onnx.load``. Everything public is
here, in ``headrace.typing``, ``headrace.errors`` and ``headrace.onnx``; for backends in
``headrace.device`` and ``headrace.hookspecs``. Importing this package imports no backend, and the
``onnx`` package only when ``flow.onnx`` is used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from headrace import typing
from headrace.dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from headrace.frontend import scope
from headrace.frontend.config import FunctionConfig
from headrace.frontend.default_device import default_device, set_default_device
from headrace.frontend.functional import (
    add,
    add_n,
    avg_pool2d,
    bias_add,
    cast,
    concat,
    constant,
    conv2d,
    divide,
    instance_norm_2d,
    matmul,
    max_pool2d,
    multiply,
    normalization,
    prelu,
    reflection_pad2d,
    relu,
    reshape,
    sigmoid,
    softmax,
    subtract,
    tanh,
    transpose,
    upsample,
)
from headrace.frontend.global_function import (
    clear_default_session,
    default_session,
    global_function,
)
from headrace.frontend.session import Session, SessionStatus
from headrace.frontend.tracing import Symbol, apply_op, apply_ops
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from headrace import onnx

__all__ = [
    "FunctionConfig", "Placement", "Session", "SessionStatus", "Symbol", "TensorSpec", "add",
    "add_n", "apply_op", "apply_ops", "avg_pool2d", "bfloat16", "bias_add", "bool_", "cast",
    "clear_default_session", "concat", "constant", "conv2d", "default_device", "default_session",
    "divide", "float16", "float32", "float64", "global_function", "instance_norm_2d", "int8",
    "int16", "int32", "int64", "matmul", "max_pool2d", "multiply", "normalization", "onnx", "prelu",
    "reflection_pad2d", "relu", "reshape", "scope", "set_default_device", "sigmoid", "softmax",
    "subtract", "tanh", "transpose", "typing", "uint8", "uint16", "uint32", "uint64", "upsample",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name == "onnx":  # the importer needs the onnx package, which jobs do not
        return importlib.import_module("headrace.onnx")
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
