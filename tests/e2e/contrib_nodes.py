"""Nodes of onnxruntime's own domain, on a device and on onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ValueInfoProto, helper

from headrace.onnx import load
from headrace.onnx.file.tensors import dtype_to_onnx
from headrace.tensor_spec import Array, TensorSpec

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

RNG = np.random.default_rng(5)
_START = RNG.bit_generator.state


def begin_again() -> None:
    """Every test draws the same numbers, whichever others run."""
    RNG.bit_generator.state = _START


def f(*shape: int) -> Array:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def u(*shape: int) -> Array:
    return RNG.integers(0, 256, shape, np.uint8)


def s(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape, np.int8)


def s7(*shape: int) -> Array:
    """Weights that products with all of ``u`` are right of on any processor.

    On x86 without VNNI onnxruntime adds two products of bytes in 16 bits, where larger ones
    saturate.
    """
    return RNG.integers(-64, 65, shape, np.int8)


def s32(*values: Any) -> Array:
    return np.array(values, np.int32)


def scale(value: float) -> Array:
    return np.array(value, np.float32)


def zero(value: int, dtype: Any = np.uint8) -> Array:
    return np.array(value, dtype)


def model_of(op: str, inputs: list[Array | None], outputs: str, **attrs: Any) -> Any:
    """A model of one node, and what to feed it."""
    domain = attrs.pop("domain", "com.microsoft")
    names = ["" if x is None else f"x{index}" for index, x in enumerate(inputs)]
    feeds = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    takes = [
        helper.make_tensor_value_info(name, dtype_to_onnx(TensorSpec.of(x).dtype), x.shape)
        for name, x in feeds.items()
    ]
    gives = ["" if name == "-" else name for name in outputs.split()]
    results = [ValueInfoProto(name=name) for name in gives if name]
    node = helper.make_node(op, names, gives, domain=domain, **attrs)
    graph = helper.make_graph([node], "g", takes, results)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), feeds


def on_headrace(
    device: str, op: str, inputs: list[Array | None], outputs: str = "y", **attrs: Any
) -> list[Array]:
    """Each output that has a name."""
    model, feeds = model_of(op, inputs, outputs, **attrs)
    with load(model, device) as loaded:
        return list(loaded.run(feeds).values())


def on_onnxruntime(
    op: str, inputs: list[Array | None], outputs: str = "y", **attrs: Any
) -> list[Array]:
    """Each output that has a name."""
    model, feeds = model_of(op, inputs, outputs, **attrs)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # with more, parts of a batch are quantized by themselves
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    made: list[Array] = session.run(None, feeds)
    return made


def both(
    device: str, op: str, inputs: list[Array | None], outputs: str = "y", **attrs: Any
) -> list[tuple[Array, Array]]:
    """Each output that has a name, as the device and as onnxruntime compute it."""
    got = on_headrace(device, op, inputs, outputs, **attrs)
    return list(zip(got, on_onnxruntime(op, inputs, outputs, **attrs), strict=True))


def agree(pairs: list[tuple[Array, Array]], atol: float = 1e-5) -> None:
    """Floats nearly, integers by one at most, and that seldom."""
    for got, want in pairs:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=atol)
            continue
        off = np.abs(got.astype(int) - want.astype(int))
        assert off.max() <= 1
        assert np.count_nonzero(off) <= 0.02 * off.size
