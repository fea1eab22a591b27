"""What editors and rewriters check as they change a graph, nobody checks again; all else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from plugin_ops import AddRelu, hello
from toy_backends import near

from headrace.compiler.passes.run_plugin_passes import run_plugin_passes
from headrace.compiler.verify import verify_job_graph
from headrace.errors import PluginError
from headrace.graph import GraphEditor, GraphRewriter, JobGraph, JobGraphBuilder, JobOp, replace_ops
from headrace.ops import Attr, Tensor, get_op
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

SPEC = TensorSpec((3,), "float32")


def job() -> JobGraph:
    """``y = exp(relu(x + x))``."""
    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    x = builder.input("x", SPEC)
    (a,) = builder.op("add", [x, x], name="a")
    (b,) = builder.op("relu", [a], name="b")
    builder.output("y", builder.op("exp", [b], name="c")[0])
    return builder.finish()


def fused(graph: JobGraph) -> JobGraph:
    editor = GraphEditor(graph, "hello")
    editor.replace([*editor.ops("add"), *editor.ops("relu")], AddRelu, ["x", "x"])
    return editor.finish()


def doubled(graph: JobGraph) -> JobGraph:
    def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        (y,) = new.op("relu", new.read_by(op), name=op.call.name)
        return new.op("add", [y, new.constant(np.zeros(3, np.float32))])

    return replace_ops(graph, {"b"}, make)


def shifted(graph: JobGraph) -> JobGraph:
    more = graph.with_constants({"zero": np.zeros(3, np.float32)})
    editor = GraphEditor(more, "hello")
    editor.replace(editor.ops("add"), get_op("add"), ["x", "zero"])
    return editor.finish()


@pytest.mark.parametrize(
    "rewrite", [fused, doubled, shifted, lambda graph: doubled(shifted(graph))]
)
def test_steps_that_are_checked_make_whole_graphs(rewrite: Callable[[JobGraph], JobGraph]) -> None:
    """The graph says so, and it is true; a copy of it that somebody makes says nothing."""
    graph = job()
    made = rewrite(graph)
    assert made is not graph
    assert made.is_sound_as(graph)
    verify_job_graph(made, "rewrite")
    assert not replace(made).is_sound_as(graph)
    assert not made.is_sound_as(job())


def reads_what_is_made_later(graph: JobGraph) -> JobGraph:
    editor = GraphEditor(graph, "hello")
    editor.replace(editor.ops("add"), get_op("add"), ["x", "c/y"])
    return editor.finish()


def makes_of_what_is_made_later(graph: JobGraph) -> JobGraph:
    return replace_ops(graph, {"a"}, lambda op, new: new.op("relu", [new.tensor("c/y")]))


def hands_on_what_is_made_later(graph: JobGraph) -> JobGraph:
    return replace_ops(graph, {"a"}, lambda op, new: (new.tensor("c/y"),))


def hands_on_another_shape(graph: JobGraph) -> JobGraph:
    return replace_ops(
        graph, {"a"}, lambda op, new: new.op("reshape", new.read_by(op)[:1], shape=(1, 3))
    )


def lets_another_shape_stand_for_a_tensor(graph: JobGraph) -> JobGraph:
    def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        made = new.op("add", new.read_by(op))
        new.let("b/y", new.op("reshape", made, shape=(1, 3))[0])
        return made

    return replace_ops(graph, {"a"}, make)


def leaves_out_what_is_read(graph: JobGraph) -> JobGraph:
    return replace_ops(
        graph, {"c"}, lambda op, new: new.op("exp", [new.tensor("b/y")], name="c"), gone={"a"}
    )


def keeps_an_op_twice(graph: JobGraph) -> JobGraph:
    def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        new.keep(graph.ops[-1])
        return new.op("relu", new.read_by(op))

    return replace_ops(graph, {"b"}, make)


def adopts_a_call_that_is_none(graph: JobGraph) -> JobGraph:
    def make(op: JobOp, new: GraphRewriter) -> tuple[Tensor, ...]:
        call = replace(op.call, attrs=type(op.call.attrs)({"alpha": 1.0}))
        return new.adopt(JobOp(call, op.inputs, op.outputs, op.placement), op.inputs)

    return replace_ops(graph, {"b"}, make)


def takes_the_name_of_a_tensor(graph: JobGraph) -> JobGraph:
    return graph.with_constants({"b/y": np.zeros(3, np.float32)})


def puts_in_an_op_that_nobody_brings(graph: JobGraph) -> JobGraph:
    stranger = type("Stranger", (AddRelu,), {"name": "hello.stranger"})
    editor = GraphEditor(graph, "hello")
    editor.replace([*editor.ops("add"), *editor.ops("relu")], stranger, ["x", "x"])
    return editor.finish()


def puts_in_another_op_of_a_known_name(graph: JobGraph) -> JobGraph:
    other = type("Other", (AddRelu,), {"attrs": (Attr("loss", "float", 1.0),)})
    editor = GraphEditor(graph, "hello")
    editor.replace([*editor.ops("add"), *editor.ops("relu")], other, ["x", "x"])
    return editor.finish()


@pytest.mark.parametrize(
    ("rewrite", "message"),
    [
        (reads_what_is_made_later, "reads 'c/y'"),
        (makes_of_what_is_made_later, "reads 'c/y'"),
        (hands_on_what_is_made_later, "reads 'c/y'"),
        (hands_on_another_shape, r"as float32\[3\]; it is float32\[1, 3\]"),
        (lets_another_shape_stand_for_a_tensor, r"as float32\[3\]; it is float32\[1, 3\]"),
        (leaves_out_what_is_read, "reads 'a/y'"),
        (keeps_an_op_twice, "two ops are called 'c'"),
        (adopts_a_call_that_is_none, "has no attribute 'alpha'"),
        (takes_the_name_of_a_tensor, "makes 'b/y', which exists already"),
        (puts_in_an_op_that_nobody_brings, "hello.stranger"),
        (puts_in_another_op_of_a_known_name, "has no attribute 'loss'"),
    ],
)
def test_what_no_step_checks_is_found(
    rewrite: Callable[[JobGraph], JobGraph], message: str
) -> None:
    """Misuse of the tools that passes are written with is told as if a pass had used none."""
    registry = BackendRegistry.from_modules({"hello": hello(rewrite), "near": near()})
    with pytest.raises(PluginError, match=f"left a bad graph: .*{message}"):
        run_plugin_passes(job(), registry)
