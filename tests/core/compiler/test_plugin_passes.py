"""Passes that plugins bring: run in order, held to their own device and to the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugin_ops import AddRelu, fuse, hello
from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.compiler.decision import PassRun
from headrace.compiler.passes.run_plugin_passes import run_plugin_passes
from headrace.compiler.pipeline import compile_job
from headrace.device import Buffer, DeviceContext, HostBuffer, Kernel, KernelEntry
from headrace.errors import (
    DeviceUnavailableError,
    GraphError,
    PluginError,
    RunError,
)
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import GraphEditor, GraphRewriter, JobGraph, JobGraphBuilder, JobOp, PassEntry
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
SPEC = TensorSpec.of(X)


def registry_of(*rewrites: Callable[[JobGraph], JobGraph], **more: Any) -> BackendRegistry:
    return BackendRegistry.from_modules({"hello": hello(*rewrites, **more), "near": near()})


def job() -> JobGraph:
    """relu(x + x) on ``hello``, then relu(. + w) on ``near``, then relu(. + x) on ``hello``."""
    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    x = builder.input("x", SPEC)
    (a,) = builder.op("add", [x, x], name="add_first")
    (b,) = builder.op("relu", [a], name="first")
    with builder.placed(Placement.of_device("near")):
        w = builder.constant(np.full(3, -7, np.float32), "w")
        (c,) = builder.op("add", [b, w], name="add_near")
        (d,) = builder.op("relu", [c], name="near")
    (e,) = builder.op("add", [d, x], name="add_last")
    (f,) = builder.op("relu", [e], name="last")
    builder.output("y", f)
    return builder.finish()


def expected(x: np.ndarray[Any, Any] = X) -> np.ndarray[Any, Any]:
    """What ``job`` computes, said apart."""
    return np.maximum(np.maximum(np.maximum(x + x, 0) - 7, 0) + x, 0)


def names(graph: JobGraph) -> list[str]:
    return [op.call.op for op in graph.ops]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([PassEntry("hello", "", fuse)], "must be a word"),
        ([PassEntry("hello", "a", fuse), PassEntry("hello", "a", fuse)], "two passes called 'a'"),
        ([PassEntry("hello", "a", 7)], "cannot be called"),  # type: ignore[arg-type]
        ([PassEntry("near", "a", fuse)], "answers for its own device only"),
        ([7], "must return PassEntry records"),
    ],
)
def test_headrace_passes_are_checked(entries: list[PassEntry], message: str) -> None:
    """A wrong record is told when the plugin loads."""
    with pytest.raises(DeviceUnavailableError, match=message):
        registry_of(passes=entries).backend("hello")


def test_headrace_passes_fuse_ops_of_their_device() -> None:
    """The pair on ``near`` stays; both on ``hello`` are fused; numbers are the same."""
    registry = registry_of(fuse)
    graph, (ran,) = run_plugin_passes(job(), registry)
    assert ran == PassRun("hello", "fuse", "module headrace_hello", True, 6, 4)
    assert names(graph) == ["hello.add_relu", "add", "relu", "hello.add_relu"]
    with CompiledJob(job(), registry) as compiled:
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], expected())


def test_headrace_passes_run_in_order_when_their_device_is_used() -> None:
    """In the order given, and not for a job that is elsewhere."""
    ran: list[str] = []

    def noting(name: str) -> PassEntry:
        def rewrite(graph: JobGraph) -> JobGraph:
            ran.append(name)
            return graph

        return PassEntry("hello", name, rewrite)

    registry = registry_of(passes=[noting("b"), noting("a")])
    compile_job(job(), registry)
    assert ran == ["b", "a"]
    builder = JobGraphBuilder("elsewhere", Placement.of_device("near"))
    builder.output("y", builder.op("relu", [builder.input("x", SPEC)])[0])
    compile_job(builder.finish(), registry)
    assert ran == ["b", "a"]


def test_passes_for_quantized_numbers_see_weights_as_they_are_stored() -> None:
    """Before all others, who see floats; a scale that is one number is a float for all."""
    seen: list[tuple[str, list[str]]] = []

    def noting(name: str, *, quantized: bool) -> PassEntry:
        def rewrite(graph: JobGraph) -> JobGraph:
            seen.append((name, names(graph)))
            return graph

        return PassEntry("hello", name, rewrite, quantized=quantized)

    registry = registry_of(
        passes=[noting("plain", quantized=False), noting("first", quantized=True)]
    )
    weight = np.array([-6, 1, 5], np.int8)
    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    scale = builder.constant(np.array(0.5, np.float32))
    (floats,) = builder.op("dequantize", [builder.constant(weight), scale])
    (doubled,) = builder.op("add", [floats, floats])
    (one,) = builder.op("dequantize", [builder.constant(np.array(4, np.int8)), scale])
    (x,) = builder.op("multiply", [builder.input("x", SPEC), one])
    builder.output("y", builder.op("add", [x, doubled])[0])
    graph = builder.finish()
    with CompiledJob(graph, registry) as compiled:
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], X * 2 + weight)
    assert seen == [
        ("first", ["dequantize", "add", "multiply", "add"]),
        ("plain", ["multiply", "add"]),
    ]


def test_an_op_that_others_need_is_not_fused() -> None:
    """What a result or another op reads does not vanish."""
    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    x = builder.input("x", SPEC)
    (a,) = builder.op("add", [x, x])
    (b,) = builder.op("relu", [a])
    builder.output("a", a)
    builder.output("b", b)
    graph = builder.finish()
    assert fuse(graph) is graph
    editor = GraphEditor(graph, "hello")
    with pytest.raises(GraphError, match="would vanish"):
        editor.replace(graph.ops, AddRelu, ["x", "x"])
    two = builder.constant(np.ones(2, np.float32), "two")
    wider = GraphEditor(builder.finish(), "hello")
    with pytest.raises(GraphError, match="would make"):
        wider.replace([graph.ops[1]], AddRelu, [two.name, two.name])


def _op(graph: JobGraph, name: str) -> JobOp:
    return next(op for op in graph.ops if op.call.name == name)


def _with(graph: JobGraph, name: str, **changes: Any) -> JobGraph:
    ops = [replace(op, **changes) if op.call.name == name else op for op in graph.ops]
    return replace(graph, ops=tuple(ops))


def _wrong_call(graph: JobGraph) -> JobGraph:
    call = _op(graph, "last").call
    return _with(graph, "last", call=replace(call, op="add"))


def _fail(graph: JobGraph) -> JobGraph:
    raise RuntimeError("out of ideas")


def _exit(graph: JobGraph) -> JobGraph:
    raise SystemExit(0)


ILLEGAL: dict[str, tuple[Callable[[JobGraph], Any], str]] = {
    "raises": (_fail, "raised RuntimeError: out of ideas"),
    "exits": (_exit, "called sys.exit"),
    "none": (lambda g: None, "returned NoneType; it must return a JobGraph"),
    "renames": (lambda g: replace(g, name="mine"), "changed the name"),
    "moves-the-job": (
        lambda g: replace(g, placement=Placement.of_device("near")),
        "changed the placement",
    ),
    "drops-an-input": (lambda g: replace(g, inputs=()), "changed the inputs"),
    "drops-a-result": (lambda g: replace(g, outputs=()), "changed the results"),
    "renames-a-result": (
        lambda g: replace(g, outputs=(("z", g.outputs[0][1]),)),
        "changed the results",
    ),
    "wrong-result": (
        lambda g: replace(g, outputs=(("y", Tensor("near/y", SPEC)),)),
        "which it did not compute",
    ),
    "drops-a-foreign-op": (
        lambda g: replace(g, ops=tuple(op for op in g.ops if op.call.name != "near")),
        "changed relu 'near'",
    ),
    "rewires-a-foreign-op": (
        lambda g: _with(g, "near", inputs=("x",)),
        "changed relu 'near'",
    ),
    "takes-a-foreign-op": (
        lambda g: _with(g, "near", placement=Placement.of_device("hello")),
        "changed relu 'near'",
    ),
    "gives-an-op-away": (
        lambda g: _with(g, "last", placement=Placement.of_device("near")),
        "changed relu 'last'",
    ),
    "changes-a-weight": (
        lambda g: replace(g, constants={"w": np.zeros(3, np.float32)}),
        "changed the value of 'w'",
    ),
    "cycle": (lambda g: _with(g, "first", inputs=("last/y",)), "left a bad graph"),
    "duplicate": (lambda g: replace(g, ops=(*g.ops, g.ops[-1])), "left a bad graph"),
    "undefined": (lambda g: _with(g, "first", inputs=("nothing",)), "left a bad graph"),
    "wrong-call": (_wrong_call, "left a bad graph"),
    "no-ops": (lambda g: replace(g, ops=cast(Any, None)), "left no graph at all"),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_headrace_passes_that_break_a_rule_are_named(what: str) -> None:
    """An illegal pass is an error with plugin, pass and deed; its graph is unharmed."""
    rewrite, message = ILLEGAL[what]
    registry = registry_of(passes=[PassEntry("hello", "break_it", rewrite)])
    graph = job()
    ops = graph.ops
    with pytest.raises(PluginError, match="pass 'break_it' of module headrace_hello") as caught:
        compile_job(graph, registry)
    assert message in str(caught.value)
    assert "device 'hello'" in str(caught.value)
    assert graph.ops is ops


def test_a_pass_may_build_the_graph_anew() -> None:
    """With a rewriter that begins like it: constants that stay are the same; new ones may come."""

    def rebuild(graph: JobGraph) -> JobGraph:
        rewriter = GraphRewriter(graph)
        for op in graph.ops:
            rewriter.keep(op)
        last = rewriter.tensor(graph.outputs[0][1].name)
        rewriter.let(last.name, rewriter.op("add", [last, rewriter.constant(X)])[0])
        return rewriter.finish()

    with (
        CompiledJob(job(), registry_of(rebuild)) as ours,
        CompiledJob(job(), registry_of()) as plain,
    ):
        np.testing.assert_array_equal(ours.run({"x": X})["y"], plain.run({"x": X})["y"] + X)


def test_a_session_survives_a_pass_that_raises() -> None:
    """The next call of the session runs, once the pass does not raise."""
    broken = [True]

    def sometimes(graph: JobGraph) -> JobGraph:
        return _fail(graph) if broken else graph

    with flow.Session(registry_of(sometimes)) as session:

        @flow.global_function(session=session)
        def twice(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:  # type: ignore[valid-type]
            with flow.scope.placement("hello", "0:0"):
                return cast(tp.Numpy, flow.relu(x + x))

        with pytest.raises(PluginError, match="out of ideas"):
            twice(X)
        broken.clear()
        np.testing.assert_array_equal(twice(X), [2, 0, 6])


@given(st.lists(st.tuples(st.sampled_from(["add", "relu"]), st.booleans()), max_size=8), st.data())
def test_any_legal_fusion_keeps_results(steps: list[tuple[str, bool]], data: st.DataObject) -> None:
    """A pass that fuses some of the pairs it could fuse changes no number."""

    def some(graph: JobGraph) -> JobGraph:
        editor = GraphEditor(graph, "hello")
        for relu in editor.ops("relu"):
            add = editor.maker(relu.inputs[0])
            fits = add is not None and add.call.op == "add" and editor.is_private(add, relu)
            if add is not None and fits and data.draw(st.booleans()):
                editor.replace([add, relu], AddRelu, add.inputs)
        return editor.finish()

    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    x = builder.input("x", SPEC)
    tensors, values = [x], [X]
    for op, shown in steps:
        read = [data.draw(st.integers(0, len(tensors) - 1)) for _ in range(1 + (op == "add"))]
        tensors.append(builder.op(op, [tensors[i] for i in read])[0])
        arrays = [values[i] for i in read]
        values.append(arrays[0] + arrays[1] if op == "add" else np.maximum(arrays[0], 0))
        if shown:
            builder.output(f"r{len(tensors)}", tensors[-1])
    builder.output("y", tensors[-1])
    shown_values = {f"r{i + 2}": values[i + 1] for i, (_, shown) in enumerate(steps) if shown}
    with CompiledJob(builder.finish(), registry_of(some)) as compiled:
        results = compiled.run({"x": X})
    for name, value in {**shown_values, "y": values[-1]}.items():
        np.testing.assert_array_equal(results[name], value)


def test_twenty_thousand_ops_are_fused() -> None:
    """An editor looks names up: asking about each op of a long graph takes seconds, not hours."""
    builder = JobGraphBuilder("long", Placement.of_device("hello"))
    tensor = x = builder.input("x", SPEC)
    for _ in range(10_000):
        (total,) = builder.op("add", [tensor, x])
        (tensor,) = builder.op("relu", [total])
    builder.output("y", tensor)
    fused = fuse(builder.finish())
    assert names(fused) == ["hello.add_relu"] * 10_000
    assert fused.ops[-1].outputs == (tensor.name,)
    assert fused.ops[-1].inputs == (fused.ops[-2].outputs[0], "x")


def test_an_editor_shows_the_graph_as_it_stands() -> None:
    """After a replacement makers and users are those of the new op, in topological order."""
    editor = GraphEditor(job(), "hello")
    add, relu = editor.ops("add")[0], editor.ops("relu")[0]
    new = editor.replace([add, relu], AddRelu, ["x", "x"])
    assert editor.maker("first/y") is new
    assert editor.maker(add.outputs[0]) is None
    assert editor.users(add.outputs[0]) == ()
    assert [op.call.name for op in editor.users("x")] == ["first", "add_last"]
    with pytest.raises(GraphError, match="no tensor 'add_first/z'"):
        editor.tensor("add_first/z")


def test_a_pass_that_writes_into_a_constant_is_named() -> None:
    """Constants are read-only: the pass is told, and the job's value is what it was."""

    def scribble(graph: JobGraph) -> JobGraph:
        graph.constants["w"][0] = 0
        return graph

    graph = job()
    with pytest.raises(PluginError, match=r"pass 'scribble' .* raised ValueError.*read-only"):
        compile_job(graph, registry_of(scribble))
    np.testing.assert_array_equal(graph.constants["w"], np.full(3, -7, np.float32))


