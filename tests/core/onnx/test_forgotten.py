"""Constants that others were folded from are not held until the model is imported."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from onnx.numpy_helper import from_array
from onnx_models import info, model, node

from headrace import numpy_ops
from headrace.graph.job_graph import JobGraph
from headrace.onnx.file.read import read_model
from headrace.onnx.importing import importer
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


def test_an_equal_constant_that_is_read_later_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes that hold the same, the first is read for the last time before the second one is."""
    monkeypatch.setattr(importer, "IDLE_BYTES", 0)
    held = [node("Constant", "", out, value=from_array(W)) for out in "ab"]
    nodes = [*held, node("Neg", "a", "c"), node("Mul", "x c", "d"), node("Add", "d b", "y")]
    file = read_model(model(nodes, inputs=[info("x", [3])], outputs=[info("y", None)]))
    how = Importing(Placement.of_device("near"))
    graph = specialise(file, how, {"x": TensorSpec((3,), "float32")}, {}).graph
    assert sorted(value.tolist() for value in graph.constants.values()) == [
        [-0.0, -1.0, -2.0],
        [0.0, 1.0, 2.0],
    ]


def test_results_are_kept() -> None:
    """A constant may be a result and be folded with."""
    graph = imported("Neg w -> a", "Abs a -> b", "Mul x b -> y", outputs="a y")
    values = {name: graph.constants.get(tensor.name) for name, tensor in graph.outputs}
    np.testing.assert_array_equal(values["a"], -W)


def test_large_ones_are_gone_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a chain is folded, no more of it is held than was said."""
    evaluate, made, alive = numpy_ops.evaluate, list[Any](), list[int]()

    def watched(*given: Any) -> tuple[np.ndarray, ...]:
        alive.append(sum(memory() is not None for memory in made))
        arrays = evaluate(*given)
        made.extend(weakref.ref(array.base) for array in arrays if array.base is not None)
        return arrays

    monkeypatch.setattr(numpy_ops, "evaluate", watched)
    monkeypatch.setattr(importer, "IDLE_BYTES", 5 * W.nbytes)
    names = "abcdefgh"
    chain = [f"Neg {x} -> {y}" for x, y in zip("w" + names, names, strict=False)]
    graph = imported(*chain, "Identity c -> other", "Mul x h -> k", "Mul k other -> y")
    assert len(alive) == len(names)
    assert max(alive) == 3
    assert sorted(value[1].item() for value in graph.constants.values()) == [-1, 1]
