"""Constants that others were folded from are not held until the model is imported."""

from __future__ import annotations

import numpy as np
from onnx_models import info, model, node

from headrace.graph.job_graph import JobGraph
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.specialise import Importing, specialise
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec

W = np.arange(3, dtype=np.float32)


def imported(*nodes: str, outputs: str = "y") -> JobGraph:
    """The job of nodes like ``Add w w -> a``, with an input x and a weight w."""
    made = []
    for line in nodes:
        left, right = line.split(" -> ")
        op, takes = left.split(" ", 1)
        made.append(node(op, takes, right))
    file = read_model(
        model(
            made,
            inputs=[info("x", [3])],
            outputs=[info(name, None) for name in outputs.split()],
            weights={"w": W},
        )
    )
    how = Importing(Placement.of_device("near"))
    return specialise(file, how, {"x": TensorSpec((3,), "float32")}, {}).graph


def test_what_nobody_reads_any_more_is_gone() -> None:
    """Of a chain that is folded the end is left."""
    graph = imported("Neg w -> a", "Abs a -> b", "Add b w -> c", "Mul x c -> y")
    (left,) = graph.constants.values()
    np.testing.assert_array_equal(left, W * 2)


def test_what_a_later_node_reads_is_there() -> None:
    """A node may be the last to read a constant of which another was folded before."""
    graph = imported("Neg w -> a", "Abs a -> b", "Mul x b -> c", "Add c a -> y")
    assert sorted(value.tolist() for value in graph.constants.values()) == [
        [-0.0, -1.0, -2.0],
        [0.0, 1.0, 2.0],
    ]


def test_other_names_of_a_constant_keep_it() -> None:
    """An identity is no op; who read the first name last does not take the second one's value."""
    graph = imported("Identity w -> a", "Neg w -> b", "Add b a -> c", "Mul x c -> y")
    (left,) = graph.constants.values()
    np.testing.assert_array_equal(left, W * 0)


def test_results_are_kept() -> None:
    """A constant may be a result and be folded with."""
    graph = imported("Neg w -> a", "Abs a -> b", "Mul x b -> y", outputs="a y")
    values = {name: graph.constants.get(tensor.name) for name, tensor in graph.outputs}
    np.testing.assert_array_equal(values["a"], -W)
