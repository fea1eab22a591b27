"""The jobs whose stages are golden files, each with the backends that it is compiled for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np
from plugin_ops import fuse, hello
from toy_backends import far, host, near

from headrace.compiler.decision import Fallback
from headrace.device import CHANNELS_LAST, DeviceEntry, KernelEntry
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.stages import Stage, stage_text, stages_of
from headrace.graph import JobGraph, JobGraphBuilder, Variable
from headrace.hookspecs import hookimpl
from headrace.initializer import initializer
from headrace.numpy_ops import NumpyKernel
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec

Made = tuple[JobGraph, dict[str, object], Fallback]

SPEC = TensorSpec((2, 3), "float32")
ZEROS = initializer("constant", value=0.0)
SHARDED = ("matmul", "relu", "slice", "concat", "add", "fill")


def _builder(name: str, device: str = "near") -> JobGraphBuilder:
    return JobGraphBuilder(name, Placement.of_device(device))


def chain() -> Made:
    """Three ops after each other, one of them twice, one whose result nobody reads."""
    b = _builder("chain")
    x = b.input("x", SPEC)
    w = b.constant(np.array([1, 2, 3], np.float32), "w")
    (a,) = b.op("add", [x, w], name="first")
    (again,) = b.op("add", [x, w], name="first_again")
    b.op("relu", [again], name="dead")
    (r,) = b.op("relu", [again], name="second")
    (y,) = b.op("add", [r, a], name="third")
    b.output("y", y)
    return b.finish(), {"near": near()}, Fallback.ERROR


def diamond() -> Made:
    """Two branches that meet, with two reshapes of which one is enough."""
    b = _builder("diamond")
    x = b.input("x", SPEC)
    (top,) = b.op("relu", [x], name="top")
    (flat,) = b.op("reshape", [top], name="flat", shape=(6,))
    (left,) = b.op("reshape", [flat], name="left", shape=(3, 2))
    (turned,) = b.op("reshape", [top], name="right", shape=(3, 2))
    (right,) = b.op("relu", [turned], name="right_relu")
    (y,) = b.op("add", [left, right], name="bottom")
    b.output("y", y)
    b.output("top", top)
    return b.finish(), {"near": near()}, Fallback.ERROR


def two_devices() -> Made:
    """From one backend to the other and back, with a constant on the far one."""
    b = _builder("two_devices", "far")
    x = b.input("x", SPEC)
    w = b.constant(np.ones(3, np.float32), "w")
    (a,) = b.op("add", [x, w], name="first")
    with b.placed(Placement.of_device("near")):
        (c,) = b.op("relu", [a], name="second")
    (d,) = b.op("add", [c, a], name="third")
    b.output("y", d)
    return b.finish(), {"near": near(), "far": far()}, Fallback.ERROR


def sharded_2x2() -> Made:
    """A product and its relu over two by two devices."""
    b = JobGraphBuilder("sharded_2x2", Placement.parse("near", "0:0-3", (2, 2)))
    x = b.input("x", TensorSpec((4, 6), "float32"))
    w = b.constant(np.arange(24, dtype=np.float32).reshape(6, 4), "w")
    (product,) = b.op("matmul", [x, w], name="product")
    (y,) = b.op("relu", [product], name="relu")
    b.output("y", y)
    four = near(ops=SHARDED)
    assert isinstance(four, SimpleNamespace)
    four.headrace_devices = hookimpl(lambda: [DeviceEntry("near", lambda: 4)])
    return b.finish(), {"near": four}, Fallback.ERROR


def plugin_pass() -> Made:
    """Two ops that a plugin's pass makes one of, and a pass that finds nothing to do."""
    b = _builder("plugin_pass", "hello")
    x, z = b.input("x", SPEC), b.input("z", SPEC)
    (total,) = b.op("add", [x, z], name="total")
    (y,) = b.op("relu", [total], name="positive")
    b.output("y", y)
    return b.finish(), {"hello": hello(fuse, idle)}, Fallback.ERROR


def idle(graph: JobGraph) -> JobGraph:
    """A pass that finds nothing to do."""
    return graph


def decomposition() -> Made:
    """An op that its device can only run in parts."""
    b = _builder("decomposition")
    x = b.input("x", SPEC)
    (total,) = b.op("add_n", [x, x, x], name="total")
    b.output("y", *b.op("relu", [total], name="positive"))
    return b.finish(), {"near": near()}, Fallback.ERROR


def fallback() -> Made:
    """An op that its device cannot run at all, moved to the host."""
    b = _builder("fallback", "far")
    x = b.input("x", SPEC)
    (a,) = b.op("relu", [x], name="here")
    (t,) = b.op("tanh", [a], name="there")
    b.output("y", *b.op("add", [t, a], name="back"))
    return b.finish(), {"far": far(), "cpu": host()}, Fallback.ALLOW


def variable() -> Made:
    """A sum that is kept from call to call, with the jobs that begin, load and save it."""
    b = _builder("variable")
    x = b.input("x", SPEC)
    total = b.variable(
        Variable("total", SPEC, Placement.of_device("near"), NdSbp.broadcast(1), ZEROS)
    )
    (y,) = b.op("add", [total, x], name="next")
    b.update(total, y)
    b.output("y", *b.op("relu", [y], name="shown"))
    return b.finish(), {"near": near()}, Fallback.ERROR


def images() -> Made:
    """A small net, channels first, for a device that convolves channels last."""
    b = _builder("images")
    x = b.input("x", TensorSpec((1, 2, 4, 4), "uint8"))
    w = b.constant(np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3), "w")
    (floats,) = b.op("cast", [x], name="floats", dtype="float32")
    (edges,) = b.op("conv", [floats, w], name="edges", pads=(1, 1, 1, 1))
    (both,) = b.op("concat", [b.op("relu", [edges], name="relu")[0], floats], name="both", axis=1)
    (mean,) = b.op("reduce_mean", [both], name="mean", axes=(2, 3))
    b.output("mean", mean)
    b.output("image", *b.op("transpose", [both], name="turn", perm=(0, 2, 3, 1)))
    conv = KernelEntry("near", "conv", NumpyKernel, data_formats=(CHANNELS_LAST,))
    last = near(("cast", "relu", "concat", "reduce_mean", "transpose", "reshape"), more=[conv])
    return b.finish(), {"near": last}, Fallback.ERROR


JOBS: Mapping[str, Callable[[], Made]] = {
    made.__name__: made
    for made in (
        chain,
        diamond,
        two_devices,
        sharded_2x2,
        plugin_pass,
        decomposition,
        fallback,
        variable,
        images,
    )
}


def stages(name: str) -> tuple[Stage, ...]:
    """The stages of one of the jobs."""
    graph, modules, policy = JOBS[name]()
    return stages_of(graph, BackendRegistry.from_modules(modules), CompileOptions(policy))


def golden_text(name: str) -> str:
    """What the golden file of one of the jobs holds."""
    return "\n".join(stage_text(stages(name), "all")).rstrip("\n") + "\n"
