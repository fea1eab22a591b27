"""What the plugin offers: which kernel takes which call, and what each needs."""

import subprocess
import sys

import numpy as np
import pytest

from headrace.device import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    DeviceContext,
    HostAllocator,
    MemoryKind,
    OpCall,
)
from headrace.frontend.stages import stages_of
from headrace.graph.builder import JobGraphBuilder
from headrace.numpy_ops import FUNCTIONS, NumpyKernel, evaluate
from headrace.ops import get_op, make_call
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.tensor_spec import TensorSpec
from headrace_cpu import plugin
from headrace_cpu.kernels.conv import DepthwiseConv, Im2colConv
from headrace_cpu.kernels.conv_transpose import ConvTranspose
from headrace_cpu.kernels.elementwise import BiasAdd, Binary, Clip, Not, Unary
from headrace_cpu.kernels.integer_batch import PackingIntegerMatmul
from headrace_cpu.kernels.norm import InstanceNorm, Normalization
from headrace_cpu.kernels.pool import AvgPool, MaxPool
from headrace_cpu.kernels.product import PackingConv
from headrace_cpu.kernels.program import BiasAddStep, ClipStep, SingleOp
from headrace_cpu.kernels.recurrent import PackingRecurrent
from headrace_cpu.kernels.reduce import FoldRows
from headrace_cpu.kernels.rows import (
    BatchMatmul,
    FewRowMatmul,
    FoldEachRow,
    LayerNormRows,
    SoftmaxColumns,
    SoftmaxRows,
    VectorMatmul,
)


def call_of(op, *shapes, dtype="float32", **attrs) -> OpCall:
    specs = [None if shape is None else TensorSpec(shape, dtype) for shape in shapes]
    return make_call(get_op(op), op, specs, attrs)


def chosen(call: OpCall):
    """The class of the kernel that core takes: of those that match, the highest priority."""
    layout = call.attrs.get("data_format", CHANNELS_FIRST)
    entries = [e for e in plugin.headrace_kernels() if e.op == call.op and e.match(call)]
    entries = [entry for entry in entries if layout in entry.data_formats]
    best = max(entry.priority for entry in entries)
    (entry,) = (entry for entry in entries if entry.priority == best)
    return entry.create


def mixed_normalization() -> OpCall:
    """Statistics of another dtype than x, which the extension does not take."""
    specs = [TensorSpec(IMAGE, "float64"), *[TensorSpec((4,), "float32")] * 4]
    return make_call(get_op("normalization"), "normalization", specs, {})


IMAGE, WINDOW, LAST = (2, 4, 5, 6), {"kernel": (2, 2)}, {"data_format": CHANNELS_LAST}


