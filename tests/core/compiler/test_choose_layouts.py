"""Ops over images run in the format that their device prefers, and little is moved for that."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pytest
from plugin_ops import AddRelu, add_relu
from toy_backends import far, near

from headrace.compiler.pipeline import rewrite_job
from headrace.device import CHANNELS_FIRST, CHANNELS_LAST, DeviceEntry, KernelEntry, OpCall
from headrace.device.match import any_call
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph, JobGraphBuilder, OpEntry, Variable
from headrace.hookspecs import hookimpl
from headrace.initializer import initializer
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.sbp import NdSbp
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.oracle import compute

NEAR, FAR = Placement.of_device("near"), Placement.of_device("far")
OTHERS = (
    "add", "cast", "concat", "identity", "multiply", "reduce_mean", "relu", "reshape", "slice",
    "softmax", "transpose",
)  # fmt: skip
IMAGES = ("conv", "max_pool")
BOTH = (CHANNELS_FIRST, CHANNELS_LAST)
TO_LAST, TO_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def kernels(
    *ops: str, formats: tuple[str, ...] = BOTH, priority: int = 0, match: object = any_call
) -> tuple[KernelEntry, ...]:
    """Kernels of ``near``."""
    return tuple(
        KernelEntry("near", op, NumpyKernel, match, priority, formats)  # type: ignore[arg-type]
        for op in ops
    )


PREFER_LAST = (
    *kernels(*IMAGES, formats=(CHANNELS_FIRST,)),
    *kernels(*IMAGES, formats=(CHANNELS_LAST,), priority=1),
)


def device(*images: KernelEntry, others: tuple[str, ...] = OTHERS) -> BackendRegistry:
    """``near`` with these kernels; beside it ``far``, which knows channels first alone."""
    return BackendRegistry.from_modules(
        {"near": near(others, more=images or PREFER_LAST), "far": far((*OTHERS, *IMAGES))}
    )


class Net:
    """A net that is being written: ``net.relu(x)`` adds an op."""

    def __init__(self, *shape: int, dtype: str = "float32") -> None:
        self.builder = JobGraphBuilder("net", NEAR)
        self.x = self.builder.input("x", TensorSpec(shape, dtype))

    def op(self, op: str, *inputs: Tensor, **attrs: object) -> Tensor:
        return self.builder.op(op, inputs, attrs=attrs)[0]

    def conv(self, x: Tensor, channels: int = 4, **attrs: object) -> Tensor:
        """A convolution of 3 x 3 that keeps the size, with a constant weight."""
        weight = self.builder.constant(numbers(channels, x.spec.shape[1], 3, 3))
        return self.op("conv", x, weight, pads=(1, 1, 1, 1), **attrs)

    def pool(self, x: Tensor) -> Tensor:
        return self.op("max_pool", x, kernel=(2, 2))

    def done(self, *results: Tensor) -> JobGraph:
        for number, tensor in enumerate(results):
            self.builder.output(f"y{number}", tensor)
        return self.builder.finish()


def numbers(*shape: int) -> Array:
    """Small integers: their sums are exact in any order."""
    return np.random.default_rng(7).integers(-4, 5, shape).astype(np.float32)


def wanted(graph: JobGraph, feeds: Mapping[str, Array], ops: BackendRegistry) -> dict[str, Array]:
    """What the oracle of each op gives, one after another."""
    values = {**graph.constants, **feeds}
    for op in graph.ops:
        given = [None if name is None else values[name] for name in op.inputs]
        values.update(zip(op.outputs, compute(op.call, given, ops), strict=False))
    return {name: values[tensor.name] for name, tensor in graph.outputs}


def rewritten(graph: JobGraph, registry: BackendRegistry, **feeds: Array) -> list[str]:
    """Compile, run, and compare with the oracle; what was made of the job, one word for each op.

    The name of the op; for one over images with ``*`` when it is channels last.
    """
    specs = {t.name: t.spec for t in graph.inputs}
    given = {n: numbers(*s.shape).astype(s.dtype.numpy) for n, s in specs.items()} | feeds
    with CompiledJob(graph, registry) as job:
        results = job.run(given)
    for name, value in wanted(graph, given, registry).items():
        np.testing.assert_allclose(results[name], value, rtol=1e-6)
    return said(rewrite_job(graph, registry).graph)


def said(graph: JobGraph) -> list[str]:
    return [
        op.call.op + "*" * (op.call.attrs.get("data_format") == CHANNELS_LAST) for op in graph.ops
    ]


def test_what_stands_between_is_taken_along() -> None:
    """One transpose goes in and one comes out; weights are turned before anything runs."""
    net = Net(2, 3, 5, 5)
    a = net.op("relu", net.conv(net.x))
    b = net.op("add", net.conv(net.pool(a)), net.builder.constant(numbers(4, 1, 1)))
    graph = net.done(net.op("softmax", b, axis=1))
    assert rewritten(graph, device()) == [
        "transpose", "conv*", "relu", "max_pool*", "conv*", "transpose", "add", "softmax",
    ]  # fmt: skip


@pytest.mark.parametrize("formats", [(CHANNELS_FIRST,), BOTH])
def test_a_device_that_prefers_nothing_gets_the_job_as_it_is(formats: tuple[str, ...]) -> None:
    """Not an op and not a name of it changes, in either format that it computes."""
    net = Net(1, 3, 4, 4)
    graph = net.done(net.op("relu", net.conv(net.x)))
    registry = device(*kernels(*IMAGES, formats=formats))
    assert rewrite_job(graph, registry).graph.ops == graph.ops
    assert rewritten(graph, registry) == ["conv", "relu"]


def test_what_is_written_channels_last_runs_channels_first_where_that_is_all_there_is() -> None:
    """With its transposes outside, not around each op."""
    net = Net(1, 4, 4, 3)
    weights = [net.builder.constant(numbers(3, 3, 3, 3)) for _ in range(2)]
    y = net.x
    for weight in weights:
        y = net.op("relu", net.op("conv", y, weight, pads=(1,) * 4, data_format=CHANNELS_LAST))
    registry = device(*kernels("conv", formats=(CHANNELS_FIRST,)))
    assert rewritten(net.done(y), registry) == [
        "transpose", "conv", "relu", "conv", "transpose", "relu"
    ]  # fmt: skip


def test_transposes_of_the_job_become_part_of_it() -> None:
    """Around a net that was exported from another format, there are none in the end."""
    net = Net(1, 4, 4, 3)
    first = net.op("transpose", net.x, perm=TO_FIRST)
    y = net.op("relu", net.conv(net.op("identity", first)))
    assert rewritten(net.done(net.op("transpose", y, perm=TO_LAST)), device()) == [
        "identity", "conv*", "relu",
    ]  # fmt: skip


def test_a_transpose_that_somebody_needs_stays_under_its_name() -> None:
    """It is read plain, and what it reads is there plain."""
    net = Net(1, 3, 4, 4)
    turned = net.builder.op("transpose", [net.x], name="turned", attrs={"perm": (3, 2, 1, 0)})[0]
    graph = net.done(net.conv(net.x), net.op("reshape", turned, shape=(48,)))
    assert rewritten(graph, device()) == ["transpose", "conv*", "transpose", "reshape", "transpose"]
    assert "turned" in {op.call.name for op in rewrite_job(graph, device()).graph.ops}


def test_two_that_read_a_tensor_in_one_order_share_it() -> None:
    """Also when an op that does not mind stands before each."""
    net = Net(1, 3, 4, 4)
    a, b = net.conv(net.op("relu", net.x)), net.conv(net.op("identity", net.x))
    assert rewritten(net.done(net.op("add", a, b)), device()).count("transpose") == 2


def test_the_smaller_tensor_is_moved() -> None:
    """Before the cast that makes it four times as large; after the mean of it, when nothing is."""
    net = Net(1, 3, 4, 4, dtype="uint8")
    images = net.conv(net.op("cast", net.x, dtype="float32"))
    mean = net.op("reduce_mean", images, axes=(2, 3), keep_dims=True)
    assert rewritten(net.done(net.op("reshape", mean, shape=(1, 4))), device()) == [
        "transpose", "cast", "conv*", "reduce_mean", "reshape",
    ]  # fmt: skip


def test_a_plain_tensor_of_the_same_size_is_not_moved_for_nothing() -> None:
    """What comes out of a convolution is moved where it meets another one that stays plain."""
    net = Net(1, 3, 4, 4)
    other = net.builder.input("other", TensorSpec((1, 4, 4, 4), "float32"))
    graph = net.done(net.op("add", net.conv(net.x), other))
    assert rewritten(graph, device()) == ["transpose", "conv*", "transpose", "add"]


def test_axes_are_renamed() -> None:
    """Of joins, cuts and means along channels."""
    net = Net(1, 3, 4, 4)
    y = net.conv(net.x)
    joined = net.op("concat", y, net.op("relu", y), axis=-3)
    cut = net.op("slice", joined, axes=(1,), starts=(2,), ends=(7,))
    graph = net.done(net.op("reduce_mean", cut, axes=(1,)))
    assert rewritten(graph, device()) == [
        "transpose", "conv*", "relu", "concat", "slice", "reduce_mean",
    ]  # fmt: skip
