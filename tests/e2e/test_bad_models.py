"""Malformed and hostile model files: each is a clear error or a right answer, at little cost.

The files are made here, one or more for each way in which a model can be wrong. None may crash,
hang, read outside the model's folder, or take memory that it only claims to need.
"""

from __future__ import annotations

import contextlib
import itertools
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from headrace.errors import HeadraceError, ModelError, ResourceLimitError, RunError
from headrace.onnx import load

X = np.arange(6, dtype=np.float32).reshape(2, 3)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """What a file claims to need is not allocated: a test stays under 64 MiB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def info(name: str, shape: Sequence[int] | None = (2, 3), kind: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    *nodes: NodeProto, inputs: Sequence[ValueInfoProto] = (info("x"),), **weights: Any
) -> ModelProto:
    """A model from x to y."""
    tensors = [
        w if isinstance(w, TensorProto) else numpy_helper.from_array(np.asarray(w), name)
        for name, w in weights.items()
    ]
    graph = helper.make_graph(list(nodes), "g", list(inputs), [info("y", None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def changed(change: Callable[[ModelProto], Any]) -> ModelProto:
    made = model(node("Relu", ["x"], ["y"]))
    change(made)
    return made


def graph(*nodes: NodeProto, output: str = "o") -> GraphProto:
    return helper.make_graph(list(nodes), "inner", [], [info(output, None)])


def weight(**fields: Any) -> ModelProto:
    """A model that adds a weight whose description is given field by field."""
    tensor = TensorProto(**{"name": "w", "dims": [2, 3], "data_type": FLOAT, **fields})
    return model(node("Add", ["x", "w"], ["y"]), w=tensor)


def external(location: str, **entries: Any) -> ModelProto:
    made = weight(data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        made.graph.initializer[0].external_data.add(key=key, value=str(value))
    return made


def set_versions(**versions: int) -> ModelProto:
    def change(made: ModelProto) -> None:
        made.ir_version = versions.get("ir", 8)
        made.opset_import[0].version = versions.get("opset", 17)

    return changed(change)


def run(source: bytes | ModelProto, folder: Path, device: str, **feeds: Any) -> dict[str, Any]:
    path = folder / "bad.onnx"
    path.write_bytes(source if isinstance(source, bytes) else source.SerializeToString())
    with load(path, device) as loaded:
        return loaded.run(feeds or {"x": X})


GOOD = model(node("Relu", ["x"], ["y"])).SerializeToString()
RELU = graph(node("Relu", ["x"], ["o"]))

NO_MODELS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"not a model at all\n" * 40, "not an ONNX model"),
    "html": (b"<html><body>404 Not Found</body></html>", "HTML"),
    "zip": (b"PK\x03\x04\x14\x00" + bytes(60), "zip"),
    "lfs-pointer": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs"),
    "random": (np.random.default_rng(0).bytes(4096), "not an ONNX model"),
    "first-half": (GOOD[: len(GOOD) // 2], "not an ONNX model"),
    "last-byte-missing": (GOOD[:-1], "not an ONNX model"),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_a_file_that_is_no_model_is_told_by_its_name(
    name: str, tmp_path: Path, device: str
) -> None:
    """The error names the file and says what it looks like."""
    data, says = NO_MODELS[name]
    with pytest.raises(ModelError, match=rf"bad\.onnx: .*{says}"):
        run(data, tmp_path, device)


def test_flipped_bits_are_an_error_or_an_answer(tmp_path: Path, device: str) -> None:
    """Whichever bit of a file is wrong, nothing but an error of ours comes out."""
    for position in range(len(GOOD) * 8):
        data = bytearray(GOOD)
        data[position // 8] ^= 1 << position % 8
        with contextlib.suppress(HeadraceError):
            run(bytes(data), tmp_path, device)


BAD: dict[str, tuple[ModelProto, str]] = {
    "opset-9999": (set_versions(opset=9999), "9999"),
    "opset-0": (set_versions(opset=0), "operator set 0"),
    "ir-999": (set_versions(ir=999), "999"),
    "no-opset": (changed(lambda m: m.ClearField("opset_import")), "operator set"),
    "no-graph": (changed(lambda m: m.ClearField("graph")), "no graph"),
    "no-outputs": (changed(lambda m: m.graph.ClearField("output")), "no outputs"),
    "cycle": (
        model(
            node("Add", ["x", "b"], ["a"]),
            node("Neg", ["a"], ["b"]),
            node("Neg", ["b"], ["y"]),
        ),
        "Add makes 'a' of 'b', Neg makes 'b' of 'a'",
    ),
    "self-loop": (model(node("Add", ["x", "y"], ["y"])), "Add makes 'y' of 'y'"),
    "undefined-input": (model(node("Add", ["x", "q"], ["y"])), "'q'"),
    "duplicate-output": (model(*[node("Relu", ["x"], ["y"])] * 2), "'y'"),
    "duplicate-input": (model(node("Relu", ["x"], ["y"]), inputs=[info("x")] * 2), "two inputs"),
    "missing-output": (model(node("Relu", ["x"], ["z"])), "'y'"),
    "unknown-op": (model(node("Reluu", ["x"], ["y"])), "Reluu.*Relu"),
    "unknown-domain": (model(node("Fused", ["x"], ["y"], domain="acme")), "'acme': 'Fused'"),
    "too-many-inputs": (model(node("Relu", ["x", "x"], ["y"])), "has 1 inputs"),
    "too-few-inputs": (model(node("Add", ["x"], ["y"])), "has 2 inputs"),
    "missing-attribute": (model(node("Concat", ["x", "x"], ["y"])), "'axis'"),
    "mistyped-attribute": (model(node("Concat", ["x", "x"], ["y"], axis="0")), "'axis'"),
    "unknown-attribute": (model(node("Relu", ["x"], ["y"], alpha=1.0)), "'alpha'"),
    "axis-out-of-range": (model(node("Softmax", ["x"], ["y"], axis=7)), "7"),
    "raw-short": (weight(raw_data=bytes(8)), "24 bytes"),
    "raw-long": (weight(raw_data=bytes(400)), "24 bytes"),
    "dims-2^40": (weight(dims=[1 << 20, 1 << 20], raw_data=bytes(24)), "4398046511104"),
    "dims-overflow": (weight(dims=[1 << 62, 1 << 62], raw_data=bytes(24)), "initializers take"),
    "dims-many": (weight(dims=[1] * 100 + [2, 3], raw_data=bytes(24)), "has rank 102"),
    "dims-negative": (weight(dims=[-2, -3], raw_data=bytes(24)), "negative"),
    "dtype-0": (weight(data_type=0, raw_data=bytes(24)), "not given"),
    "dtype-250": (weight(data_type=250, raw_data=bytes(24)), "250"),
    "constant-bomb": (
        model(
            node("ConstantOfShape", ["s"], ["k"]),
            node("ReduceSum", ["k"], ["r"]),
            node("Add", ["x", "r"], ["y"]),
            s=np.array([1 << 20, 1 << 20]),
        ),
        "4398046511104",
    ),
    "expand-bomb": (
        model(node("Expand", ["x", "s"], ["y"]), s=np.array([1 << 18, 1 << 18, 2, 3])),
        "node making 'y'",
    ),
    "resize-bomb": (
        model(
            node("Resize", ["x", "", "s"], ["y"], mode="nearest"),
            inputs=[info("x")],
            s=np.array([1e6, 1e6], np.float32),
        ),
        "node making 'y'",
    ),
    "pad-bomb": (
        model(node("Pad", ["x", "p"], ["y"]), p=np.array([1 << 40, 0, 0, 0])), "node making 'y'"
    ),
    "range-bomb": (
        model(
            node("Range", ["a", "b", "c"], ["k"]),
            node("ReduceSum", ["k"], ["r"]),
            node("Add", ["x", "r"], ["y"]),
            a=np.float32(0), b=np.float32(1e30), c=np.float32(1),
        ),
        "node making 'k'",
    ),
    "reshape-impossible": (model(node("Reshape", ["x", "s"], ["y"]), s=np.array([5])), "Reshape"),
    "matmul-mismatch": (model(node("MatMul", ["x", "x"], ["y"])), "MatMul"),
    "mixed-dtypes": (model(node("Add", ["x", "w"], ["y"]), w=np.ones((2, 3))), "float64"),
    "group-wrong": (
        model(
            node("Conv", ["x", "w"], ["y"], group=3), inputs=[info("x", (1, 4, 8, 8))],
            w=np.ones((4, 2, 3, 3), np.float32),
        ),
        "Conv",
    ),
    "stride-0": (
        model(
            node("Conv", ["x", "w"], ["y"], strides=[0, 0]), inputs=[info("x", (1, 4, 8, 8))],
            w=np.ones((4, 4, 3, 3), np.float32),
        ),
        "strides",
    ),
    "kernel-too-big": (
        model(node("MaxPool", ["x"], ["y"], kernel_shape=[9, 9]), inputs=[info("x", (1, 1, 3, 3))]),
        "MaxPool",
    ),
    "if-without-else": (
        model(node("If", ["c"], ["y"], then_branch=RELU), c=np.bool_(True)),
        "else_branch",
    ),
    "loop-without-bounds": (model(node("Loop", ["", "", "x"], ["y"], body=RELU)), "Loop"),
    "external-parent": (external("../secret.bin"), "inside the model's folder"),
    "external-absolute": (external("/dev/zero"), "inside the model's folder"),
    "external-missing": (external("missing.bin"), "missing.bin"),
    "external-length": (external("good.bin", length=1 << 52), "4503599627370496"),
    "external-offset": (external("good.bin", offset=-8), "-8"),
    "external-past-end": (external("good.bin", offset=8), "past the end"),
}  # fmt: skip


def feeds_of(source: ModelProto) -> dict[str, Any]:
    shapes = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in source.graph.input
    }
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_is_refused(name: str, tmp_path: Path, device: str) -> None:
    """The error is of the model or of a limit, and names the file and what is wrong."""
    source, says = BAD[name]
    (tmp_path / "good.bin").write_bytes(X.tobytes())
    with pytest.raises((ModelError, ResourceLimitError), match=rf"bad\.onnx.*{says}"):
        run(source, tmp_path, device, **feeds_of(source))


def test_indices_out_of_range_read_nothing(tmp_path: Path, device: str) -> None:
    """A gather past the end is an error, whether the index is a weight or is fed."""
    gather = node("Gather", ["x", "i"], ["y"])
    with pytest.raises((ModelError, RunError), match=r"bad\.onnx.*99"):
        run(model(gather, i=np.array([99])), tmp_path, device)
    fed = model(gather, inputs=[info("x"), info("i", [1], INT64)])
    with pytest.raises((ModelError, RunError), match=r"bad\.onnx.*99"):
        run(fed, tmp_path, device, x=X, i=np.array([99]))


def test_a_declared_shape_that_lies_changes_nothing(tmp_path: Path, device: str) -> None:
    """Shapes are computed; what the file says of an output is not believed."""
    lying = changed(lambda m: m.graph.output[0].CopyFrom(info("y", (7, 9))))
    assert run(lying, tmp_path, device)["y"].shape == (2, 3)


def chain(length: int) -> ModelProto:
    names = ["x", *(f"t{i}" for i in range(length - 1)), "y"]
    return model(*(node("Neg", [a], [b]) for a, b in itertools.pairwise(names)))


def test_long_and_wide_graphs_run(tmp_path: Path, device: str) -> None:
    """A chain of 1,000 nodes, and a node that reads 1,000: neither recursion nor squares."""
    np.testing.assert_array_equal(run(chain(1000), tmp_path, device)["y"], X)
    names = [f"t{i}" for i in range(1000)]
    wide = model(*(node("Neg", ["x"], [name]) for name in names), node("Sum", names, ["y"]))
    np.testing.assert_array_equal(run(wide, tmp_path, device)["y"], -1000 * X)


@pytest.mark.parametrize("name", ["../../x", 'a"b', "输出‮😀", "n" * 1_000_000, "\x07\n"])
def test_odd_names_are_names(name: str, tmp_path: Path, device: str) -> None:
    """A name is never a path, a format or a line of a message."""
    source = model(node("Neg", ["x"], [name]), node("Neg", [name], ["y"]))
    np.testing.assert_array_equal(run(source, tmp_path, device)["y"], X)


def test_nodes_out_of_order_and_special_values_run(tmp_path: Path, device: str) -> None:
    """Order does not matter, and NaN and infinity are numbers like others."""
    values = np.array([[np.nan, np.inf, -np.inf]], np.float32)
    source = model(node("Neg", ["t"], ["y"]), node("Add", ["x", "w"], ["t"]), w=values)
    np.testing.assert_array_equal(run(source, tmp_path, device)["y"], -(X + values))


def test_the_device_is_usable_after_every_error(tmp_path: Path, device: str) -> None:
    """Bad models leave nothing behind."""
    for source, _ in BAD.values():
        with pytest.raises(HeadraceError):
            run(source, tmp_path, device, **feeds_of(source))
    np.testing.assert_array_equal(run(GOOD, tmp_path, device)["y"], X)
