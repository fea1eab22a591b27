"""Tensors of a file as arrays: every dtype, every field, and headers that lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from headrace.errors import InvalidModelError, ModelError, ResourceLimitError, UnsupportedModelError
from headrace.onnx.file.read import read_model
from headrace.onnx.file.tensors import sparse_to_array, to_array

DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "int4", "uint4", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


def values(name: str) -> Any:
    dtype = np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))
    signed = name[0] not in "ub" or name == "bfloat16"
    return np.array([0, 1, -2 if signed else 2, 5, 7], np.float32).astype(dtype)


def tensor(**fields: Any) -> TensorProto:
    return TensorProto(**{"dims": [2], "data_type": TensorProto.FLOAT, **fields})


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_every_dtype_is_read_from_both_kinds_of_fields(name: str, raw: bool) -> None:
    """Raw bytes and typed fields give the same elements."""
    expected = values(name)
    kind = helper.np_dtype_to_tensor_dtype(expected.dtype)
    if raw:
        proto = numpy_helper.from_array(expected)
        assert proto.HasField("raw_data")
    else:
        proto = helper.make_tensor("t", kind, [5], expected)
        assert not proto.raw_data
    array = to_array(proto, "t", None)
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array.astype(np.float64), expected.astype(np.float64))


def test_raw_bytes_of_a_bool_are_truth_values() -> None:
    """A byte that is neither 0 nor 1 would be a bool that equals neither True nor False."""
    array = to_array(tensor(data_type=TensorProto.BOOL, raw_data=b"\x00\x02"), "t", None)
    assert array.view(np.uint8).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"raw_data": b"\0" * 7}, "takes 8 bytes and raw_data has 7"),
        ({"raw_data": b"\0" * 12}, "takes 8 bytes and raw_data has 12"),
        ({"float_data": [1.0]}, "takes 2 elements and float_data has 1"),
        ({"int64_data": [1, 2]}, "are in float_data"),
        ({"float_data": [1, 2], "raw_data": b"\0" * 8}, "both raw_data and float_data"),
        ({"dims": [-2], "raw_data": b"\0" * 8}, "negative dimension"),
        ({"dims": [1 << 62, 1 << 62], "raw_data": b"\0" * 8}, "takes 8507059173023461586"),
        ({"data_type": 250}, "no data type 250"),
        ({"data_type": 0}, "not given"),
        ({"data_type": TensorProto.UINT8, "int32_data": [1, 256]}, "no uint8"),
    ],
)
def test_a_header_that_lies_is_refused(fields: dict[str, Any], says: str) -> None:
    """What the header asks for and what is there must agree, before anything is allocated."""
    with pytest.raises(InvalidModelError, match=says):
        to_array(tensor(**fields), "t", None)


def test_dtypes_that_headrace_lacks_are_named() -> None:
    """Strings are no tensors here."""
    with pytest.raises(UnsupportedModelError, match="string"):
        to_array(tensor(data_type=TensorProto.STRING, string_data=[b"a", b"b"]), "t", None)


def test_a_sparse_tensor_becomes_dense() -> None:
    """Both forms of indices put values in their places; one outside is refused."""
    value = numpy_helper.from_array(np.array([5, 7], np.float32))
    flat = numpy_helper.from_array(np.array([1, 3], np.int64))
    pairs = numpy_helper.from_array(np.array([[0, 1], [1, 1]], np.int64))
    for indices in (flat, pairs):
        dense = sparse_to_array(
            SparseTensorProto(values=value, indices=indices, dims=[2, 2]), "t", None
        )
        assert dense.tolist() == [[0, 5], [0, 7]]
    with pytest.raises(InvalidModelError, match="outside"):
        sparse_to_array(SparseTensorProto(values=value, indices=flat, dims=[3]), "t", None)
    with pytest.raises(ResourceLimitError, match="over"):
        sparse_to_array(SparseTensorProto(values=value, indices=flat, dims=[1 << 40]), "t", None)


def external(location: str, **entries: Any) -> ModelProto:
    """A model that adds a weight of 24 bytes in an external file."""
    weight = TensorProto(name="w", dims=[2, 3], data_type=TensorProto.FLOAT)
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=str(value))
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [info], [out])
    graph.initializer.append(weight)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A model's folder with good data in it, and a secret beside it."""
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    data = np.arange(8, dtype="<f4").tobytes()
    (folder / "ok.bin").write_bytes(data)
    (folder / "sub/ok.bin").write_bytes(data)
    (tmp_path / "secret.bin").write_bytes(data)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "inner.bin").symlink_to(folder / "ok.bin")
    (folder / "linked").symlink_to(tmp_path)
    os.link(tmp_path / "secret.bin", folder / "hard.bin")
    os.mkfifo(folder / "pipe.bin")
    return folder


