"""A backend ``hello`` with an op of its own, for tests of plugins' ops and passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np

from headrace.device import (
    AllocatorEntry,
    DeviceEntry,
    HostAllocator,
    KernelEntry,
    MemoryKind,
    OpCall,
)
from headrace.graph import GraphEditor, JobGraph, OpEntry, PassEntry
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel
from headrace.ops import Attr, GraphBuilder, Input, Op, Tensor
from headrace.tensor_spec import Array, TensorSpec


class AddRelu(Op):
    """``max(a + b, 0) * gain``, for tensors of one shape."""

    name = "hello.add_relu"
    inputs = (Input("a"), Input("b"))
    attrs = (Attr("gain", "float", 1.0),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (call.input(0),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        (total,) = builder.op("add", inputs)
        (positive,) = builder.op("relu", [total])
        gain = builder.constant(np.array(call.float_attr("gain"), call.input(0).dtype.numpy))
        return builder.op("multiply", [positive, gain])


def add_relu(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``AddRelu`` on the host."""
    a, b = inputs
    assert a is not None
    assert b is not None
    outputs[0][...] = np.maximum(a + b, 0) * call.float_attr("gain")


def fuse(graph: JobGraph) -> JobGraph:
    """``relu(add(a, b))`` of one shape becomes ``hello.add_relu``."""
    editor = GraphEditor(graph, "hello")
    for relu in editor.ops("relu"):
        add = editor.maker(relu.inputs[0])
        if add is None or add.call.op != "add" or not editor.is_private(add, relu):
            continue
        if add.call.inputs[0] == add.call.inputs[1]:
            editor.replace([add, relu], AddRelu, add.inputs)
    return editor.finish()


def hello(
    *rewrites: Callable[[JobGraph], JobGraph],
    ops: Iterable[OpEntry] = (OpEntry("hello", AddRelu, add_relu),),
    passes: Iterable[PassEntry] | None = None,
    kernels: Iterable[KernelEntry] = (),
) -> SimpleNamespace:
    """The plugin's module; ``rewrites`` become passes named after the functions."""
    named = [PassEntry("hello", rewrite.__name__, rewrite) for rewrite in rewrites]
    fused = KernelEntry("hello", "hello.add_relu", partial(NumpyKernel, function=add_relu))
    plain = [KernelEntry("hello", op, NumpyKernel) for op in ("add", "relu", "multiply")]
    return SimpleNamespace(
        __name__="headrace_hello",
        headrace_devices=hookimpl(lambda: [DeviceEntry("hello")]),
        headrace_allocators=hookimpl(
            lambda: [AllocatorEntry("hello", MemoryKind.HOST, 64, HostAllocator)]
        ),
        headrace_kernels=hookimpl(lambda: [*plain, fused, *kernels]),
        headrace_ops=hookimpl(lambda: list(ops)),
        headrace_passes=hookimpl(lambda: named if passes is None else list(passes)),
    )
