"""Ops of domain ``ai.onnx.ml``: what onnxruntime computes, headrace computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx import load
from headrace.onnx.file.tensors import dtype_to_onnx
from headrace.tensor_spec import Array, TensorSpec

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

FEATURES = 5


def rows(dtype: Any = np.float32, count: int = 40) -> Array:
    """Numbers of which some are equal to a split, and some are NaN."""
    random = np.random.default_rng(1)
    x = random.integers(-8, 9, (count, FEATURES)) / 4
    if np.dtype(dtype).kind == "f":
        x[random.random(x.shape) < 0.05] = np.nan
    return x.astype(dtype)


def model(op: str, inputs: list[Array], outputs: str, version: int = 3, **attrs: Any) -> Any:
    """A model of one node, and what to feed it."""
    feeds = {f"x{index}": x for index, x in enumerate(inputs)}
    takes = [
        helper.make_tensor_value_info(
            n, dtype_to_onnx(TensorSpec.of(x).dtype), (None, *x.shape[1:])
        )
        for n, x in feeds.items()
    ]
    gives = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    made = helper.make_node(op, list(feeds), outputs.split(), domain="ai.onnx.ml", **attrs)
    graph = helper.make_graph([made], "g", takes, gives)
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), feeds


def agree(device: str, op: str, inputs: list[Array], outputs: str = "y", **attrs: Any) -> None:
    """The device gives what onnxruntime does."""
    source, feeds = model(op, inputs, outputs, **attrs)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        results = loaded.run(feeds)
    for got, want in zip(results.values(), session.run(None, feeds), strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def trees(
    kind: str, targets: list[int], *, modes: list[str], positive: bool = False, count: int = 7
) -> dict[str, Any]:
    """The attributes of random trees, whose leaves speak of ``targets``."""
    random = np.random.default_rng(2)
    names = "treeids nodeids featureids values modes truenodeids falsenodeids"
    names += " missing_value_tracks_true"
    lists: dict[str, list[Any]] = {f"nodes_{name}": [] for name in names.split()}
    leaves: dict[str, list[Any]] = {
        f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")
    }

    def add(tree: int, depth: int) -> int:
        number = sum(of == tree for of in lists["nodes_treeids"])
        index = len(lists["nodes_treeids"])
        leaf = depth == 4 or (depth > 1 and random.random() < 0.3)
        values = [tree, number, int(random.integers(FEATURES)), int(random.integers(-8, 9)) / 4]
        values += ["LEAF" if leaf else str(random.choice(modes)), 0, 0, int(random.integers(2))]
        for name, value in zip(lists, values, strict=True):
            lists[name].append(value)
        if leaf:
            for target in targets:
                weight = random.uniform(0 if positive else -1, 1) / count
                for name, value in zip(leaves, (tree, number, target, weight), strict=True):
                    leaves[name].append(value)
        else:
            lists["nodes_truenodeids"][index] = add(tree, depth + 1)
            lists["nodes_falsenodeids"][index] = add(tree, depth + 1)
        return number

    for tree in range(count):
        add(tree, 0)
    return {**lists, **leaves}


ONE_MODE = ["BRANCH_LEQ"]
ALL_MODES = [f"BRANCH_{name}" for name in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]


@pytest.mark.parametrize("modes", [ONE_MODE, ALL_MODES], ids=["one", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_trees_that_say_numbers(device: str, modes: list[str], dtype: Any, aggregate: str) -> None:
    """Of two targets, with what each begins with."""
    attrs = trees("target", [0, 1], modes=modes)
    attrs |= {"n_targets": 2, "base_values": [0.5, -1.0], "aggregate_function": aggregate}
    agree(device, "TreeEnsembleRegressor", [rows(dtype)], **attrs)


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_trees_that_say_classes(device: str, transform: str, dtype: Any) -> None:
    """The greatest score decides."""
    attrs = trees("class", [0, 1, 2], modes=ONE_MODE)
    attrs |= {"classlabels_int64s": [7, 3, 5], "post_transform": transform}
    agree(device, "TreeEnsembleClassifier", [rows(dtype)], "y scores", **attrs)


def test_trees_that_say_both_of_two_classes(device: str) -> None:
    """As of three; onnxruntime gives these scores, and with them labels that the model has not."""
    attrs = trees("class", [0, 1], modes=ONE_MODE) | {"classlabels_int64s": [7, 3]}
    source, feeds = model("TreeEnsembleClassifier", [rows()], "y scores", **attrs)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        labels, scores = loaded.run(feeds).values()
    np.testing.assert_allclose(scores, session.run(None, feeds)[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(labels, np.array([7, 3])[scores.argmax(1)])


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("base", [[], [0.1]])
def test_trees_that_say_one_of_two_classes(
    device: str, transform: str, positive: bool, target: int, base: list[float]
) -> None:
    """One score stands for both: a share of 1 where no leaf says less than 0."""
    attrs = trees("class", [target], modes=ONE_MODE, positive=positive)
    attrs |= {"classlabels_int64s": [7, 3], "post_transform": transform, "base_values": base}
    attrs = {name: value for name, value in attrs.items() if value != []}
    agree(device, "TreeEnsembleClassifier", [rows()], "y scores", **attrs)


@pytest.mark.parametrize("aggregate", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trees_whose_leaves_are_apart(device: str, aggregate: int, dtype: Any) -> None:
    """As newer models have them; one node asks whether a number is in a set."""
    attrs: dict[str, Any] = {
        "n_targets": 2,
        "nodes_featureids": [0, 1, 2, 3],
        "nodes_truenodeids": [1, 0, 1, 3],
        "nodes_trueleafs": [0, 1, 1, 1],
        "nodes_falsenodeids": [2, 2, 3, 4],
        "nodes_falseleafs": [0, 1, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 0, 0],
        "leaf_targetids": [0, 1, 0, 1, 1],
        "tree_roots": [0, 3],
        "aggregate_function": aggregate,
    }
    numbers = {
        "nodes_splits": np.array([0.25, -0.5, np.nan, 0.75]),
        "membership_values": np.array([1.0, 2.0, 4.0, np.nan]),
        "leaf_weights": np.array([1, -2, 0.5, 4, -3]),
    }
    for name, value in numbers.items():
        attrs[name] = numpy_helper.from_array(value.astype(dtype), name)
    modes = np.array([0, 3, 6, 1], np.uint8)
    attrs["nodes_modes"] = numpy_helper.from_array(modes, "modes")
    agree(device, "TreeEnsemble", [rows(dtype)], version=5, **attrs)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_classes(device: str, transform: str, classes: int) -> None:
    """One score for each class."""
    random = np.random.default_rng(3)
    attrs = {
        "classlabels_ints": [7, 3, 5][:classes],
        "coefficients": random.uniform(-1, 1, classes * FEATURES),
        "intercepts": random.uniform(-1, 1, classes),
        "post_transform": transform,
    }
    agree(device, "LinearClassifier", [np.nan_to_num(rows())], "y scores", **attrs)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_one_linear_score_of_two_classes(device: str, transform: str) -> None:
    """Stands for both."""
    attrs = {
        "classlabels_ints": [7, 3],
        "coefficients": np.linspace(-1, 1, FEATURES),
        "intercepts": [0.25],
        "post_transform": transform,
    }
    agree(device, "LinearClassifier", [np.nan_to_num(rows())], "y scores", **attrs)


@pytest.mark.parametrize("targets", [1, 2])
def test_linear_numbers(device: str, targets: int) -> None:
    """With intercepts and without."""
    attrs = {"coefficients": np.linspace(-1, 1, targets * FEATURES), "targets": targets}
    x = np.nan_to_num(rows())
    agree(device, "LinearRegressor", [x], **attrs)
    agree(device, "LinearRegressor", [x], intercepts=[0.5, -1.0][:targets], **attrs)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vectors(device: str, kernel: str, one_class: int) -> None:
    """By every kernel; as numbers, or as what is one class and what is not."""
    random = np.random.default_rng(4)
    attrs = {
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.5, 2.0],
        "n_supports": 6,
        "support_vectors": random.uniform(-1, 1, 6 * FEATURES),
        "coefficients": random.uniform(-1, 1, 6),
        "rho": [0.125],
        "one_class": one_class,
    }
    agree(device, "SVMRegressor", [np.nan_to_num(rows())], **attrs)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("probable", [False, True])
@pytest.mark.parametrize("kernel", ["RBF", "LINEAR", "POLY"])
def test_classes_by_support_vectors(device: str, classes: int, probable: bool, kernel: str) -> None:
    """By the votes of all pairs; with probabilities that fit those of the pairs."""
    random, pairs = np.random.default_rng(5), classes * (classes - 1) // 2
    counts = [3, 2, 4, 3][:classes]
    attrs = {
        "classlabels_ints": [7, 3, 5, 1][:classes],
        "kernel_type": kernel,
        "kernel_params": [0.3, 0.5, 2.0],
        "vectors_per_class": counts,
        "support_vectors": random.uniform(-1, 1, sum(counts) * FEATURES),
        "coefficients": random.uniform(-1, 1, sum(counts) * (classes - 1)),
        "rho": random.uniform(-0.1, 0.1, pairs),
    }
    if probable:
        attrs["prob_a"] = random.uniform(-2, -1, pairs)
        attrs["prob_b"] = random.uniform(-0.2, 0.2, pairs)
    agree(device, "SVMClassifier", [np.nan_to_num(rows())], "label scores", **attrs)


def test_features(device: str) -> None:
    """What is done to them before a model sees them."""
    x = rows()
    full = np.nan_to_num(x)
    offsets, factors = np.linspace(-1, 1, FEATURES), np.linspace(0.5, 2, FEATURES)
    agree(device, "Scaler", [full], offset=offsets, scale=factors)
    agree(device, "Scaler", [full.astype(np.int64)], offset=[0.5], scale=[2.0])
    for norm in ("L1", "L2"):
        agree(device, "Normalizer", [full], norm=norm)
    agree(device, "Normalizer", [np.abs(full)], norm="MAX")
    agree(device, "Binarizer", [full], threshold=0.25)
    nan = float("nan")
    agree(device, "Imputer", [x], imputed_value_floats=offsets, replaced_value_float=nan)
    agree(device, "Imputer", [x], imputed_value_floats=[9.0], replaced_value_float=0.5)
    integers = full.astype(np.int64)
    agree(device, "Imputer", [integers], imputed_value_int64s=[9], replaced_value_int64=1)
    agree(device, "ArrayFeatureExtractor", [full, np.array([3, 0])])
    agree(device, "FeatureVectorizer", [full, full[:, :2]], inputdimensions=[FEATURES, 2])
    agree(device, "OneHotEncoder", [integers], cats_int64s=[-1, 0, 2], zeros=1)


@pytest.mark.parametrize(
    ("x", "attrs"),
    [
        (np.array([4, 9, 2, 4]), {"keys_int64s": [4, 2], "values_floats": [0.5, -1.0]}),
        (np.array([4, 9, 2, 4]), {"keys_int64s": [4, 2], "values_int64s": [1, 7],
                                  "default_int64": 100}),
        (np.array([3, -(2**63), 2**63 - 1, 5, 4, -1, 6]),
         {"keys_int64s": [5, 0, 3], "values_int64s": [1, 7, 9], "default_int64": 100}),
        (np.array([1, 10**12, -(2**63)]),
         {"keys_int64s": [10**12, -(2**63), 1], "values_floats": [1.0, 7.0, 9.0]}),
        (np.array([0.5, np.nan, 2], np.float32), {"keys_floats": [0.5, float("nan")],
                                                  "values_int64s": [1, 7]}),
        (np.array([0.5, np.nan, 2], np.float32), {"keys_floats": [0.5, float("nan")],
                                                  "values_int64s": [1, 7], "version": 4}),
    ],
)  # fmt: skip
def test_labels(device: str, x: Array, attrs: dict[str, Any]) -> None:
    """Numbers stand for others; for what is not listed there is a number too."""
    agree(device, "LabelEncoder", [x], **attrs)


@pytest.mark.parametrize(
    ("op", "attrs", "message"),
    [
        ("LinearRegressor", {"coefficients": [1.0] * FEATURES, "post_transform": "PROBIT"},
         "'PROBIT'"),
    ],
)  # fmt: skip
def test_what_is_not_run_is_refused(
    device: str, op: str, attrs: dict[str, Any], message: str
) -> None:
    """With the node, and what to do."""
    outputs = "y scores" if op.endswith("Classifier") else "y"
    source, feeds = model(op, [np.nan_to_num(rows())], outputs, **attrs)
    with (
        load(source, device) as loaded,
        pytest.raises(UnsupportedModelError, match=f"node making 'y'.*{message}"),
    ):
        loaded.run(feeds)


def test_trees_that_contradict_themselves(device: str) -> None:
    """Circles, and nodes and features that there are not, are found when they are read."""
    attrs = trees("target", [0], modes=ONE_MODE)
    for name, value, message in (
        ("nodes_featureids", [9] * len(attrs["nodes_featureids"]), "ask for feature 9"),
        ("nodes_truenodeids", [99] * len(attrs["nodes_featureids"]), "there is none"),
        ("nodes_truenodeids", [0] * len(attrs["nodes_featureids"]), "in a circle"),
        ("nodes_values", [0.5], "not equally long"),
    ):
        source, feeds = model("TreeEnsembleRegressor", [rows()], "y", **{**attrs, name: value})
        with load(source, device) as loaded, pytest.raises(InvalidModelError, match=message):
            loaded.run(feeds)
