"""Models whose attributes are long lists, which are read as arrays of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper

from headrace.errors import InvalidModelError
from headrace.onnx import load
from headrace.onnx.file.lists import LEAST_BYTES
from headrace.tensor_spec import Array

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

ML = "ai.onnx.ml"
FEATURES = 150
DEPTH, TREES = 8, 70
CLASSES = 3


def rows() -> Array:
    return np.random.default_rng(0).standard_normal((9, FEATURES)).astype(np.float32)


def trees(kind: str) -> dict[str, Any]:
    """The attributes of full trees of ``DEPTH``."""
    random = np.random.default_rng(1)
    inner, nodes = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    number = np.tile(np.arange(nodes), TREES)
    leaf = number >= inner
    tree = np.repeat(np.arange(TREES), nodes)
    return {
        "nodes_treeids": tree,
        "nodes_nodeids": number,
        "nodes_featureids": random.integers(0, FEATURES, number.size),
        "nodes_values": random.standard_normal(number.size).astype(np.float32),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_truenodeids": np.where(leaf, 0, number * 2 + 1),
        "nodes_falsenodeids": np.where(leaf, 0, number * 2 + 2),
        f"{kind}_treeids": tree[leaf],
        f"{kind}_nodeids": number[leaf],
        f"{kind}_ids": random.integers(0, CLASSES, leaf.sum()),
        f"{kind}_weights": random.standard_normal(leaf.sum()).astype(np.float32) / TREES,
    }


def model(op: str, outputs: str = "y", **attrs: Any) -> ModelProto:
    """A model of one node."""
    attrs = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in attrs.items()}
    node = helper.make_node(op, ["x"], outputs.split(), domain=ML, **attrs)
    assert max(attribute.ByteSize() for attribute in node.attribute) > LEAST_BYTES
    takes = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, FEATURES])]
    gives = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    graph = helper.make_graph([node], "g", takes, gives)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def run(device: str, source: Any) -> list[Any]:
    with load(source, device) as loaded:
        return list(loaded.run({"x": rows()}).values())


def agree(device: str, source: ModelProto) -> None:
    """The device gives what onnxruntime does."""
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, want in zip(run(device, source), session.run(None, {"x": rows()}), strict=True):
        if isinstance(want, list):
            assert [set(row) for row in got] == [set(row) for row in want]
            got, want = ([[row[key] for key in want[0]] for row in maps] for maps in (got, want))
        if np.asarray(want).dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
        else:
            np.testing.assert_array_equal(got, want)


def with_maps(source: ModelProto, **labels: Any) -> ModelProto:
    """Its scores are given as maps."""
    graph = source.graph
    graph.node.append(helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, **labels))
    key = TensorProto.STRING if "classlabels_strings" in labels else TensorProto.INT64
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(key, value))
    graph.output[1].CopyFrom(helper.make_value_info("maps", kind))
    return source


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN"])
def test_many_trees_say_numbers(device: str, aggregate: str) -> None:
    attrs = {"n_targets": CLASSES, "aggregate_function": aggregate, **trees("target")}
    agree(device, model("TreeEnsembleRegressor", **attrs))


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [7, 3, 5]}, {"classlabels_strings": ["a", "b", "c"]}]
)
def test_many_trees_say_classes(device: str, labels: dict[str, Any], maps: bool) -> None:
    """Which are numbers or words, and whose scores may be the values of maps."""
    source = model("TreeEnsembleClassifier", "label scores", **labels, **trees("class"))
    agree(device, with_maps(source, **labels) if maps else source)


def test_the_scores_of_many_trees_may_be_left_out(device: str) -> None:
    labels = ["a", "b", "c"]
    source = model(
        "TreeEnsembleClassifier", "label scores", classlabels_strings=labels, **trees("class")
    )
    both = run(device, source)
    source.graph.node[0].output[1] = ""
    del source.graph.output[1]
    (got,) = run(device, source)
    np.testing.assert_array_equal(got, both[0])


@pytest.mark.parametrize("op", ["SVMRegressor", "SVMClassifier"])
def test_many_support_vectors(device: str, op: str) -> None:
    random = np.random.default_rng(2)
    count = 200
    attrs = {
        "support_vectors": random.standard_normal(count * FEATURES).astype(np.float32),
        "coefficients": random.standard_normal(count).astype(np.float32),
        "kernel_type": "RBF",
        "kernel_params": [0.01, 0.0, 0.0],
        "rho": [0.25],
    }
    if op == "SVMRegressor":
        agree(device, model(op, n_supports=count, **attrs))
        return
    attrs |= {"classlabels_ints": [4, 9], "vectors_per_class": [count // 2, count // 2]}
    agree(device, model(op, "label scores", **attrs))


def test_trees_whose_leaves_are_apart(device: str) -> None:
    """The newer op, whose nodes are found by their places."""
    random = np.random.default_rng(3)
    inner = 2**DEPTH - 1
    number, first = np.tile(np.arange(inner), TREES), np.repeat(np.arange(TREES) * inner, inner)
    last = number >= inner // 2
    leaves = np.cumsum(last) * 2 - 2
    attrs = {
        "tree_roots": np.arange(TREES) * inner,
        "nodes_featureids": random.integers(0, FEATURES, number.size),
        "nodes_truenodeids": np.where(last, leaves, first + number * 2 + 1),
        "nodes_falsenodeids": np.where(last, leaves + 1, first + number * 2 + 2),
        "nodes_trueleafs": last.astype(int),
        "nodes_falseleafs": last.astype(int),
        "leaf_targetids": random.integers(0, CLASSES, last.sum() * 2),
        "n_targets": CLASSES,
        "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, last.shape, last * 0),
    }
    for name, size in (("nodes_splits", last.size), ("leaf_weights", last.sum() * 2)):
        numbers = random.standard_normal(size).astype(np.float32)
        attrs[name] = helper.make_tensor(name, TensorProto.FLOAT, numbers.shape, numbers)
    source = model("TreeEnsemble", **attrs)
    source.opset_import[1].version = 5
    agree(device, source)


def test_nodes_may_be_listed_and_numbered_in_any_way(device: str) -> None:
    """The first one that is listed of a tree is its root; numbers may be negative."""
    plain = {"n_targets": CLASSES, **trees("target")}
    is_root = plain["nodes_nodeids"] == 0
    rest = np.random.default_rng(4).permutation(np.flatnonzero(~is_root))
    order = np.concatenate([np.flatnonzero(is_root), rest])
    other = {n: a[order] if n.startswith("nodes_") else a for n, a in plain.items()}
    for name in ("nodes_treeids", "target_treeids"):
        other[name] = 2**40 - other[name] * 2**33
    for name in ("nodes_nodeids", "target_nodeids", "nodes_truenodeids", "nodes_falsenodeids"):
        other[name] = -(2**62) + other[name] * 2**50
    (want,) = run(device, model("TreeEnsembleRegressor", **plain))
    # Trees are summed in the order of their roots, which stays.
    (got,) = run(device, model("TreeEnsembleRegressor", **other))
    np.testing.assert_array_equal(got, want)


def test_a_file_is_read_again_for_another_shape(device: str, tmp_path: Path) -> None:
    path = tmp_path / "trees.onnx"
    labels = {"classlabels_int64s": [7, 3, 5]}
    source = model("TreeEnsembleClassifier", "label scores", **labels, **trees("class"))
    path.write_bytes(source.SerializeToString())
    with load(path, device) as loaded:
        labels_of_all, scores = loaded.run({"x": rows()}).values()
        for count in (1, 4):
            label, score = loaded.run({"x": rows()[:count]}).values()
            np.testing.assert_array_equal(label, labels_of_all[:count])
            np.testing.assert_allclose(score, scores[:count], rtol=1e-6)


def put(name: str, at: int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(attrs: dict[str, Any]) -> None:
        attrs[name] = attrs[name].copy().astype(object)
        attrs[name][at] = value

    return change


def shorten(name: str) -> Callable[[dict[str, Any]], None]:
    def change(attrs: dict[str, Any]) -> None:
        attrs[name] = attrs[name][:-1]

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("nodes_modes", 5, "BRANCH_ODD"), "a node is of mode 'BRANCH_ODD'"),
        (put("nodes_modes", 5, "BRANCH_J"), "a node is of mode 'BRANCH_J'"),
        (put("nodes_modes", 5, ""), "a node is of mode ''"),
        (put("nodes_modes", 5, "\u00e9" * 99), "a node is of mode"),
        (put("nodes_nodeids", 5, 4), r"tree and node \(0, 4\) are listed twice"),
        (put("nodes_truenodeids", 5, 9999), r"\(0, 9999\) are named, and there is none"),
        (put("nodes_truenodeids", 5, -1), r"\(0, -1\) are named, and there is none"),
        (put("target_treeids", 5, TREES), "are named, and there is none"),
        (put("nodes_truenodeids", 5, 0), "in a circle"),
        (put("target_ids", 5, -1), "speak of target"),
        (put("nodes_featureids", 5, -1), "ask for feature"),
        (shorten("nodes_values"), "lists of its nodes are not equally long"),
        (shorten("nodes_treeids"), "lists of its nodes are not equally long"),
        (shorten("target_ids"), "lists of its leaves are not equally long"),
        (shorten("target_weights"), "lists of its leaves are not equally long"),
    ],
)
def test_many_trees_that_contradict_themselves(
    device: str, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    """As few trees do."""
    attrs = {"n_targets": CLASSES, **trees("target")}
    change(attrs)
    with pytest.raises(InvalidModelError, match=says):
        run(device, model("TreeEnsembleRegressor", **attrs))


@pytest.mark.parametrize("field", ["floats", "ints", "strings"])
def test_elements_that_are_damaged_are_told(device: str, field: str) -> None:
    """With the attribute that they are of."""
    name, key = {
        "floats": ("nodes_values", b"\x3d"),
        "ints": ("nodes_nodeids", b"\x40"),
        "strings": ("nodes_modes", b"\x4a"),
    }[field]
    source = model("TreeEnsembleRegressor", n_targets=CLASSES, **trees("target"))
    (attribute,) = (a for a in source.graph.node[0].attribute if a.name == name)
    whole, part = source.SerializeToString(), attribute.SerializeToString()
    damaged = bytearray(part)
    damaged[damaged.index(key, len(name) + 3)] = 0xFF
    with pytest.raises(InvalidModelError, match=f"attribute '{name}': its elements are damaged"):
        run(device, whole.replace(part, bytes(damaged)))


def test_elements_with_other_fields_among_them_are_read_by_protobuf(device: str) -> None:
    """These must not say anew what the attribute is."""
    source = model("TreeEnsembleRegressor", n_targets=CLASSES, **trees("target"))
    (want,) = run(device, source)
    (attribute,) = (a for a in source.graph.node[0].attribute if a.name == "nodes_values")
    attribute.doc_string = "what " * 40
    (got,) = run(device, source)
    np.testing.assert_array_equal(got, want)
    # A field of text is as long as one that is a name, of which the last one counts.
    named = b"\x0a\x7f" + b"n" * 127 + b"\x6a\x48"
    again = source.SerializeToString().replace(b"\x6a\xc8\x01" + b"what " * 25 + b"wha", named)
    with pytest.raises(InvalidModelError, match="'nodes_values': says twice what it is"):
        run(device, again)


def test_a_model_may_say_for_itself_what_the_op_is(device: str) -> None:
    """Then the lists are what its function says they are."""
    values = np.random.default_rng(5).standard_normal(20_000).astype(np.float32)
    source = model("SVMRegressor", coefficients=values)
    given = helper.make_node("Constant", [], ["given"])
    given.attribute.append(
        AttributeProto(
            name="value_floats", ref_attr_name="coefficients", type=AttributeProto.FLOATS
        )
    )
    body = [
        given,
        helper.make_node("ReduceMax", ["given"], ["most"], keepdims=0),
        helper.make_node("Add", ["x", "most"], ["y"]),
    ]
    imports = [helper.make_opsetid("", 18)]
    source.functions.append(
        helper.make_function(ML, "SVMRegressor", ["x"], ["y"], body, imports, ["coefficients"])
    )
    (got,) = run(device, source)
    np.testing.assert_array_equal(got, rows() + values.max())
