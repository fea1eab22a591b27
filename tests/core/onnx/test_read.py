"""What is a model, and what is not: versions, names, order, functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import ModelProto, helper
from onnx_models import BOOL, IDENTITY, info, model, node

from headrace.errors import InvalidModelError, ModelError, ResourceLimitError, UnsupportedModelError
from headrace.frontend import plan_file
from headrace.onnx.file import limits, utf8
from headrace.onnx.file.graphs import order, wired
from headrace.onnx.file.read import read_model


def changed(change: Callable[[ModelProto], object]) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(IDENTITY)
    change(copy)
    return copy


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"PK\x03\x04" + b"\0" * 60, "zip archive"),
        (plan_file.MAGIC + b"\0" * 60, "a compiled plan, which `headrace run` takes"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"hello, I am no model", "is not an ONNX model"),
        (IDENTITY.SerializeToString()[:-1], "is not an ONNX model"),
    ],
)
def test_bytes_that_are_no_model_are_told_by_what_they_are(data: bytes, says: str) -> None:
    """A failed download or a wrong file is recognised, and nothing else happens."""
    with pytest.raises(InvalidModelError, match=says):
        read_model(data)


def test_every_truncation_is_an_error_or_a_model() -> None:
    """Wherever a file is cut, it is refused by an error of ours; never another exception."""
    data = model([node("Identity", "x", "y")], weights={"w": [1.0, 2.0]}).SerializeToString()
    for end in range(len(data)):
        try:
            read_model(data[:end])
        except ModelError:
            continue
        pytest.fail(f"a model cut to {end} of {len(data)} bytes was accepted")


def test_a_path_must_be_a_plain_file(tmp_path: Path) -> None:
    """Folders and missing files are refused with the path."""
    with pytest.raises(InvalidModelError, match="no plain file"):
        read_model(tmp_path)
    with pytest.raises(InvalidModelError, match=r"missing\.onnx: cannot be read"):
        read_model(tmp_path / "missing.onnx")


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    """The size is looked at first: a sparse file of 3 GiB costs nothing."""
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(ResourceLimitError, match=r"huge\.onnx: has 3221225472 bytes"):
        read_model(path)


@pytest.mark.parametrize("version", [0, 29, 9999])
def test_an_unknown_operator_set_names_both_bounds(version: int) -> None:
    """Neither an older nor a newer meaning of ops is guessed at."""
    wrong = changed(lambda m: m.opset_import[0].__setattr__("version", version))
    with pytest.raises(UnsupportedModelError, match=rf"operator set {version}; .*1 to 28"):
        read_model(wrong)


@pytest.mark.parametrize("version", [1, 2, 999])
def test_an_unknown_format_version_is_refused(version: int) -> None:
    """The format before 3 has no operator sets, and the future is not known."""
    with pytest.raises(UnsupportedModelError, match=rf"ir_version\) {version}"):
        read_model(changed(lambda m: m.__setattr__("ir_version", version)))


def test_a_model_without_operator_set_graph_or_outputs_is_refused() -> None:
    """Each of the three is named when it is missing."""
    with pytest.raises(InvalidModelError, match="operator set"):
        read_model(changed(lambda m: m.ClearField("opset_import")))
    with pytest.raises(InvalidModelError, match="no graph"):
        read_model(changed(lambda m: m.ClearField("graph")))
    with pytest.raises(InvalidModelError, match="no outputs"):
        read_model(changed(lambda m: m.graph.ClearField("output")))


X, Y, THEN = (
    info("x"),
    info("y"),
    helper.make_graph([node("Identity", "zz", "o")], "t", [], [info("o")]),
)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (model([node("Identity", "x", "y")], [X, X]), "two inputs are called 'x'"),
        (model([node("Identity", "x", "y")], outputs=[Y, info("")]), "an output has no name"),
        (model([node("Identity", "x", "x")], outputs=[X]), "'x', which an input or initializer"),
        (model([node("Identity", "x", "y")] * 2), "'y', which node making 'y'"),
        (model([node("Identity", "q", "y")]), "reads 'q', which nothing makes"),
        (model([node("Identity", "x", "z")]), "output 'y' is made by nothing"),
        (model([node("Identity", "y", "y")]), "circle: Identity makes 'y' of 'y'"),
        (
            model([node("Identity", "y", "a"), node("Concat", "x a", "y", axis=0)]),
            "circle: Identity makes 'a' of 'y', Concat makes 'y' of 'a'",
        ),
        (model([node("", "x", "y")]), "which op it is"),
        (
            model(
                [node("If", "c", "y", then_branch=THEN, else_branch=THEN)],
                [info("c", [], BOOL)],
            ),
            "graph 't': node making 'o': reads 'zz'",
        ),
    ],
)
def test_names_that_do_not_hold_are_refused(broken: ModelProto, says: str) -> None:
    """Duplicates, undefined names and cycles are found wherever they stand."""
    with pytest.raises(InvalidModelError, match=says):
        read_model(broken)


def test_nodes_need_not_be_in_order_and_dead_ones_are_dropped() -> None:
    """Order follows the data; a node that no output needs is left out."""
    nodes = [node("Neg", "b", "y"), node("Abs", "x", "dead"), node("Relu", "x", "b")]
    assert [n.node.op_type for n in order(wired(nodes), ["y"], "m")] == ["Relu", "Neg"]


def test_a_circle_is_told_node_by_node() -> None:
    """With the op, its name if it has one, and the tensors on both sides; a long one in part."""
    nodes = [node("Relu", "b", "a", name="n"), node("Neg", "a", "b"), node("Abs", "a", "y")]
    said = r"^m: .* in a circle: Relu 'n' makes 'a' of 'b', Neg makes 'b' of 'a'$"
    with pytest.raises(InvalidModelError, match=said):
        order(wired(nodes), ["y"], "m")
    long = [node("Neg", f"t{(i + 1) % 100}", f"t{i}") for i in range(100)]
    with pytest.raises(
        InvalidModelError, match=r"of 't3', .*\(\d+ more\), Neg makes 't99' of 't0'$"
    ):
        order(wired(long), ["t0"], "m")


def test_order_takes_long_chains() -> None:
    """The depth of a graph is not bounded by Python's stack."""
    nodes = [node("Neg", f"t{i}", f"t{i + 1}") for i in reversed(range(20_000))]
    ordered = [n.node for n in order(wired(nodes), ["t20000"], "m")]
    assert [ordered[0].input[0], ordered[-1].output[0], len(ordered)] == ["t0", "t20000", 20_000]


