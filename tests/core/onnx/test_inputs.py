"""What may be fed to a model, and the interface of ``onnx.backend``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import info, model, node

from headrace.errors import DeviceUnavailableError, InputError
from headrace.onnx import backend, load

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SUM = model([node("Add", "x z", "y")], [info("x", ["n", 3]), info("z", [])])
PLAIN = {"x": X, "z": np.ones((), np.float32)}
FIRST_OR_AGAIN = pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
"""A call that is like the one before takes a shorter way, which must see what is unlike."""


@pytest.mark.parametrize(
    "x",
    [
        X.astype(">f4"),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.flip(np.flip(X).copy()),
        np.broadcast_to(X[0], (2, 3)) + np.float32(0) * X,
        np.lib.stride_tricks.as_strided(X, writeable=False),
        np.frombuffer(b"\0" + X.tobytes(), "<f4", offset=1).reshape(2, 3),
    ],
    ids=["big-endian", "fortran", "strided", "negative-strides", "sum", "read-only", "unaligned"],
)
@FIRST_OR_AGAIN
def test_any_byte_order_and_layout_will_do(load_near: Any, x: Any, again: bool) -> None:
    """Arrays are brought into the order of the machine; what was fed is not written to."""
    before = x.copy()
    loaded = load_near(SUM)
    if again:
        loaded.run(PLAIN)
    result = loaded.run({"x": x, "z": np.ones((), np.float32)})["y"]
    np.testing.assert_array_equal(result, before + 1)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("feeds", "says"),
    [
        ({"x": X}, "'z' not given; the model's inputs are 'x', 'z'"),
        ({"x": X, "z": np.float32(1), "w": X}, "no input is called 'w'"),
        ({"X": X, "z": np.float32(1)}, "no input is called 'X'; 'x' not given"),
        ({"x": X.astype(np.float64), "z": np.float32(1)}, r"float64\[2, 3\].*float32\[n, 3\]"),
        (
            {"x": X[:, :2], "z": np.float32(1)},
            r"float32\[2, 2\] and the model takes float32\[n, 3\]",
        ),
        ({"x": X[0], "z": np.float32(1)}, r"float32\[3\] and the model takes"),
        ({"x": X, "z": np.ones(1, np.float32)}, r"float32\[1\] and the model takes float32\[\]"),
        ({"x": X.tolist(), "z": np.float32(1)}, "is of type list; give a numpy array"),
        ({"x": X, "z": 1.0}, "is of type float; give a numpy array"),
        ({"x": np.ma.masked_less(X, 2), "z": np.float32(1)}, "MaskedArray"),
        ({"x": X.astype(object), "z": np.float32(1)}, r"dtype\('O'\) is not a tensor dtype"),
        ({"x": X.astype(str), "z": np.float32(1)}, "not a tensor dtype"),
        ([X, np.float32(1)], "mapping"),
        (None, "mapping"),
    ],
)
@FIRST_OR_AGAIN
def test_what_does_not_fit_is_told(load_near: Any, feeds: Any, says: str, again: bool) -> None:
    """The error names the input, what was fed and what the model takes; the model stays usable."""
    loaded = load_near(SUM)
    if again:
        loaded.run(PLAIN)
    with pytest.raises(InputError, match=says):
        loaded.run(feeds)
    assert loaded.run({"x": X, "z": np.float32(0)})["y"].tolist() == X.tolist()


def test_calls_that_are_alike_are_run_each_for_itself(load_near: Any) -> None:
    """Same shapes, other values, also where the value of an input decides a shape."""
    loaded = load_near(SUM)
    for value in range(4):
        z = np.full((), value, np.float32)
        np.testing.assert_array_equal(loaded.run({"z": z, "x": X + value})["y"], X + 2 * value)
    grow = model([node("Tile", "x r", "y")], [info("x", ["n"]), info("r", [1], TensorProto.INT64)])
    loaded, x = load_near(grow), np.ones(2, np.float32)
    for times in (1, 1, 3, 2):
        assert loaded.run({"x": x, "r": np.array([times])})["y"].shape == (2 * times,)


def test_inputs_and_outputs_are_described(load_near: Any) -> None:
    """Named dimensions are names, unnamed ones and -1 are None, an unknown rank is no shape."""
    odd = info("x", [2, "n", None, 5])
    odd.type.tensor_type.shape.dim[3].dim_value = -1
    source = model([node("Add", "x w", "y")], [odd, info("w", None)], [info("y", None)])
    loaded = load_near(source)
    assert [(i.name, str(i.dtype), i.shape) for i in loaded.inputs] == [
        ("x", "float32", (2, "n", None, None)),
        ("w", "float32", None),
    ]
    assert str(loaded.inputs[0]) == "float32[2, n, ?, ?]"
    assert repr(loaded) == (
        "<Model model on near:0: ('x': float32[2, n, ?, ?], 'w': float32[...]) "
        "-> ('y': float32[...])>"
    )


def test_dtypes_that_numpy_lacks_go_in_and_out(load_near: Any) -> None:
    """bfloat16 is an array of ml_dtypes on both sides."""
    kind = TensorProto.BFLOAT16
    source = model([node("Identity", "x", "y")], [info("x", [3], kind)], [info("y", [3], kind)])
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    result = load_near(source).run({"x": x})["y"]
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == x.tolist()


def test_a_device_that_is_not_there_is_told_when_the_model_is_loaded(registry: Any) -> None:
    """Neither another device nor another index is taken instead."""
    with pytest.raises(DeviceUnavailableError, match="no backend 'nowhere'"):
        load(SUM, "nowhere", registry=registry)
    with pytest.raises(DeviceUnavailableError, match=r"no device near:7; .* has 2"):
        load(SUM, "near:7", registry=registry)


def test_importing_headrace_does_not_import_onnx() -> None:
    """Jobs in Python need no onnx, and do not wait for its import."""
    code = "import headrace, sys; assert not [m for m in sys.modules if m.split('.')[0] == 'onnx']"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_onnx_the_error_says_what_to_install(
    load_near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named in the form that can be typed, when a model has to be parsed."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'headrace\[onnx\]'"):
        load_near(SUM.SerializeToString())


def test_importing_headrace_onnx_does_not_import_onnx() -> None:
    """A model whose plans were kept runs without it."""
    code = "import headrace.onnx, sys; sys.exit('onnx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- onnx.backend ------------------------------------------------------------------------------


@pytest.fixture
def near_is_installed(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``onnx.backend`` takes no registry: put ours in the place of the installed plugins."""
    monkeypatch.setattr("headrace.onnx.model.default_registry", lambda: registry)
    monkeypatch.setattr("headrace.onnx.backend.default_registry", lambda: registry)


