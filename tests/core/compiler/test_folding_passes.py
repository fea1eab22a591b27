"""Passes that compute less: equal ops once, batch norms into what makes their input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from toy_backends import host

from headrace.compiler.passes.fold_normalization import fold_normalization
from headrace.compiler.passes.merge_equal_ops import merge_equal_ops
from headrace.compiler.pipeline import PASSES
from headrace.compiler.verify import verify_job_graph
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.reference import REFERENCE

HOST = Placement.of_device("cpu")
X = np.random.default_rng(2).standard_normal((2, 4, 5, 6)).astype(np.float32)


def ops(graph: JobGraph) -> list[str]:
    return [op.call.op for op in graph.ops]


def run(graph: JobGraph, **feeds: Array) -> dict[str, Array]:
    with CompiledJob(graph, BackendRegistry.from_modules({"cpu": host()})) as job:
        return job.run(feeds)


def test_equal_ops_are_computed_once() -> None:
    """Also those that are equal only because what they read is; results keep their names."""
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec.of(X))
    (a,), (b,) = builder.op("relu", [x]), builder.op("relu", [x])
    (c,), (d,) = builder.op("add", [a, x]), builder.op("add", [b, x])
    (e,) = builder.op("softmax", [a], axis=1)
    (f,) = builder.op("softmax", [b], axis=2)
    for name, tensor in zip("cdef", (c, d, e, f), strict=True):
        builder.output(name, tensor)
    graph = builder.finish()
    merged = merge_equal_ops(graph)
    verify_job_graph(merged, "merge_equal_ops")
    assert ops(merged) == ["relu", "add", "softmax", "softmax"]
    before, after = run(graph, x=X), run(merged, x=X)
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


def test_a_graph_with_nothing_to_do_in_is_given_back_itself() -> None:
    """Nobody then looks through it for what a pass has changed."""
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec.of(X))
    (a,) = builder.op("add", [x, builder.constant(X)])
    (b,) = builder.op("reshape", [a], shape=(8, 30))
    builder.output("b", builder.op("softmax", [b], axis=1)[0])
    graph, registry = builder.finish(), BackendRegistry.from_modules({"cpu": host()})
    for name, rewriting in PASSES:
        assert rewriting(graph, registry) is graph, name


def test_equal_ops_on_two_devices_are_two() -> None:
    """Merging them would move work that the user placed."""
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec.of(X))
    (a,) = builder.op("relu", [x])
    with builder.placed(Placement.of_device("cpu:1")):
        (b,) = builder.op("relu", [x])
    builder.output("a", a)
    builder.output("b", b)
    graph = builder.finish()
    assert merge_equal_ops(graph) is graph


def convolved(
    *, bias: bool = True, read_twice: bool = False, axis: int = 1, fed: bool = False
) -> tuple[JobGraph, dict[str, Array]]:
    """A convolution and a batch norm, and the numbers they were given."""
    random = np.random.default_rng(5)
    given = {
        "w": random.standard_normal((6, 2, 3, 3)).astype(np.float32),
        "b": random.standard_normal(6).astype(np.float32),
        "mean": random.standard_normal(6).astype(np.float32),
        "variance": random.uniform(0.1, 2, 6).astype(np.float32),
        "gamma": random.standard_normal(6).astype(np.float32),
        "beta": random.standard_normal(6).astype(np.float32),
    }
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec.of(X))
    w = builder.input("w", TensorSpec.of(given["w"])) if fed else builder.constant(given["w"])
    b = builder.constant(given["b"]) if bias else None
    (y,) = builder.op("conv", [x, w, b], groups=2, pads=(1, 1, 1, 1), location="model: node 'c'")
    vectors = [builder.constant(given[n]) for n in ("mean", "variance", "gamma", "beta")]
    (z,) = builder.op("normalization", [y, *vectors], axis=axis, epsilon=1e-3)
    builder.output("z", z)
    if read_twice:
        builder.output("y", y)
    return builder.finish(), given


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("axis", [1, -3])
def test_a_batch_norm_vanishes_into_its_convolution(bias: bool, axis: int) -> None:
    """One op remains, with the numbers that the reference gives for two."""
    graph, given = convolved(bias=bias, axis=axis)
    folded = fold_normalization(graph)
    verify_job_graph(folded, "fold_normalization")
    assert ops(folded) == ["conv"]
    assert folded.ops[0].call.location == "model: node 'c'"
    conv = graph.ops[0].call
    y = REFERENCE["conv"](X, given["w"], given["b"] if bias else None, **conv.attrs)
    vectors = [given[n] for n in ("mean", "variance", "gamma", "beta")]
    want = REFERENCE["normalization"](y, *vectors, **graph.ops[1].call.attrs)
    np.testing.assert_allclose(run(folded, x=X)["z"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_batch_norm_vanishes_into_a_transposed_convolution_of_one_group(groups: int) -> None:
    """Each column of the weights is of one channel of the result; of groups it is of several."""
    random = np.random.default_rng(6)
    weight = random.standard_normal((X.shape[1], 3, 2, 3)).astype(np.float32)
    vectors = random.uniform(0.5, 2, (5, 3 * groups)).astype(np.float32)
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec.of(X))
    attrs: dict[str, object] = {"groups": groups, "strides": (2, 1)}
    read = [x, builder.constant(weight), builder.constant(vectors[0])]
    (y,) = builder.op("conv_transpose", read, attrs=attrs)
    (z,) = builder.op("normalization", [y, *map(builder.constant, vectors[1:])], axis=1)
    builder.output("z", z)
    graph = builder.finish()
    folded = fold_normalization(graph)
    assert ops(folded) == (["conv_transpose"] if groups == 1 else ops(graph))
    between = REFERENCE["conv_transpose"](X, weight, vectors[0], **graph.ops[0].call.attrs)
    want = REFERENCE["normalization"](between, *vectors[1:], **graph.ops[1].call.attrs)
    np.testing.assert_allclose(run(folded, x=X)["z"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", [{"read_twice": True}, {"fed": True}])
def test_what_others_need_or_nobody_knows_yet_stays(how: dict[str, bool]) -> None:
    """A convolution that has another reader, and weights that are fed, are left alone."""
    graph, _ = convolved(**how)
    assert fold_normalization(graph) is graph


def multiplied(
    *,
    bias: tuple[int, ...] | None = None,
    transposed: bool = False,
    axis: int = 1,
    bias_first: bool = False,
    read: str = "",
) -> tuple[JobGraph, dict[str, Array]]:
    """``x @ w``, perhaps a constant added, and a batch norm; ``read`` is a result as well."""
    random = np.random.default_rng(6)
    given = {
        "w": random.standard_normal((5, 4) if transposed else (4, 5)).astype(np.float32),
        **{name: random.standard_normal(5).astype(np.float32) for name in ("mean", "gamma")},
        "variance": random.uniform(0.1, 2, 5).astype(np.float32),
        "beta": random.standard_normal(5).astype(np.float32),
    }
    builder = JobGraphBuilder("job", HOST)
    x = builder.input("x", TensorSpec((5, 4), "float32"))
    (y,) = builder.op("matmul", [x, builder.constant(given["w"])], transpose_b=transposed)
    made = {"product": y}
    if bias is not None:
        given["b"] = random.standard_normal(bias).astype(np.float32)
        terms = [y, builder.constant(given["b"])]
        (y,) = builder.op("add", terms[::-1] if bias_first else terms)
        made["sum"] = y
    vectors = [builder.constant(given[n]) for n in ("mean", "variance", "gamma", "beta")]
    (z,) = builder.op("normalization", [y, *vectors], axis=axis)
    builder.output("z", z)
    if read:
        builder.output(read, made[read])
    return builder.finish(), given


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("bias", [None, (), (5,), (1, 5), (5, 1), (5, 5)], ids=str)
@pytest.mark.parametrize("bias_first", [True, False])
def test_a_batch_norm_vanishes_into_a_product_of_matrices(
    bias: tuple[int, ...] | None, transposed: bool, bias_first: bool
) -> None:
    """A product and a sum remain, whatever was added before, with the numbers of the reference."""
    graph, given = multiplied(bias=bias, transposed=transposed, bias_first=bias_first)
    folded = fold_normalization(graph)
    verify_job_graph(folded, "fold_normalization")
    assert ops(folded) == ["matmul", "add"]
    x = np.random.default_rng(7).standard_normal((5, 4)).astype(np.float32)
    y = x @ (given["w"].T if transposed else given["w"]) + given.get("b", np.float32(0))
    vectors = [given[n] for n in ("mean", "variance", "gamma", "beta")]
    want = REFERENCE["normalization"](y, *vectors, **graph.ops[-1].call.attrs)
    np.testing.assert_allclose(run(folded, x=x)["z"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "how",
    [
        {"axis": 0},  # along the rows, which are not the weights'
        {"read": "product"},
        {"bias": (5,), "read": "product"},
        {"bias": (5,), "read": "sum"},
        {"bias": (2, 5, 5), "axis": 2},  # the sum is larger than the product
    ],
    ids=str,
)
def test_a_product_stays_where_others_need_it_or_it_has_other_columns(how: dict[str, Any]) -> None:
    """Nothing is folded, and the graph is the same."""
    graph, _ = multiplied(**how)
    assert fold_normalization(graph) is graph


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("variance", -1.0),
        ("variance", np.nan),
        ("mean", np.inf),
        ("gamma", np.nan),
        ("gamma", 3e38),  # finite, but not what the weights become
        ("beta", -np.inf),
        ("b", np.inf),
        ("w", np.nan),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_not_finite_stay_where_they_are(name: str, number: float) -> None:
    """Nothing is folded, and numpy warns of nothing: 0 times infinity would be a new NaN."""
    graph, given = convolved()
    broken = given[name].copy()
    broken.flat[0] = number
    constants = {
        tensor: broken if np.array_equal(value, given[name]) else value
        for tensor, value in graph.constants.items()
    }
    graph = replace(graph, constants=constants)
    assert fold_normalization(graph) is graph
