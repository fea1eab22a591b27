"""Models of ops that take no time, whose cost is that of all that is not the ops.

Input ``t0`` and all results are float32[1, WIDTH]; the last, ``t`` with the count, is the output.
"""

from __future__ import annotations

import random

import onnx
from onnx import TensorProto, helper

WIDTH = 8


def chain(count: int) -> onnx.ModelProto:
    """Add and Relu in turn, each reading the one before."""
    nodes = []
    for i in range(count):
        op, inputs = ("Relu", [f"t{i}"]) if i % 2 else ("Add", [f"t{i}", "w"])
        nodes.append(helper.make_node(op, inputs, [f"t{i + 1}"], name=f"n{i}"))
    return _model(nodes, count)


def dag(count: int) -> onnx.ModelProto:
    """Adds of two of the last hundred results, then all that nobody has read summed up."""
    draw = random.Random(0)
    nodes, read = [], set()
    for i in range(count - 100):
        a, b = (draw.randint(max(0, i - 100), i) for _ in range(2))
        read |= {a, b}
        nodes.append(helper.make_node("Add", [f"t{a}", f"t{b}"], [f"t{i + 1}"], name=f"n{i}"))
    left = [i for i in range(1, count - 99) if i not in read]
    total = f"t{left[0]}"
    for i in left[1:]:
        nodes.append(helper.make_node("Add", [total, f"t{i}"], [f"s{i}"], name=f"m{i}"))
        total = f"s{i}"
    nodes.append(helper.make_node("Relu", [total], [f"t{count}"], name="last"))
    return _model(nodes, count)


def _model(nodes: list[onnx.NodeProto], count: int) -> onnx.ModelProto:
    def floats(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, WIDTH])

    weight = helper.make_tensor("w", TensorProto.FLOAT, [1, WIDTH], [0.5] * WIDTH)
    graph = helper.make_graph(nodes, "tiny", [floats("t0")], [floats(f"t{count}")], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