@pytest.mark.usefixtures("near_is_installed")
def test_a_prepared_model_takes_lists_in_graph_order() -> None:
    """Initializers are no inputs of ``run``, and numpy scalars are arrays."""
    source = model(
        [node("Add", "x z", "t"), node("Add", "t w", "y")],
        [info("w", []), info("x"), info("z", [])],
        weights={"w": np.float32(5)},
    )
    with backend.prepare(source, "NEAR").model as prepared:
        rep = backend.HeadraceRep(prepared)
        (y,) = rep.run([X, np.float32(1)])
        np.testing.assert_array_equal(y, X + 6)
        with pytest.raises(InputError, match="takes 2 inputs; 1 were given"):
            rep.run([X])
    (y,) = backend.run_model(source, {"x": X, "z": np.float32(2)}, "near:1")
    np.testing.assert_array_equal(y, X + 7)


@pytest.mark.usefixtures("near_is_installed")
def test_a_single_node_runs() -> None:
    """Dtypes and shapes come from the arrays; an input left out has no array."""
    (y,) = backend.run_node(node("Concat", "a b", "y", axis=1), [X, X], "near")
    assert y.shape == (2, 6)
    starts = np.array([1], np.int64)
    (y,) = backend.run_node(
        node("Slice", "a s e - -", "y"), [X, starts, starts + 1], "near", opset_version=13
    )
    assert y.tolist() == [[3, 4, 5]]


@pytest.mark.usefixtures("near_is_installed")
def test_devices_that_are_there_are_supported() -> None:
    """ONNX asks in capitals; an index must exist."""
    asked = ["near", "NEAR", "near:1", "near:2", "CUDA", "", "near:x"]
    assert [backend.supports_device(text) for text in asked] == [True, True, True, *[False] * 4]
