"""From a model to a job: names, constants, functions, branches, bodies, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.defs
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper
from onnx_models import BOOL, FLOAT, INT64, info, model, node

from headrace.errors import (
    InvalidModelError,
    ModelError,
    ResourceLimitError,
    UnsupportedModelError,
)
from headrace.onnx.file import limits
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.converters import CONVERTERS
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def imported(source: ModelProto, **shapes: tuple[int, ...]) -> Any:
    specs = {
        name: TensorSpec(shape, "float32") for name, shape in (shapes or {"x": (2, 3)}).items()
    }
    return Importer(read_model(source), Placement.of_device("near")).run(specs, {})


def ran(load_near: Any, source: ModelProto, **feeds: Any) -> dict[str, Any]:
    return load_near(source).run(feeds or {"x": X})


def test_an_output_may_be_an_input_or_a_constant(load_near: Any) -> None:
    """Results need no op: what is fed, and what is known, comes back."""
    source = model([], outputs=[info("x"), info("w")], weights={"w": X + 1})
    results = ran(load_near, source)
    assert list(results) == ["x", "w"]
    np.testing.assert_array_equal(results["x"], X)
    np.testing.assert_array_equal(results["w"], X + 1)


def test_results_are_the_callers_own(load_near: Any) -> None:
    """Writing to a result changes neither what was fed, nor the next result, nor a weight."""
    loaded = load_near(model([], outputs=[info("x"), info("w")], weights={"w": X + 1}))
    fed = X.copy()
    for result in loaded.run({"x": fed}).values():
        result[...] = 99
    assert fed.tolist() == X.tolist()
    assert loaded.run({"x": fed})["w"].tolist() == (X + 1).tolist()


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a/b",
        'say "x"',
        "it's",
        "../../x",
        "输出‮😀",
        "x:0",
        "add_0",
        "add_0/y",
        "constant_0",
        "%s{}",
    ],
)
def test_names_may_be_anything(load_near: Any, name: str) -> None:
    """No name of a model collides with names that headrace makes, or is taken apart."""
    nodes = [
        helper.make_node("Add", [name, "w"], ["t"]),
        helper.make_node("Add", ["t", name], [name + "!"]),
    ]
    source = model(nodes, [info(name)], [info(name + "!")], {"w": np.float32(1)})
    assert ran(load_near, source, **{name: X})[name + "!"].tolist() == (2 * X + 1).tolist()


def test_an_initializer_that_is_an_input_is_a_constant_unless_fed(load_near: Any) -> None:
    """Old files list weights as inputs: they have a default and may be replaced."""
    source = model(
        [node("Add", "x w", "y")], [info("w", []), info("x")], weights={"w": np.float32(1)}
    )
    loaded = load_near(source)
    assert [(i.name, i.optional) for i in loaded.inputs] == [("x", False), ("w", True)]
    assert loaded.run({"x": X})["y"].tolist() == (X + 1).tolist()
    assert loaded.run({"x": X, "w": np.float32(5)})["y"].tolist() == (X + 5).tolist()
    assert loaded.run({"x": X})["y"].tolist() == (X + 1).tolist()


def test_dead_nodes_and_unread_weights_are_not_imported() -> None:
    """What no output needs costs nothing, even when it could not run."""
    dead = node("NonZero", "x", "d")
    graph = imported(model([dead, node("Add", "x w", "y")], weights={"w": X, "unread": X}))
    assert [op.call.op for op in graph.ops] == ["add"]
    assert len(graph.constants) == 1


def test_equal_constants_are_one() -> None:
    """Nodes that hold the same are one constant of the job, whatever each tensor is called."""
    same = [helper.make_tensor(name, FLOAT, [1], [2.0]) for name in ("", "two")]
    nodes = [node("Constant", "", out, value=t) for out, t in zip("ab", same, strict=True)]
    graph = imported(model([*nodes, node("Add", "x a", "t"), node("Mul", "t b", "y")]))
    assert [value.tolist() for value in graph.constants.values()] == [[2.0]]
    assert graph.ops[0].inputs[1] == graph.ops[1].inputs[1]


def test_ops_say_where_they_come_from() -> None:
    """The node's name, or else what it makes, is in the location of every op."""
    nodes = [helper.make_node("Add", ["x", "x"], ["t"], name="conv/1"), node("Add", "t x", "y")]
    locations = [op.call.location for op in imported(model(nodes)).ops]
    assert locations == ["model: node 'conv/1'", "model: node making 'y'"]


