"""Convolution and matrix product in integers, within the first port's tolerance of float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.compiler.pipeline import compile_job
from headrace.errors import SettingError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import CORE_OPS, JobGraphBuilder
from headrace.ops import get_op, make_call
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace.testing import Case, OpenedDevice, check_case
from headrace.testing.oracle import compute
from headrace_cambricon.kernels.quantized import quantized_entries
from headrace_cambricon.quantization import VARIABLE, Quantization, fit, quantized

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
    (entry,) = [e for e in quantized_entries("cambricon") if e.op == op and e.match(call)][:1]
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
        list(quantized_entries("cambricon"))


def test_floats_are_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody gets rougher numbers without asking."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert {entry.op.split(".")[0] for entry in quantized_entries("cambricon")} == {"cambricon"}


PRODUCTS = {
    "conv": ((2, 9, 9, 3), (4, 3, 3, 3), {"data_format": "channels_last"}),
    "conv-channels-first": ((2, 3, 9, 9), (4, 3, 3, 3), {}),
    "matmul": ((5, 64), (64, 7), {}),
    "matmul-transposed": ((5, 64), (7, 64), {"transpose_b": True}),
}


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("which", PRODUCTS)
def test_a_constant_weight_is_made_integers_while_the_job_is_built(
    monkeypatch: pytest.MonkeyPatch, which: str, dtype: str
) -> None:
    """It lies in the plan as such, once, with what a card finds for it."""
    monkeypatch.setenv(VARIABLE, dtype)
    registry, (shape, weights, attrs) = BackendRegistry(), PRODUCTS[which]
    op, x, weight = which.split("-")[0], floats(1, *shape), floats(2, *weights)
    builder = JobGraphBuilder("product", Placement.of_device("cambricon:0"))
    fed, known = builder.input("x", TensorSpec.of(x)), builder.constant(weight)
    for name in ("y", "again"):
        builder.output(name, builder.op(op, [fed, known], **attrs)[0])
    graph = builder.finish()
    (stored,) = compile_job(graph, registry).constants.values()
    last = np.moveaxis(weight, 1, -1) if which == "conv-channels-first" else weight
    highest = np.iinfo(dtype).max
    assert stored.dtype == dtype
    assert np.abs(stored - last * (highest / np.abs(last).max())).max() <= 0.5 + 1e-3
    call = make_call(get_op(op), op, [TensorSpec.of(x), TensorSpec.of(weight)], attrs)
    absent = (None,) * (len(call.inputs) - 2)
    (want,) = compute(call, (x, weight, *absent), CORE_OPS)
    with CompiledJob(graph, registry) as compiled:
        got = compiled.run({"x": x})
    for result in got.values():
        assert np.abs(result - want).max() <= LARGEST[dtype] * np.abs(want).max()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("which", PRODUCTS)
def test_a_product_of_integers_means_what_it_decomposes_into(which: str, dtype: str) -> None:
    """So another device can run the job; what x loses on the card is within the tolerance."""
    shape, weights, attrs = PRODUCTS[which]
    random = np.random.default_rng(3)
    limits = np.iinfo(dtype)
    whole = random.integers(limits.min, limits.max, weights, dtype, endpoint=True)
    attrs = {**attrs, "position": -3, "scale": 1.25}
    op = f"cambricon.{which.split('-')[0]}"
    largest = float(limits.max)  # of the weights; sums of them are larger
    case = Case(which, op, (floats(1, *shape), whole), attrs, atol=LARGEST[dtype] * largest)
    check_case("cambricon:0", case)


def test_a_weight_of_zeros_stays_one() -> None:
    """There is no greatest magnitude to fit; nor is there in what is not finite."""
    zeros = np.zeros((3, 2), np.float32)
    assert fit(zeros, "int8") == Quantization(0, 1.0)
    assert not quantized(zeros, fit(zeros, "int8"), "int8").any()


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("greatest", [1e-20, 0.5, 0.99, 1.0, 127.0, 3e30])
def test_the_greatest_magnitude_is_the_greatest_integer(greatest: float, dtype: str) -> None:
    """And a position is an exponent: what is left to the scale is between one and two."""
    x = np.array([greatest, -greatest / 3], np.float32)
    meaning = fit(x, dtype)
    assert quantized(x, meaning, dtype)[0] == np.iinfo(dtype).max
    assert 0.99 < meaning.scale < 2
