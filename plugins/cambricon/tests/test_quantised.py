"""Convolution and matrix product in integers, within the first port's tolerance of float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.errors import SettingError
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec
from headrace.testing import OpenedDevice
from headrace_cambricon.kernels.quantised import VARIABLE, quantised_entries

LARGEST = {"int8": 2e-2, "int16": 1e-4}
"""How far a result may be off, as a part of the largest; the port allowed a tenth of each."""


def floats(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def convolved(x: np.ndarray, weight: np.ndarray, stride: int) -> np.ndarray:
    """A convolution without padding, in float64; x [n, h, w, c], weight [m, h, w, c]."""
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (1, 2))
    return np.einsum("nyxcij,mijc->nyxm", windows[:, ::stride, ::stride], weight)


def run(monkeypatch: pytest.MonkeyPatch, dtype: str, op: str, *arrays: np.ndarray, **attrs: Any):
    monkeypatch.setenv(VARIABLE, dtype)
    specs = [TensorSpec.of(array) for array in arrays]
    call = make_call(get_op(op), op, specs, attrs)
    (entry,) = [e for e in quantised_entries("cambricon") if e.op == op and e.match(call)][:1]
    kernel = entry.create(call)
    with OpenedDevice("cambricon:0") as opened:
        context, y = opened.compute(), opened.allocate(call.outputs[0].nbytes)
        inputs = [opened.upload(array) for array in arrays]
        space = opened.allocate(kernel.workspace_bytes())
        launch = kernel.bind(context, inputs, [y], space)
        for _ in range(2):  # bound once, launched again
            launch()
            context.synchronize()
        return opened.download(y, call.outputs[0])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("shape", "stride"), [((1, 224, 224, 3), 2), ((3, 11, 11, 3), 1)])
def test_convolution_is_near_that_of_floats(
    monkeypatch: pytest.MonkeyPatch, dtype: str, shape: tuple[int, ...], stride: int
) -> None:
    """At the shapes of the port's own test."""
    x, weight = floats(1, *shape), floats(2, 1, 3, 3, 3)
    attrs = {"strides": (stride, stride), "data_format": "channels_last"}
    got, want = run(monkeypatch, dtype, "conv", x, weight, **attrs), convolved(x, weight, stride)
    assert np.abs(got - want).max() <= LARGEST[dtype] * np.abs(want).max()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_product_is_near_that_of_floats(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    """At the shape of the port's own test."""
    a, b = floats(1, 1, 2048), floats(2, 1000, 2048)
    got = run(monkeypatch, dtype, "matmul", a, b, transpose_b=True)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(got - want).max() <= LARGEST[dtype] * np.abs(want).max()


def test_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With those that there are."""
    monkeypatch.setenv(VARIABLE, "int4")
    with pytest.raises(SettingError, match="is 'int4'; it must be int8 or int16"):
        list(quantised_entries("cambricon"))


def test_floats_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gets rougher numbers without asking."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert list(quantised_entries("cambricon")) == []