def test_constants_are_folded() -> None:
    """Nodes that depend on no input leave no op behind."""
    nodes = [node("Add", "w w", "a"), node("Add", "a a", "b"), node("Add", "x b", "y")]
    graph = imported(model(nodes, weights={"w": X}))
    assert len(graph.ops) == 1
    read = graph.ops[0].inputs[1]
    assert read is not None
    assert graph.constants[read].tolist() == (4 * X).tolist()


# --- functions ---------------------------------------------------------------------------------


def scaled(name: str = "Shift", default: float | None = None) -> Any:
    """A function that adds its attribute ``by``."""
    attribute = AttributeProto(name="value_float", ref_attr_name="by", type=AttributeProto.FLOAT)
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(attribute)
    return helper.make_function(
        "f", name, ["a"], ["b"], [constant, node("Add", "a c", "b")],
        [helper.make_opsetid("", 17)],
        attributes=["by"] if default is None else [],
        attribute_protos=[] if default is None else [helper.make_attribute("by", default)],
    )  # fmt: skip


def test_functions_are_written_out_with_their_attributes(load_near: Any) -> None:
    """References are resolved from the call, else from the default; names inside stay inside."""
    nodes = [
        node("Shift", "x", "c", domain="f", by=1.0),
        node("Shift", "c", "b", domain="f", by=10.0),
        node("Default", "b", "y", domain="f"),
    ]
    source = model(nodes, functions=[scaled(), scaled("Default", 100.0)], f=1)
    assert ran(load_near, source)["y"].tolist() == (X + 111).tolist()


def test_an_attribute_that_a_call_leaves_out_is_absent() -> None:
    """The node inside is then told to lack it, with the way to it."""
    source = model([node("Shift", "x", "y", domain="f")], functions=[scaled()], f=1)
    with pytest.raises(ModelError, match=r"node making 'y', in function 'Shift': .*Constant"):
        imported(source)


def test_a_call_with_too_many_inputs_is_refused() -> None:
    """Arguments are matched by position; what is left over has no meaning."""
    source = model([node("Shift", "x x", "y", domain="f", by=1.0)], functions=[scaled()], f=1)
    with pytest.raises(InvalidModelError, match="takes 1 inputs"):
        imported(source)


def test_functions_cannot_multiply_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the functions is small enough, and the graph calls one again and again."""
    monkeypatch.setattr(limits, "NODES", 500)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]

    def twice(index: int) -> Any:
        if index == 20:
            return helper.make_function(
                "f", "F20", ["a"], ["b"], [node("Identity", "a", "b")], imports
            )
        inner = [
            node(f"F{index + 1}", "a", "t", domain="f"),
            node(f"F{index + 1}", "t", "b", domain="f"),
        ]
        return helper.make_function("f", f"F{index}", ["a"], ["b"], inner, imports)

    functions = list(map(twice, range(13, 21)))
    calls = [node("F13", "x", f"t{i}", domain="f") for i in range(9)]
    source = model(
        [*calls, node("Sum", " ".join(f"t{i}" for i in range(9)), "y")], functions=functions, f=1
    )
    with pytest.raises(UnsupportedModelError, match="more than 500 nodes"):
        imported(source)


def test_ops_that_onnx_writes_in_others_need_no_converter(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bodies of both kinds take the node's place: fixed ones, and those made for its inputs."""
    fewer = {k: v for k, v in CONVERTERS.items() if k not in ("ReduceL1", "CenterCropPad")}
    monkeypatch.setattr("headrace.onnx.importing.importer.CONVERTERS", fewer)
    monkeypatch.setattr("headrace.onnx.support.CONVERTERS", fewer)
    nodes = [node("ReduceL1", "x axes", "t"), node("CenterCropPad", "t size", "y")]
    source = model(nodes, weights={"axes": np.array([1]), "size": np.array([4, 1])}, opset=18)
    assert ran(load_near, source, x=-X)["y"].tolist() == [[0], [3], [12], [0]]


