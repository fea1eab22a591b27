"""What is compared: headrace on a device, and runtimes that it is compared with.

Imported by the processes that measure, so nothing here is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import BenchError

if TYPE_CHECKING:
    from headrace.placement import Placement
    from headrace.registry.tables import Backend
    from headrace.tensor_spec import Array

Run = Callable[[Mapping[str, "Array"]], Mapping[str, "Array"]]
"""A loaded model: from arrays by input name to arrays by output name."""

Load = Callable[[str], Run]
"""Loads the model of a file."""

OURS = "headrace"

COMPILER = (
    "headrace.onnx.declared",
    "headrace.onnx.support",
    "headrace.onnx.importing.run_loop",
    "headrace.onnx.importing.specialise",
    "headrace.onnx.templates",
    "headrace.frontend.compiled_job",
    "headrace.plan.check_plan",
)
"""Imported by a process only when it has no plan of the model."""


def headrace_on(device: str, fallback: str | None, plan_cache: bool) -> Load:
    """headrace, with the device's plugin; how many threads it has, the environment says."""
    from headrace.onnx import load
    from headrace.placement import Placement
    from headrace.registry import default_registry

    # Before the clock runs: other runtimes have their compiler and their devices in themselves.
    placement = Placement.of_devices(device)
    backend = default_registry().backend(placement.tag)
    backend.device.open(placement.devices[0][1]).close()  # loads the driver, or native code
    _import_compiler(backend, placement)  # a kept plan wants none; a model in stages keeps no plan

    def loads(path: str) -> Run:
        return load(path, device, fallback=fallback, plan_cache=plan_cache).run

    return loads


def _import_compiler(backend: Backend, placement: Placement) -> None:
    """All that a process imports when it first compiles whatever model."""
    from headrace.graph import JobGraphBuilder
    from headrace.numpy_ops.table import FUNCTIONS
    from headrace.onnx.importing.converters import CONVERTERS
    from headrace.onnx.importing.converters.microsoft import CONTRIB
    from headrace.onnx.importing.converters.ml import MACHINE_LEARNING
    from headrace.ops import OPS

    for module in COMPILER:
        importlib.import_module(module)
    for table in (OPS, FUNCTIONS, CONVERTERS, MACHINE_LEARNING, CONTRIB):
        list(table.values())  # families are imported when they are asked for
    for entry in backend.passes:  # which may import what they need when they first run
        entry.rewrite(JobGraphBuilder("empty", placement).finish())


def onnxruntime_with(threads: int) -> Load:
    """onnxruntime's CPU provider with all its optimisations."""
    import onnxruntime

    settings: Any = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3  # errors; not what could be said of the model

    def loads(path: str) -> Run:
        session: Any = onnxruntime.InferenceSession(
            path, settings, providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]

        def run(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
            return dict(zip(names, session.run(None, dict(feeds)), strict=True))

        return run

    return loads


def openvino_with(threads: int) -> Load:
    """OpenVINO on the host, asked for a short time of one call, with float32 for float32."""
    import openvino  # type: ignore[import-not-found,import-untyped,unused-ignore]

    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",  # else it computes in bfloat16 where the host can
    }

    def loads(path: str) -> Run:
        model: Any = openvino.compile_model(path, "CPU", settings)
        names = [output.get_any_name() for output in model.outputs]

        def run(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
            answer: Any = model(dict(feeds))
            return {name: answer[index] for index, name in enumerate(names)}

        return run

    return loads


PEERS: Mapping[str, Callable[[int], Load]] = {
    "onnxruntime": onnxruntime_with,
    "openvino": openvino_with,
}
"""Runtime -> makes what loads models with so many threads; each is a package of its name."""


def require_peer(name: str) -> None:
    """Raise BenchError unless the runtime is installed."""
    if importlib.util.find_spec(name) is None:
        raise BenchError(
            f"{name} is not installed, so there is nothing to compare with; "
            f"install it with: pip install {name}"
        )


def thread_variables(device: str, threads: int) -> dict[str, str]:
    """What a process is told of its threads, before it begins.

    A backend that computes on the host takes their number from ``HEADRACE_<TAG>_THREADS``;
    libraries that it may use take it from the others.
    """
    tag = re.sub(r"[^A-Z0-9]", "_", device.partition(":")[0].upper())
    names = (f"HEADRACE_{tag}_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads))
