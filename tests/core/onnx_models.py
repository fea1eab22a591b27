"""Small ONNX models for tests: written in one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import (
    FunctionProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array

Shape = Sequence[int | str | None] | None
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name: str, shape: Shape = (2, 3), dtype: int = FLOAT) -> ValueInfoProto:
    """A graph input or output."""
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op: str, inputs: str, outputs: str, **attrs: Any) -> NodeProto:
    """A node; names are separated by blanks, and ``-`` is an input or output left out."""
    takes, gives = ([n.replace("-", "") for n in text.split()] for text in (inputs, outputs))
    return helper.make_node(op, takes, gives, **attrs)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto] = (info("x"),),
    outputs: Sequence[ValueInfoProto] = (info("y", None),),
    weights: Mapping[str, Any] | None = None,
    opset: int = 17,
    functions: Sequence[FunctionProto] = (),
    **domains: int,
) -> ModelProto:
    """A model; ``domains`` are further operator sets."""
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), tensors)
    imports = [helper.make_opsetid(k, v) for k, v in {"": opset, **domains}.items()]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def folded(op: str, inputs: Sequence[Array | None], opset: int = 21, **attrs: Any) -> Array:
    """The output of a model of one node whose inputs are all weights."""
    names = ["-" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    weights = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    made = model([node(op, " ".join(names), "y", **attrs)], [], [info("y", None)], weights, opset)
    made.graph.output[0].ClearField("type")
    graph = Importer(read_model(made.SerializeToString()), Placement.of_device("near")).run({}, {})
    ((_, tensor),) = graph.outputs
    return graph.constants[tensor.name]


IDENTITY = model([node("Identity", "x", "y")])
