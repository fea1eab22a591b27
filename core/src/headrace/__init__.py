"""headrace: a dataflow compiler and runtime for deep learning, with devices as plugins.

The usual import is ``import headrace as flow``. Jobs are Python functions decorated with
``flow.global_function``; ONNX models are loaded with ``flow.onnx.load``. Everything public is
here, in ``headrace.typing``, ``headrace.errors`` and ``headrace.onnx``; for backends in what the
docstring of ``headrace.device`` lists, and in ``headrace.testing``.

A name is imported when it is first used. So importing this package costs nothing, and
``headrace doctor`` starts where numpy, protobuf or another dependency is broken, and says so.

The folders are layers, each of which imports only what stands after it here: ``cli``, ``testing``,
``doctor`` and ``scaffold``; ``bench``; ``onnx``; ``frontend``; ``compiler``, ``runtime`` and
``page``, which never import each other; ``timeline``; ``plan``, over ``proto``; ``registry``;
``hookspecs.py``; ``graph``; ``numpy_ops``; ``ops`` and ``device``, which never import each other.

The modules beside them are values that every layer may use: ``ids``, ``dtypes``, ``tensor_spec``,
``placement``, ``sbp``, ``memory_case``, ``op_call``, ``data_format``, ``initializer``, ``sizes``
(symbolic ones), ``errors``, ``typing``; and what belongs to no layer: ``settings``
(variables of the environment), ``aligned`` (host memory), ``weak_arrays`` (what others hold of
it), ``collector`` (the garbage collector), ``lazy_names`` (of packages), ``light_dataclass`` and
``light_tuple`` (records that every start declares), ``digest`` (of what is kept on disk),
``signals`` (what their handlers raise), ``version``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.lazy_names import lazy_names

if TYPE_CHECKING:
    from headrace import errors, onnx, typing
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
    from headrace.frontend import checkpoint, distribute, scope
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
    from headrace.frontend.future import Future
    from headrace.frontend.global_function import (
        clear_default_session,
        default_session,
        global_function,
    )
    from headrace.frontend.initializers import (
        constant_initializer,
        glorot_normal_initializer,
        glorot_uniform_initializer,
        kaiming_initializer,
        ones_initializer,
        random_normal_initializer,
        random_uniform_initializer,
        range_initializer,
        truncated_normal_initializer,
        variance_scaling_initializer,
        xavier_normal_initializer,
        xavier_uniform_initializer,
        zeros_initializer,
    )
    from headrace.frontend.loaded_plan import LoadedPlan, load_plan
    from headrace.frontend.memory import memory_statistics, release_cached_memory
    from headrace.frontend.session import Session, SessionStatus
    from headrace.frontend.tracing import Symbol, apply_op, apply_ops
    from headrace.frontend.variables import (
        assign,
        get_all_variables,
        get_variable,
        load_variables,
    )
    from headrace.placement import Placement
    from headrace.tensor_spec import TensorSpec
    from headrace.version import __version__

__all__ = [
    "FunctionConfig",
    "Future",
    "LoadedPlan",
    "Placement",
    "Session",
    "SessionStatus",
    "Symbol",
    "TensorSpec",
    "__version__",
    "add",
    "add_n",
    "apply_op",
    "apply_ops",
    "assign",
    "avg_pool2d",
    "bfloat16",
    "bias_add",
    "bool_",
    "cast",
    "checkpoint",
    "clear_default_session",
    "concat",
    "constant",
    "constant_initializer",
    "conv2d",
    "default_device",
    "default_session",
    "distribute",
    "divide",
    "errors",
    "float16",
    "float32",
    "float64",
    "get_all_variables",
    "get_variable",
    "global_function",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "instance_norm_2d",
    "int8",
    "int16",
    "int32",
    "int64",
    "kaiming_initializer",
    "load_plan",
    "load_variables",
    "matmul",
    "max_pool2d",
    "memory_statistics",
    "multiply",
    "normalization",
    "ones_initializer",
    "onnx",
    "prelu",
    "random_normal_initializer",
    "random_uniform_initializer",
    "range_initializer",
    "reflection_pad2d",
    "release_cached_memory",
    "relu",
    "reshape",
    "scope",
    "set_default_device",
    "sigmoid",
    "softmax",
    "subtract",
    "tanh",
    "transpose",
    "truncated_normal_initializer",
    "typing",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "upsample",
    "variance_scaling_initializer",
    "xavier_normal_initializer",
    "xavier_uniform_initializer",
    "zeros_initializer",
]  # fmt: skip

IMPORTED_NS = time.time_ns()
"""When this process imported headrace: code that changed later may not be the code that runs."""

# Module -> its names here. Type checkers read the imports above; a test holds both to `__all__`.
_NAMES = {
    "headrace.dtypes": (
        "bfloat16 bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    ),
    "headrace.frontend.config": "FunctionConfig",
    "headrace.frontend.default_device": "default_device set_default_device",
    "headrace.frontend.functional": (
        "add add_n avg_pool2d bias_add cast concat constant conv2d divide instance_norm_2d matmul "
        "max_pool2d multiply normalization prelu reflection_pad2d relu reshape sigmoid softmax "
        "subtract tanh transpose upsample"
    ),
    "headrace.frontend.future": "Future",
    "headrace.frontend.global_function": "clear_default_session default_session global_function",
    "headrace.frontend.initializers": (
        "constant_initializer glorot_normal_initializer glorot_uniform_initializer "
        "kaiming_initializer ones_initializer random_normal_initializer "
        "random_uniform_initializer range_initializer truncated_normal_initializer "
        "variance_scaling_initializer xavier_normal_initializer xavier_uniform_initializer "
        "zeros_initializer"
    ),
    "headrace.frontend.loaded_plan": "LoadedPlan load_plan",
    "headrace.frontend.memory": "memory_statistics release_cached_memory",
    "headrace.frontend.session": "Session SessionStatus",
    "headrace.frontend.tracing": "Symbol apply_op apply_ops",
    "headrace.frontend.variables": "assign get_all_variables get_variable load_variables",
    "headrace.placement": "Placement",
    "headrace.tensor_spec": "TensorSpec",
    "headrace.version": "__version__",
}
_MODULES = {
    "checkpoint": "headrace.frontend.checkpoint",
    "distribute": "headrace.frontend.distribute",
    "errors": "headrace.errors",
    "onnx": "headrace.onnx",
    "scope": "headrace.frontend.scope",
    "typing": "headrace.typing",
}

if not TYPE_CHECKING:  # or a name that does not exist would pass for one of any type
    __getattr__, __dir__ = lazy_names(__name__, _NAMES, _MODULES)