def test_only_ops_without_a_converter_need_an_onnx_that_knows_them(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one raises for new ops, and of others it gives early versions."""
    real = onnx.defs.get_schema

    def of_older(name: str, since: int, domain: str) -> Any:
        return real(name, min(since, 22), domain)

    monkeypatch.setattr("onnx.defs.get_schema", of_older)
    monkeypatch.setattr("onnx.defs.onnx_opset_version", lambda: 22)
    assert ran(load_near, model([node("Swish", "x", "y")], opset=28), x=X)["y"].shape == X.shape
    for made in (node("SwiGLU", "x x", "y"), node("Attention", "x x x", "y")):
        with pytest.raises(UnsupportedModelError, match=r"-2[58] is run by its body.*--upgrade"):
            imported(model([made], opset=28))


# --- branches ----------------------------------------------------------------------------------


def branch(nodes: Any, output: str = "o") -> Any:
    return helper.make_graph(nodes, "branch", [], [info(output, None)])


CHOICE = model(
    [
        node("Add", "x x", "t"),
        node(
            "If", "c", "y",
            then_branch=branch([node("Add", "t x", "o")]),
            else_branch=branch([node("Identity", "x", "t2"), node("Identity", "t2", "o")]),
        ),
    ],
    [info("x"), info("c", [], BOOL)],
)  # fmt: skip


def test_an_if_takes_the_branch_of_the_value_that_is_fed(load_near: Any) -> None:
    """Each value of the condition has its own job; branches see the names around them."""
    loaded = load_near(CHOICE)
    for _ in range(2):
        assert loaded.run({"x": X, "c": np.bool_(True)})["y"].tolist() == (3 * X).tolist()
        assert loaded.run({"x": X, "c": np.bool_(False)})["y"].tolist() == X.tolist()


def test_the_branch_not_taken_may_be_anything() -> None:
    """Only what is imported has to be supported."""
    body = branch([node("StringNormalizer", "x", "o")])
    choice = node(
        "If", "c", "y", then_branch=branch([node("Identity", "x", "o")]), else_branch=body
    )
    taken = model([choice], weights={"c": np.bool_(True)})
    assert imported(taken).outputs[0][0] == "y"
    with pytest.raises(InvalidModelError, match="StringNormalizer"):
        imported(model([choice], weights={"c": np.bool_(False)}))


def test_branches_nest(load_near: Any) -> None:
    """Twenty branches inside each other are twenty steps inward and none of the work."""
    inner = branch([node("Identity", "x", "o0")], "o0")
    for depth in range(1, 21):
        choice = node(
            "If",
            "c",
            f"o{depth}",
            then_branch=inner,
            else_branch=branch([node("Identity", "x", f"e{depth}")], f"e{depth}"),
        )
        inner = branch([choice], f"o{depth}")
    source = model([choice], [info("x"), info("c", [], BOOL)], [info("o20", None)])
    assert ran(load_near, source, x=X, c=np.bool_(True))["o20"].tolist() == X.tolist()


LIES = info("y", None, INT64)

# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "error", "says"),
    [
        (model([node("Idenity", "x", "y")]), InvalidModelError, "did you mean Identity"),
        (model([node("Swish", "x", "y")]), InvalidModelError, "later ones have it"),
        (model([node("Upsample", "x", "y")]), InvalidModelError, "taken out of ONNX"),
        (model([node("Identity", "x x", "y")]), InvalidModelError, "has 1 inputs; the node has 2"),
        (model([node("Concat", "x x", "y")]), InvalidModelError, "needs an attribute 'axis'"),
        (model([node("Concat", "x x", "y", axis=1.5)]), InvalidModelError, "type int, not float"),
        (model([node("Concat", "x x", "y", axis=0, oops=1)]), InvalidModelError, "'oops'"),
        (model([node("Concat", "x x", "y", axis=7)]), InvalidModelError, "7"),
        (model([node("Transpose", "x", "y", perm=[0, 0])]), InvalidModelError, "Transpose"),
        (model([node("Add", "x w", "y")], weights={"w": np.int64(1)}), InvalidModelError, "int64"),
        (model([node("Reshape", "x w", "y")], weights={"w": np.array([5])}), ModelError, "Reshape"),
        (model([node("Identity", "x", "y")], outputs=[LIES]), InvalidModelError, "declared int64"),
    ],
)  # fmt: skip
def test_nodes_that_make_no_sense_are_refused(
    load_near: Any, broken: ModelProto, error: type[Exception], says: str
) -> None:
    """The error is ours and names what is wrong."""
    with pytest.raises(error, match=says):
        ran(load_near, broken)


def test_every_missing_op_is_named_when_the_model_is_loaded(load_near: Any) -> None:
    """One look says what would have to be written; nothing waits for the first run."""
    preview = "ai.onnx.preview.training"
    nodes = [node("ImageDecoder", "x", "s"), node("Gradient", "s", "y", domain=preview)]
    with pytest.raises(UnsupportedModelError, match=rf"ImageDecoder-20, {preview}\.Gradient-1"):
        load_near(model(nodes, opset=20, **{preview: 1}))


def test_a_tensor_over_the_limit_is_refused_before_it_exists(load_near: Any) -> None:
    """Files of a hundred bytes ask for terabytes; the node and the size are named."""
    bomb = model([node("Expand", "x s", "y")], weights={"s": np.array([1 << 20, 1 << 18, 2, 3])})
    with pytest.raises((ResourceLimitError, ModelError), match=r"node making 'y'"):
        ran(load_near, bomb)


def test_folding_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant that is concatenated with itself again and again stops at the limit."""
    monkeypatch.setattr(limits, "FOLDED_BYTES", 1 << 20)
    nodes = [node("Concat", f"t{i} t{i}", f"t{i + 1}", axis=0) for i in range(40)]
    source = model([*nodes, node("Add", "x t40", "y")], weights={"t0": np.zeros(64, np.float32)})
    with pytest.raises(ResourceLimitError, match="do not depend on the inputs"):
        imported(source)


def test_a_wide_model_is_imported_in_linear_time(load_near: Any) -> None:
    """Ten thousand nodes that one node reads are no trouble."""
    nodes = [node("Identity", "x", f"t{i}") for i in range(10_000)]
    joined = helper.make_node("Concat", [f"t{i}" for i in range(10_000)], ["y"], axis=0)
    source = model([*nodes, joined])
    assert imported(source).outputs[0][1].spec.shape == (20_000, 3)


def test_inputs_that_are_no_tensors_are_refused() -> None:
    """Sequences, and dtypes that headrace lacks, are named when the model is loaded."""
    from headrace.onnx.declared import inputs_of

    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, None)
    for wrong, says in ((sequence, "sequence"), (info("x", [2], TensorProto.STRING), "string")):
        file = read_model(model([node("Identity", "x", "y")], [wrong]))
        with pytest.raises(UnsupportedModelError, match=says):
            inputs_of(file)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (node("Add", "x n", "y"), "type parameter T is float32"),
        (node("Add", "x x x", "y"), "Add has 2 inputs; the node has 3"),
        (node("Add", "x x", "y z"), "Add has 1 outputs; the node has 2"),
        (node("Add", "x x", "y", axis=1), "Add has no attribute 'axis', only none"),
        (node("Concat", "x x", "y", axis=1.0), "should be of type int, not float"),
        (node("Concat", "x x", "y"), "Concat needs an attribute 'axis'"),
    ],
)
def test_a_node_that_is_sound_excuses_no_other_of_its_op(
    load_near: Any, other: Any, says: str
) -> None:
    """Forms that were found to be sound are not looked at again; others are, also after them."""
    before = [node("Add", "x x", "a"), node("Concat", "a a", "b", axis=1)]
    good = model([*before, node("Identity", "b", "y")])
    assert ran(load_near, good)["y"].tolist() == np.concatenate([2 * X, 2 * X], 1).tolist()
    outputs = [info("b", None), info("y", None)]
    bad = model([*before, other], outputs=outputs, weights={"n": np.array(1)})
    with pytest.raises(InvalidModelError, match=says):
        load_near(bad).run({"x": X})