def test_all_foreign_ops_are_named_at_once() -> None:
    """Who has to port a model wants the list, not the first entry."""
    foreign = model(
        [node("Fused", "x", "a", domain="acme"), node("Glued", "a", "y", domain="acme")], acme=1
    )
    with pytest.raises(UnsupportedModelError, match=r"'acme': 'Fused', 'Glued'"):
        read_model(foreign)


def function(name: str, calls: str):
    return helper.make_function(
        "f", name, ["a"], ["b"], [node(calls, "a", "b", domain="f" if calls != "Identity" else "")],
        [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "circle"), [("F", "Identity", "'F', 'F'"), ("G", "F", "'G', 'F', 'G'")]
)
def test_functions_that_call_each_other_are_refused(first: str, second: str, circle: str) -> None:
    """A function that ends in itself would never be written out."""
    functions = [function("F", first), function("G", second)]
    recursive = model([node("F", "x", "y", domain="f")], functions=functions, f=1)
    with pytest.raises(InvalidModelError, match=f"in a circle: {circle}"):
        read_model(recursive)


def test_functions_may_nest_only_so_deep() -> None:
    """A long chain of functions is refused before anything recurses into it."""
    chain = [function(f"F{i}", f"F{i + 1}") for i in range(5000)] + [function("F5000", "Identity")]
    deep = model([node("F0", "x", "y", domain="f")], functions=chain, f=1)
    with pytest.raises(UnsupportedModelError, match=f"the limit is {limits.DEPTH}"):
        read_model(deep)


def with_bytes(change: Callable[[ModelProto], object], old: bytes, new: bytes) -> bytes:
    """A model of which other bytes are written, as many: protobuf writes text alone."""
    data = changed(change).SerializeToString()
    assert data.count(old) == 1
    return data.replace(old, new)


@pytest.mark.parametrize("most_bytes", [0, 1 << 20], ids=["large", "small"])
def test_text_that_is_none_is_refused(most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the message and the field, whatever was asked first."""
    monkeypatch.setattr(utf8, "_MOST_BYTES", most_bytes)
    data = with_bytes(lambda m: setattr(m.graph.node[0], "name", "abc"), b"abc", b"a\xffc")
    with pytest.raises(InvalidModelError, match=r"NodeProto\.name is b'a\\xffc', which is not UTF"):
        read_model(data)


def test_text_that_nobody_reads_may_be_anything() -> None:
    """Types of what lies between are let go of before."""

    def say(broken: ModelProto) -> None:
        broken.graph.value_info.add().name = "abc"

    assert read_model(with_bytes(say, b"abc", b"a\xffc")).weights == {}


def test_functions_may_stand_for_only_so_many_nodes() -> None:
    """Thirty functions that call the next one twice would be a thousand million nodes."""
    twice = [
        helper.make_function(
            "f", f"F{i}", ["a"], ["b"],
            [node(f"F{i + 1}", "a", "t", domain="f"), node(f"F{i + 1}", "t", "b", domain="f")],
            [helper.make_opsetid("f", 1)],
        )
        for i in range(30)
    ]  # fmt: skip
    wide = model(
        [node("F0", "x", "y", domain="f")], functions=[*twice, function("F30", "Identity")], f=1
    )
    with pytest.raises(UnsupportedModelError, match=f"nodes.*the limit is {limits.NODES}"):
        read_model(wide)
