"""Ops that plugins bring: used by name, checked, decomposed where their device is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from plugin_ops import AddRelu, add_relu, hello
from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.device import KernelEntry
from headrace.errors import (
    DeviceUnavailableError,
    UnknownOpError,
)
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder, OpEntry
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Input, Op
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)
SPEC = TensorSpec.of(X)


def registry_of(*rewrites: Callable[[JobGraph], JobGraph], **more: Any) -> BackendRegistry:
    return BackendRegistry.from_modules({"hello": hello(*rewrites, **more), "near": near()})


def test_headrace_ops_are_used_by_name() -> None:
    """A job applies a plugin's op with its attributes, on its device and on another."""
    with flow.Session(registry_of()) as session:

        @flow.global_function(session=session)
        def fused(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:  # type: ignore[valid-type]
            with flow.scope.placement("hello", "0:0"):
                return cast(tp.Numpy, flow.apply_op("hello.add_relu", [x, x], gain=2.0))

        np.testing.assert_array_equal(fused(X), [4, 0, 12])


def test_headrace_ops_run_elsewhere_by_decomposition() -> None:
    """A device that has no kernel for a plugin's op runs it in simpler ops."""
    registry = BackendRegistry.from_modules(
        {"hello": hello(), "near": near(("add", "relu", "multiply"))}
    )
    builder = JobGraphBuilder("job", Placement.of_device("near"), ops=registry)
    x = builder.input("x", SPEC)
    builder.output("y", builder.op("hello.add_relu", [x, x], gain=3.0)[0])
    with CompiledJob(builder.finish(), registry) as compiled:
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], [6, 0, 18])


def test_headrace_ops_of_constants_are_folded() -> None:
    """With a numpy computation an op of constants leaves a constant; without, it is left alone."""
    for compute, left in ((add_relu, []), (None, ["hello.add_relu"])):
        registry = registry_of(ops=[OpEntry("hello", AddRelu, compute)])
        builder = JobGraphBuilder("job", Placement.of_device("hello"), ops=registry)
        one = builder.constant(X)
        (made,) = builder.op("hello.add_relu", [one, one])
        assert [op.call.op for op in builder.finish().ops] == left
        value = builder.value(made)
        assert value is None if left else np.array_equal(value, [2, 0, 6])  # type: ignore[arg-type]


def test_an_unknown_op_of_a_plugin_names_the_nearest() -> None:
    """A misspelt op and an op of a plugin that is not there are told apart."""
    registry = registry_of()
    with pytest.raises(UnknownOpError, match=r"did you mean hello\.add_relu"):
        registry.op("hello.add_rleu")
    with pytest.raises(DeviceUnavailableError, match="strange"):
        registry.op("strange.add_relu")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("relu", "the name must be 'hello.' and a word"),
        ("other.relu", "the name must be 'hello.' and a word"),
        ("hello.", "the name must be 'hello.' and a word"),
        ("hello.a.b", "the name must be 'hello.' and a word"),
        (None, "an op called None"),
    ],
)
def test_headrace_ops_have_names_of_their_own(name: object, message: str) -> None:
    """No plugin takes a name of core or of another plugin."""
    op = type("Strange", (AddRelu,), {"name": name})
    registry = registry_of(ops=[OpEntry("hello", op)])
    with pytest.raises(DeviceUnavailableError, match=message):
        registry.backend("hello")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([OpEntry("hello", 7)], "a subclass of headrace.ops.Op"),  # type: ignore[arg-type]
        ([OpEntry("hello", AddRelu), OpEntry("hello", AddRelu)], "twice"),
        ([OpEntry("hello", AddRelu, 7)], "cannot be called"),  # type: ignore[arg-type]
        ([OpEntry("hello", type("Raw", (Op,), {"name": "hello.raw"}))], "has no infer"),
        (
            [OpEntry("hello", type("Raw", (AddRelu,), {"inputs": Input("x")}))],
            "must be a tuple of Input",
        ),
    ],
)
def test_headrace_ops_are_checked(entries: list[OpEntry], message: str) -> None:
    """A wrong record is told when the plugin loads."""
    with pytest.raises(DeviceUnavailableError, match=message):
        registry_of(ops=entries).backend("hello")


def test_kernels_for_ops_of_other_plugins() -> None:
    """A kernel for an op of a plugin that is not installed harms nobody; a misspelt one is told."""
    other = KernelEntry("hello", "absent.op", NumpyKernel)
    assert registry_of(kernels=[other]).backend("hello").kernels.entries("absent.op")
    wrong = KernelEntry("hello", "hello.add_rleu", NumpyKernel)
    with pytest.raises(DeviceUnavailableError, match=r"did you mean 'hello\.add_relu'"):
        registry_of(kernels=[wrong]).backend("hello")