@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (call_of("conv", IMAGE, (3, 1, 1, 6), **LAST), PackingConv),
        (call_of("conv", (1, 5, 6, 8), (8, 2, 2, 4), groups=2, **LAST), PackingConv),
        (call_of("conv", IMAGE, (3, 4, 1, 1)), Im2colConv),
        (call_of("conv", IMAGE, (3, 4, 1, 1), strides=(2, 1)), Im2colConv),
        (call_of("conv", IMAGE, (3, 4, 1, 1), pads=(0, 0, 0, 1)), Im2colConv),
        (call_of("conv", IMAGE, (3, 4, 3, 3), dtype="float64"), Im2colConv),
        (call_of("conv", IMAGE, (4, 2, 3, 3), groups=2), Im2colConv),
        (call_of("conv", IMAGE, (8, 1, 3, 3), groups=4), DepthwiseConv),
        (call_of("conv", IMAGE, (4, 1, 1, 1), groups=4), DepthwiseConv),
        (call_of("conv", IMAGE, (3, 4, 3, 3), dtype="float16"), NumpyKernel),
        (call_of("conv", IMAGE, (3, 4, 1, 1), dtype="bfloat16"), NumpyKernel),
        (call_of("conv_transpose", IMAGE, (4, 3, 2, 2)), ConvTranspose),
        (call_of("max_pool", IMAGE, **WINDOW), MaxPool),
        (call_of("max_pool", IMAGE, dtype="uint8", **WINDOW), MaxPool),
        (call_of("max_pool", IMAGE, dtype="uint16", **WINDOW), NumpyKernel),
        (call_of("avg_pool", IMAGE, **WINDOW), AvgPool),
        (call_of("avg_pool", IMAGE, dtype="float16", **WINDOW), NumpyKernel),
        (call_of("normalization", IMAGE, (4,), (4,), (4,), (4,)), Normalization),
        (mixed_normalization(), NumpyKernel),
        (call_of("instance_norm", IMAGE, (4,), (4,)), InstanceNorm),
        (call_of("erf", IMAGE), SingleOp),
        (call_of("erf", IMAGE, dtype="float64"), Unary),
        (call_of("relu", IMAGE), SingleOp),
        (call_of("relu", IMAGE, dtype="float64"), Unary),
        (call_of("relu", IMAGE, dtype="int32"), NumpyKernel),
        (call_of("tanh", IMAGE), SingleOp),
        (call_of("tanh", IMAGE, dtype="float64"), NumpyKernel),
        (call_of("gelu", IMAGE), SingleOp),
        (call_of("gelu", IMAGE, dtype="float64"), NumpyKernel),
        (call_of("elu", IMAGE, alpha=float("nan")), NumpyKernel),
        (call_of("clip", IMAGE, ()), ClipStep),
        (call_of("clip", IMAGE, (), dtype="float64"), Clip),
        (call_of("prelu", IMAGE, (5, 1)), SingleOp),
        (call_of("add", IMAGE, (5, 1), dtype="int64"), Binary),
        (call_of("less", IMAGE, (5, 1), dtype="int64"), Binary),
        (call_of("logical_xor", IMAGE, (5, 1), dtype="bool"), Binary),
        (call_of("logical_not", IMAGE, dtype="bool"), Not),
        (call_of("add_n", IMAGE, IMAGE, IMAGE), SingleOp),
        (call_of("add_n", *[IMAGE] * 13), NumpyKernel),
        (call_of("divide", IMAGE, IMAGE, dtype="int64"), Binary),
        (call_of("divide", IMAGE, IMAGE), SingleOp),
        (call_of("divide", IMAGE, IMAGE, dtype="float64"), Binary),
        (call_of("bias_add", IMAGE, (4,), axis=1), BiasAddStep),
        (call_of("bias_add", IMAGE, (4,), axis=1, dtype="int64"), BiasAdd),
        (call_of("softmax", (5, 4)), SoftmaxRows),
        (call_of("softmax", (5, 4), axis=0), SoftmaxColumns),
        (call_of("log_softmax", (5, 4)), SoftmaxRows),
        (call_of("layer_norm", (5, 4), (4,), (4,)), LayerNormRows),
        (call_of("reduce_mean", (5, 4), axes=(1,)), FoldEachRow),
        (call_of("reduce_prod", (5, 4), axes=(1,)), FoldEachRow),
        (call_of("reduce_mean", (5, 4), axes=(0,)), FoldRows),
        (call_of("matmul", (2, 8, 4), (2, 4, 9)), BatchMatmul),
        (call_of("matmul", (1, 4), (4, 9999)), FewRowMatmul),
        (call_of("matmul", (3, 9, 4), (4,)), VectorMatmul),
        (call_of("matmul", (4,), (4, 9)), VectorMatmul),
        (call_of("matmul_integer", (2, 8, 4), (2, 4, 9), dtype="int8"), PackingIntegerMatmul),
        (call_of("lstm", (5, 1, 4), (1, 12, 4), (1, 12, 3)), PackingRecurrent),
        (call_of("gru", (5, 1, 4), (1, 9, 4), (1, 9, 3)), PackingRecurrent),
        (call_of("gru", (5, 1, 4), (1, 9, 4), (1, 9, 3), clip=1.0), NumpyKernel),
    ],
    ids=str,
)
def test_each_call_gets_the_kernel_made_for_it(call, kernel):
    """One kernel has the highest priority for every call, and it is the special one."""
    assert chosen(call) is kernel


def test_every_numpy_op_is_offered():
    """Whatever numpy computes runs here."""
    assert {entry.op for entry in plugin.headrace_kernels()} >= set(FUNCTIONS)


def test_few_ops_are_left_to_numpy():
    """One of them ends a captured sequence and costs microseconds; whoever adds one names it."""
    native = {entry.op for entry in plugin.headrace_kernels() if entry.priority >= 0}
    assert FUNCTIONS.keys() - native == {
        *("acosh", "asinh", "atanh", "cosh", "sinh"),
        *("bit_shift", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "unpack_bits"),
        *("lrn", "lstm_integer"),
    }


def test_predicates_print_what_they_take():
    """`explain` shows them to people."""
    texts = {str(e.match) for e in plugin.headrace_kernels() if e.op == "conv"}
    assert "one input channel for each output channel, float32 | float64" in texts
    assert "groups of four channels or more, float32" in texts


def test_memory_is_the_host_s():
    """So that core copies nothing."""
    (entry,) = plugin.headrace_allocators()
    assert (entry.tag, entry.memory_kind) == ("cpu", MemoryKind.HOST)