def read_external(home: Path, location: str, **entries: Any) -> Any:
    path = home / "model.onnx"
    path.write_bytes(external(location, **entries).SerializeToString())
    return read_model(path).weights["w"]


@pytest.mark.parametrize(
    ("location", "entries", "first"),
    [
        ("ok.bin", {}, 0),
        ("sub/ok.bin", {"offset": 8, "length": 24}, 2),
        ("./ok.bin", {"offset": 4}, 1),
        ("ok.bin", {"checksum": "abc", "__class__": "x"}, 0),
    ],
)
def test_external_data_is_read_in_the_models_folder(
    home: Path, location: str, entries: dict[str, Any], first: int
) -> None:
    """Offsets count, a missing length is what the tensor takes, and unknown keys mean nothing."""
    array = read_external(home, location, **entries)
    np.testing.assert_array_equal(array, first + np.arange(6, dtype=np.float32).reshape(2, 3))


def test_a_file_beside_a_model_is_opened_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tensors are in it; and closed when all of them are read."""
    names, opened = ["a", "b", "c"], list[int]()
    model = external("ok.bin")
    for index, name in enumerate(names):
        weight = model.graph.initializer.add()
        weight.CopyFrom(model.graph.initializer[0])
        weight.name = name
        weight.external_data.add(key="offset", value=str(4 * (index % 2)))
    (home / "model.onnx").write_bytes(model.SerializeToString())
    system_open = os.open

    def count(path: Any, *rest: int) -> int:
        descriptor = system_open(path, *rest)
        opened.extend([descriptor] * (Path(path).name == "ok.bin"))
        return descriptor

    monkeypatch.setattr(os, "open", count)
    weights = read_model(home / "model.onnx").weights
    for index, name in enumerate(names):
        wanted = index % 2 + np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(weights[name], wanted)
    (descriptor,) = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    ("location", "entries", "says"),
    [
        ("../secret.bin", {}, "not a path inside"),
        ("sub/../../secret.bin", {}, "not a path inside"),
        ("..\\secret.bin", {}, "not a path inside"),
        ("C:\\secret.bin", {}, "not a path inside"),
        ("/dev/zero", {}, "not a path inside"),
        ("", {}, "not a path inside"),
        ("ok.bin\0.png", {}, "not a path inside"),
        ("link.bin", {}, "symbolic link"),
        ("inner.bin", {}, "symbolic link"),
        ("linked/secret.bin", {}, "symbolic link"),
        ("hard.bin", {}, "hard links"),
        ("sub", {}, "no plain file|Is a directory"),
        ("pipe.bin", {}, "no plain file"),
        ("missing.bin", {}, "cannot be found"),
        ("http://host/ok.bin", {}, "cannot be found"),
        ("ok.bin", {"offset": -4}, "not a number of bytes"),
        ("ok.bin", {"offset": "x"}, "not a number of bytes"),
        ("ok.bin", {"offset": 12}, "past the end"),
        ("ok.bin", {"offset": 1 << 52}, "past the end"),
        ("ok.bin", {"length": 1 << 52}, "takes 24 bytes"),
        ("ok.bin", {"length": 20}, "takes 24 bytes"),
    ],
)
def test_external_data_elsewhere_is_not_read(
    home: Path, location: str, entries: dict[str, Any], says: str
) -> None:
    """No path, link or number leads out of the folder or past the end of a file."""
    with pytest.raises(InvalidModelError, match=says):
        read_external(home, location, **entries)


def test_a_model_in_memory_has_no_folder() -> None:
    """External data is never looked for in the current folder."""
    with pytest.raises(ModelError, match="load it by its path"):
        read_model(external("ok.bin"))
