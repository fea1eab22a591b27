"""``GraphRewriter`` and ``replace_ops``: what is replaced is new, and all else is shared."""

from __future__ import annotations

import numpy as np
import pytest
from toy_backends import host

from headrace.compiler.verify import verify_job_graph
from headrace.errors import GraphError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import GraphRewriter, JobGraph, JobGraphBuilder, JobOp, replace_ops
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

X = np.array([-2, 0, 3], np.float32)


def job() -> JobGraph:
    """``y = exp(relu(x)) + c``, ``z = -x``."""
    builder = JobGraphBuilder("job", Placement.of_device("cpu"))
    x = builder.input("x", TensorSpec.of(X))
    (a,) = builder.op("relu", [x], name="a")
    (b,) = builder.op("exp", [a], name="b")
    (c,) = builder.op(
        "add", [b, builder.constant(np.array([1, 2, 3], np.float32), "one")], name="c"
    )
    (d,) = builder.op("negative", [x], name="d")
    builder.output("y", c)
    builder.output("z", d)
    return builder.finish()


def doubled(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
    """``f(x) + f(x)`` for ``f(x)``."""
    (y,) = new.op(op.call.op, new.read_by(op))
    return new.op("add", [y, y])


def test_what_stays_is_the_same_object() -> None:
    """An op is made anew only if what it reads has another name; a constant is never copied."""
    graph = job()
    made = replace_ops(graph, {"a"}, doubled)
    verify_job_graph(made, "replace_ops")
    old, new = ({op.call.name: op for op in g.ops} for g in (graph, made))
    assert new["c"] is old["c"]
    assert new["d"] is old["d"]
    assert new["b"].call is old["b"].call
    assert new["b"].inputs != old["b"].inputs
    assert made.constants["one"] is graph.constants["one"]


def test_what_is_replaced_computes_what_was_said_in_its_place() -> None:
    """Readers and results take what stands for the old tensor; the graph before is unharmed."""
    graph = job()
    made = replace_ops(graph, {"a", "d"}, doubled)
    with CompiledJob(made, BackendRegistry.from_modules({"cpu": host()})) as compiled:
        ran = compiled.run({"x": X})
    np.testing.assert_allclose(ran["y"], np.add(np.exp([0, 0, 6]), [1, 2, 3]), rtol=1e-6)
    np.testing.assert_array_equal(ran["z"], [4, 0, -6])
    assert [op.call.name for op in graph.ops] == ["a", "b", "c", "d"]


def test_with_nothing_chosen_the_graph_itself_is_returned() -> None:
    """Nobody then looks for what a pass has changed."""
    graph = job()
    assert replace_ops(graph, (), doubled) is graph


def test_what_is_added_may_have_the_name_of_what_it_replaces() -> None:
    """And no other one that is taken: neither by an op that stays nor by what that makes."""
    graph = job()

    def named(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        return new.op("negative", new.read_by(op), name=op.call.name)

    made = replace_ops(graph, {"a"}, named)
    assert [op.call.name for op in made.ops] == ["a", "b", "c", "d"]
    assert made.ops[1] is graph.ops[1]
    with pytest.raises(GraphError, match="two ops called 'd'"):
        replace_ops(graph, {"a"}, lambda op, new: new.op("exp", new.read_by(op), name="d"))


def test_ops_between_may_go() -> None:
    """Of a chain that one op stands for, nobody reads what lies inside."""

    def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        return new.op("sigmoid", [new.tensor("x")], name=op.call.name)

    made = replace_ops(job(), {"b"}, make, gone={"a"})
    verify_job_graph(made, "replace_ops")
    assert [op.call.op for op in made.ops] == ["sigmoid", "add", "negative"]


def test_a_tensor_that_nothing_stands_for_is_named() -> None:
    """Whoever reads what is gone is told of which tensor."""
    with pytest.raises(GraphError, match="nothing stands for tensor 'a/y'"):
        replace_ops(job(), {"b"}, doubled, gone={"a"})
    rewriter = GraphRewriter(job())
    with pytest.raises(GraphError, match="nothing stands for tensor 'nobody'"):
        rewriter.tensor("nobody")