def test_constants_that_were_folded_are_read_only() -> None:
    """What the builder computed is as closed as what it was given."""
    builder = JobGraphBuilder("job", Placement.of_device("near"))
    one = builder.constant(X)
    (total,) = builder.op("add", [one, one])
    for tensor in (one, total):
        value = builder.value(tensor)
        assert value is not None
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 7


def test_a_kernel_that_writes_into_a_weight_fails_its_run() -> None:
    """A weight on the host is read-only for kernels; an input is the kernel's to misuse."""

    class Scribbling(NumpyKernel):
        def launch(
            self,
            context: DeviceContext,
            inputs: Sequence[Buffer | None],
            outputs: Sequence[Buffer],
            workspace: Buffer | None,
        ) -> None:
            second = inputs[1]
            assert isinstance(second, HostBuffer)
            second.array(SPEC)[...] = 0

        bind = Kernel.bind

    registry = registry_of(kernels=[KernelEntry("hello", "subtract", Scribbling)])
    builder = JobGraphBuilder("job", Placement.of_device("hello"))
    x, w = builder.input("x", SPEC), builder.constant(X)
    builder.output("y", builder.op("subtract", [x, w])[0])
    with (
        CompiledJob(builder.finish(), registry) as compiled,
        pytest.raises(RunError, match="read-only"),
    ):
        compiled.run({"x": X})