def test_the_workspace_is_the_columns_of_a_strip():
    """It grows neither with the batch nor, beyond a strip, with the image."""
    small = Im2colConv(call_of("conv", (1, 4, 5, 6), (3, 4, 3, 3)))
    many = Im2colConv(call_of("conv", (9, 4, 5, 6), (3, 4, 3, 3)))
    assert small.workspace_bytes() == many.workspace_bytes() == 4 * 9 * (3 * 4) * 4
    large = Im2colConv(call_of("conv", (1, 16, 999, 400), (3, 16, 9, 9)))
    assert large.workspace_bytes() < 1 << 22


@pytest.mark.parametrize(
    ("x", "weight", "attrs"),
    [
        ((2, 4, 61, 9), (6, 2, 3, 3), {"groups": 2, "pads": (2, 1, 0, 1), "strides": (2, 1)}),
        ((1, 4, 60), (3, 4, 5), {"pads": (3, 4), "dilations": (3,)}),
        ((1, 4, 1, 60), (3, 4, 1, 5), {"strides": (1, 3)}),
        ((1, 2, 17, 4, 5), (3, 2, 2, 3, 2), {"pads": (1, 0, 2, 1, 0, 0)}),
    ],
    ids=str,
)
def test_strips_make_the_same_image(x, weight, attrs, monkeypatch):
    """Cut into many strips, the result is the one of a single strip, and of numpy."""
    monkeypatch.setattr("headrace_cpu.kernels.conv._STRIP_BYTES", 1)
    call = call_of("conv", x, weight, weight[:1], **attrs)
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, spec.shape).astype(np.float32) for spec in call.inputs]
    device = plugin._open(0)
    allocator = HostAllocator(device)
    buffers = [allocator.allocate(array.nbytes) for array in arrays]
    for buffer, spec, array in zip(buffers, call.inputs, arrays, strict=True):
        buffer.array(spec)[...] = array
    output = allocator.allocate(call.outputs[0].nbytes)
    kernel = Im2colConv(call)
    workspace = allocator.allocate(kernel.workspace_bytes())
    kernel.bind(DeviceContext(device, 0), buffers, [output], workspace)()
    (expected,) = evaluate(call, arrays)
    np.testing.assert_array_equal(output.array(call.outputs[0]), expected)


def test_a_launch_reads_the_buffers_of_its_time():
    """Views are made once; every launch works on what the buffers hold then, weights too."""
    call = call_of("conv", (2, 4, 4, 3), (2, 1, 1, 3), (2,), **LAST)
    device = plugin._open(0)
    allocator = HostAllocator(device)
    inputs = [allocator.allocate(call.input(index).nbytes) for index in range(3)]
    (output,) = (allocator.allocate(spec.nbytes) for spec in call.outputs)
    x, weight, bias = (b.array(call.input(i)) for i, b in enumerate(inputs))
    kernel = PackingConv(call)
    workspace = allocator.allocate(kernel.workspace_bytes())
    launch = kernel.bind(DeviceContext(device, 0), inputs, [output], workspace)
    weight[...], bias[...] = 1, (0, 10)
    for value in (1, 2):
        x[...] = value
        launch()
        y = output.array(call.outputs[0])
        np.testing.assert_array_equal(y[..., 0], 3 * value)
        np.testing.assert_array_equal(y[..., 1], 3 * value + 10)


@pytest.mark.parametrize("op", ["reduce_sum", "reduce_mean", "reduce_max"])
def test_what_is_folded_after_a_convolution_lies_as_that_left_it(op):
    """Only what is fed is turned: the kernels for rows of channels are as good as for others."""
    builder = JobGraphBuilder("job", Placement.of_device("cpu:0"))
    x = builder.input("x", TensorSpec((1, 3, 8, 8), "float32"))
    (y,) = builder.op("conv", [x, builder.constant(np.ones((32, 3, 3, 3), np.float32))])
    builder.output("y", builder.op(op, [y], axes=(2, 3), keep_dims=False)[0])
    stages = stages_of(builder.finish(), default_registry())
    last = [stage.structure for stage in stages if stage.is_pass][-1]
    assert [made.call.op for made in last.ops] == ["transpose", "cpu.conv", op]


def test_listing_the_kernels_loads_nothing_native():
    """The plugin can be asked what it offers where its extension is broken."""
    code = (
        "import sys; from headrace_cpu import plugin\n"
        "list(plugin.headrace_devices()), list(plugin.headrace_kernels())\n"
        "assert 'headrace_cpu._native' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_opening_the_device_reports_a_broken_extension():
    """An extension that does not load stops the device, not the first launch."""
    code = (
        "import sys; from headrace_cpu import plugin\n"
        "sys.modules['headrace_cpu._native'] = None\n"
        "plugin._open(0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].startswith(("ImportError", "ModuleNotFoundError"))
