"""Ops over images run in the format that their device prefers, and little is moved for that."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from plugin_ops import AddRelu, add_relu, hello
from toy_backends import far, near

from headrace.compiler.passes.choose_layouts import choose_layouts
from headrace.compiler.pipeline import rewrite_job
from headrace.data_format import Order
from headrace.device import CHANNELS_FIRST, CHANNELS_LAST, KernelEntry, OpCall, any_call
from headrace.errors import PluginError
from headrace.frontend.compiled_job import CompiledJob
from headrace.frontend.explain import explain_graph
from headrace.graph import JobGraph, JobGraphBuilder, OpEntry, Variable
from headrace.initializer import initializer
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Reordered, Tensor
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
TO_LAST, TO_FIRST, UPRIGHT = (0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2)


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
        "transpose", "conv*", "relu", "max_pool*", "conv*", "add", "softmax", "transpose",
    ]  # fmt: skip


def test_what_is_apart_from_images_stays_itself() -> None:
    """Not even the object of the op is another, beside a convolution that changes its format."""
    net = Net(1, 3, 4, 4)
    y = net.builder.input("y", TensorSpec((8, 5), "float32"))
    apart = net.op("softmax", net.op("relu", y), axis=0)
    graph = net.done(net.conv(net.x), apart)
    made = choose_layouts(graph, device())
    assert said(made) == ["relu", "softmax", "transpose", "conv*", "transpose"]
    assert made.ops[0] is graph.ops[0]
    assert made.ops[1] is graph.ops[1]


def test_ops_of_one_kind_are_written_in_two_formats() -> None:
    """Each is in the one that its device prefers, whichever the first of them has."""
    net = Net(1, 3, 4, 4)
    weight = net.builder.constant(numbers(3, 3, 3, 3))
    last = {"data_format": CHANNELS_LAST, "pads": (1, 1, 1, 1)}
    a = net.op("conv", net.op("transpose", net.x, perm=TO_LAST), weight, **last)
    b = net.conv(net.op("transpose", a, perm=TO_FIRST))
    assert rewritten(net.done(b), device()) == ["transpose", "conv*", "conv*", "transpose"]


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
        "transpose", "conv", "relu", "conv", "relu", "transpose"
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


def test_an_op_that_only_one_format_is_offered_for_runs_in_that() -> None:
    """Between others that run in the other one."""
    net = Net(1, 3, 4, 4)
    only = (
        *kernels("conv", formats=(CHANNELS_LAST,)),
        *kernels("max_pool", formats=(CHANNELS_FIRST,)),
    )
    graph = net.done(net.conv(net.pool(net.conv(net.x))))
    assert rewritten(graph, device(*only)) == [
        "transpose", "conv*", "transpose", "max_pool", "transpose", "conv*", "transpose"
    ]  # fmt: skip


def test_an_op_without_a_kernel_is_taken_along_if_what_it_is_said_in_has_some() -> None:
    """Here a sum of many, in sums of two."""
    net = Net(1, 3, 4, 4)
    y = net.conv(net.x)
    assert rewritten(net.done(net.conv(net.op("add_n", y, y, y))), device()) == [
        "transpose", "conv*", "add", "add", "conv*", "transpose"
    ]  # fmt: skip


def is_float(call: OpCall) -> bool:
    return call.input(0).dtype.name == "float32"


def is_joined_along_channels(call: OpCall) -> bool:
    return call.int_attr("axis") == 1


def is_a_known_turn(call: OpCall) -> bool:
    return call.ints_attr("perm") in (TO_LAST, TO_FIRST, UPRIGHT)


def without(op: str, *better: KernelEntry) -> BackendRegistry:
    return device(*PREFER_LAST, *better, others=tuple(name for name in OTHERS if name != op))


def test_a_device_that_cannot_transpose_keeps_the_format() -> None:
    """The job runs as it was written; but what has one channel lies alike in both formats."""
    wide, narrow = Net(1, 3, 4, 4), Net(1, 1, 4, 4)
    registry = without("transpose")
    assert rewritten(wide.done(wide.conv(wide.x)), registry) == ["conv"]
    assert rewritten(narrow.done(narrow.conv(narrow.x, channels=1)), registry) == [
        "reshape", "conv*", "reshape",
    ]  # fmt: skip


def test_what_a_device_cannot_transpose_is_not_taken_along() -> None:
    """Here bytes, which nobody could make plain again."""
    net = Net(1, 3, 4, 4)
    graph = net.done(net.op("cast", net.conv(net.x), dtype="int8"))
    registry = without("transpose", *kernels("transpose", match=is_float))
    assert rewritten(graph, registry) == ["transpose", "conv*", "transpose", "cast"]


def test_what_a_device_transposes_only_in_steps_goes_in_steps() -> None:
    """Through the plain order, which every format that was chosen is one step from."""
    net = Net(1, 3, 4, 4)
    turned = net.op("transpose", net.x, perm=UPRIGHT)
    graph = net.done(net.conv(turned))
    registry = without("transpose", *kernels("transpose", match=is_a_known_turn))
    assert rewritten(graph, registry) == ["transpose", "transpose", "conv*", "transpose"]
    back = Net(1, 3, 4, 4)
    graph = back.done(back.op("transpose", back.conv(back.x), perm=UPRIGHT))
    assert rewritten(graph, registry) == ["transpose", "conv*", "transpose", "transpose"]


@pytest.mark.parametrize("worse", [True, False])
def test_what_runs_worse_in_the_order_is_not_taken_along(worse: bool) -> None:
    """An op whose kernel is for one axis alone, or is better for it."""
    net = Net(1, 3, 4, 4)
    y = net.conv(net.x)
    graph = net.done(net.conv(net.op("concat", y, y, axis=1)))
    best = kernels("concat", match=is_joined_along_channels, priority=1)
    registry = device(*PREFER_LAST, *best) if worse else without("concat", *best)
    assert rewritten(graph, registry) == [
        "transpose", "conv*", "transpose", "concat", "transpose", "conv*", "transpose"
    ]  # fmt: skip


def test_explain_says_which_format_and_why() -> None:
    """Of ops over images whose device prefers one; of others there is nothing to say."""
    net = Net(1, 3, 4, 4)
    graph = net.done(net.op("relu", net.conv(net.x)))
    ops = explain_graph(graph, device()).ops
    assert {op.op.partition("(")[0]: op.data_format for op in ops} == {
        "transpose": "",
        "conv": "channels_last: a kernel of priority 1, and of 0 in channels_first",
        "relu": "",
    }
    stuck = explain_graph(graph, without("transpose")).ops
    assert stuck[0].data_format == (
        "channels_first: the device has no kernel to make it channels_last"
    )
    both = explain_graph(graph, device(*kernels(*IMAGES))).ops
    assert [op.data_format for op in both] == ["", ""]


def test_a_pool_gives_indices_in_the_order_of_the_job() -> None:
    """Its second result is moved like the first, and counts as before."""
    net = Net(1, 3, 4, 4)
    largest, where = net.builder.op(
        "max_pool", [net.conv(net.x)], outputs=2, attrs={"kernel": (2, 2)}
    )
    graph = net.done(largest, where)
    assert rewritten(graph, device()) == [
        "transpose", "conv*", "max_pool*", "transpose", "transpose"
    ]  # fmt: skip


def test_axes_of_one_come_and_go_in_any_order() -> None:
    """A reshape that only adds or drops them reads its other axes as they are."""
    net = Net(2, 3, 4, 4)
    y = net.op("max_pool", net.conv(net.x), kernel=(1, 4))
    line = net.op("relu", net.op("reshape", y, shape=(2, 4, 4)))
    z = net.conv(net.op("reshape", line, shape=(2, 4, 1, 4)))
    assert rewritten(net.done(z), device()) == [
        "transpose", "conv*", "max_pool*", "reshape", "relu", "reshape", "reshape", "conv*",
        "transpose",
    ]  # fmt: skip


def test_integers_are_convolved_in_the_format_too() -> None:
    """Bytes in, sums of 32 bits, zero points for each channel."""
    net = Net(1, 3, 4, 4, dtype="uint8")
    weight = net.builder.constant(numbers(4, 3, 3, 3).astype(np.int8))
    bias = net.builder.constant(np.arange(4, dtype=np.int32))
    zero = net.builder.constant(np.array(3, np.uint8))
    (sums,) = net.builder.op("conv_integer", [net.x, weight, bias, zero], pads=(1,) * 4)
    graph = net.done(net.op("cast", sums, dtype="float32"))
    registry = device(*kernels("conv_integer", formats=(CHANNELS_LAST,)))
    assert rewritten(graph, registry) == ["transpose", "conv_integer*", "cast", "transpose"]


def test_results_and_inputs_keep_their_order() -> None:
    """An input that is a result, a result that is read on, and one that is asked for twice."""
    net = Net(1, 3, 4, 4)
    y = net.conv(net.x)
    graph = net.done(net.x, y, net.conv(y), y)
    assert rewritten(graph, device()) == [
        "transpose", "conv*", "conv*", "transpose", "transpose"
    ]  # fmt: skip


def test_a_variable_is_read_and_updated_in_its_own_order() -> None:
    """Its weight is turned in each call, since nobody knows it before."""
    builder = JobGraphBuilder("steps", NEAR)
    x = builder.input("x", TensorSpec((1, 3, 4, 4), "float32"))
    spec = TensorSpec((3, 3, 1, 1), "float32")
    ones = initializer("constant", value=1.0)
    weight = builder.variable(Variable("w", spec, NEAR, NdSbp.broadcast(1), ones))
    (y,) = builder.op("conv", [x, weight])
    builder.update(weight, *builder.op("add", [weight, weight]))
    builder.output("y", y)
    graph, feed = builder.finish(), numbers(1, 3, 4, 4)
    total = np.broadcast_to(feed.sum(axis=1, keepdims=True), feed.shape)
    assert said(rewrite_job(graph, device()).graph) == [
        "transpose", "reshape", "conv*", "add", "transpose", "reshape"
    ]  # fmt: skip
    with CompiledJob(graph, device()) as job:
        for factor in (1, 2, 4):
            np.testing.assert_array_equal(job.run({"x": feed})["y"], factor * total)


def test_a_device_beside_it_gets_its_own_format() -> None:
    """Tensors cross in the order of the job, and ops of the other device stay as they are."""
    net = Net(1, 3, 4, 4)
    y = net.op("relu", net.conv(net.x))
    with net.builder.placed(FAR):
        z = net.op("relu", net.conv(y))
    assert rewritten(net.done(net.op("relu", net.conv(z))), device()) == [
        "transpose", "conv*", "relu", "transpose", "conv", "relu", "transpose", "conv*",
        "relu", "transpose",
    ]  # fmt: skip


def test_ops_shared_out_over_devices_are_each_in_the_format() -> None:
    """Each device moves its own part of what is fed; the result is moved when it is whole."""
    builder = JobGraphBuilder("net", Placement.parse("near", "0:0-1"))
    x = builder.input("x", TensorSpec((4, 3, 4, 4), "float32"))
    weight = builder.constant(numbers(4, 3, 3, 3))
    (y,) = builder.op("conv", [x, weight])
    builder.output("y", *builder.op("relu", [y]))
    words = rewritten(builder.finish(), device())
    assert [words.count(word) for word in ("conv*", "conv", "transpose")] == [2, 0, 3]


class AddReluAnywhere(AddRelu):
    """The same op, which says that it does not mind."""

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered:
        return Reordered(call.attrs, (order, order), (order,))


class AddReluAskew(AddRelu):
    """The same op, which is wrong about itself."""

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered:
        return Reordered(call.attrs, (order, order), ((0, 1, 2, 3),))


def between_convolutions(op: type[AddRelu]) -> tuple[JobGraph, BackendRegistry]:
    """A net with a plugin's op in it, and the plugin."""
    others = tuple(
        KernelEntry("hello", kernel.op, NumpyKernel, kernel.match, kernel.priority, formats)
        for kernel in (*PREFER_LAST, *kernels("transpose", "reshape"))
        for formats in [kernel.data_formats]
    )
    plugin = hello(ops=[OpEntry("hello", op, add_relu)], kernels=others)
    registry = BackendRegistry.from_modules({"hello": plugin})
    builder = JobGraphBuilder("net", Placement.of_device("hello"), ops=registry)
    x = builder.input("x", TensorSpec((1, 3, 4, 4), "float32"))
    weight = builder.constant(numbers(3, 3, 1, 1))
    (y,) = builder.op("conv", [x, weight])
    (y,) = builder.op("hello.add_relu", [y, y])
    builder.output("y", *builder.op("conv", [y, weight]))
    return builder.finish(), registry


@pytest.mark.parametrize(
    ("op", "made"),
    [
        (AddRelu, ["conv*", "transpose", "add_relu", "transpose", "conv*"]),
        (AddReluAnywhere, ["conv*", "add_relu", "conv*"]),
    ],
)
def test_an_op_of_a_plugin_is_taken_along_if_it_says_that_it_may(
    op: type[AddRelu], made: list[str]
) -> None:
    """Core knows of it what it says itself; one that says nothing reads its axes in order."""
    graph, registry = between_convolutions(op)
    words = [word.removeprefix("hello.") for word in rewritten(graph, registry)]
    assert words == ["transpose", *made, "transpose"]


def test_an_op_that_is_wrong_about_itself_is_found() -> None:
    """The message has the class, the orders, and what came of it."""
    graph, registry = between_convolutions(AddReluAskew)
    with pytest.raises(PluginError, match=r"AddReluAskew\.reordered says .* \(0, 1, 2, 3\) .* but"):
        rewrite_job(graph, registry)
