"""What a device cannot do is said by name, and does no harm: the next job runs.

A device may well have no gap of its own, so gaps are made: a registry in which the device under
test offers some of its kernels, or one that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from headrace.device import (
    Buffer,
    DeviceContext,
    Kernel,
    KernelEntry,
    Launch,
    OpCall,
    dtypes,
)
from headrace.dtypes import FLOATS
from headrace.errors import (
    DeviceUnavailableError,
    OutOfMemoryError,
    PluginError,
    ResourceLimitError,
    RunError,
    UnsupportedError,
)
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import Backend, BackendRegistry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.case import Case
from headrace.testing.cases import all_cases
from headrace.testing.run import call_of, run_op

pytestmark = pytest.mark.conformance("errors")

X = np.array([1, -2, 3], np.float32)


def only(backend: Backend, kernels: Iterable[KernelEntry]) -> BackendRegistry:
    """A registry of the device under test with these kernels and no others."""
    hooks: dict[str, list[Any]] = {
        "headrace_devices": [backend.device],
        "headrace_allocators": [backend.allocator],
        "headrace_device_contexts": [backend.context],
        "headrace_stream_index_generators": [backend.streams],
        "headrace_kernels": list(kernels),
    }
    module = SimpleNamespace()
    for name, records in hooks.items():
        setattr(module, name, hookimpl(_answer(records)))
    return BackendRegistry.from_modules({backend.tag: module})


def _answer(records: list[Any]) -> Callable[[], list[Any]]:
    return lambda: records


def adding(backend: Backend) -> KernelEntry:
    """The device's own addition, for float32 alone."""
    call_specs = (TensorSpec(X.shape, "float32"),) * 2
    call = OpCall("add", "add", call_specs, call_specs[:1])
    entry = backend.kernels.select(call)
    if entry is None:
        pytest.skip(f"device {backend.tag!r} has no kernel for add of float32")
    return KernelEntry(backend.tag, "add", entry.create, dtypes("float32"))


def job(device: str, op: str, arrays: Sequence[Array]) -> JobGraph:
    """A job of one op, called ``node``."""
    builder = JobGraphBuilder("job", Placement.of_device(device))
    inputs = [builder.input(f"x{i}", TensorSpec.of(a)) for i, a in enumerate(arrays)]
    (y,) = builder.op(op, inputs, name="node", location="test_errors.py:1")
    builder.output("y", y)
    return builder.finish()


def doubles(device: str, registry: BackendRegistry) -> None:
    """Hold that the device adds."""
    with CompiledJob(job(device, "add", (X, X)), registry) as compiled:
        assert compiled.run({"x0": X, "x1": X})["y"].tolist() == (X + X).tolist()


def test_an_op_without_a_kernel_is_named(device: str, backend: Backend) -> None:
    """Op, node, place and device are in the message, and the device still adds."""
    registry = only(backend, [adding(backend)])
    with pytest.raises(UnsupportedError) as caught:
        CompiledJob(job(device, "tanh", (X,)), registry)
    for word in ("tanh", "'node'", "test_errors.py:1", repr(backend.tag), "float32[3]"):
        assert word in str(caught.value)
    doubles(device, registry)


@pytest.mark.parametrize("dtype", sorted(FLOATS - {TensorSpec((), "float32").dtype}), ids=str)
def test_a_dtype_without_a_kernel_is_named(device: str, backend: Backend, dtype: object) -> None:
    """The dtype, and the one that would do, are in the message: nothing is cast in silence."""
    registry = only(backend, [adding(backend)])
    array = np.ones(3, TensorSpec((), dtype).dtype.numpy)
    with pytest.raises(UnsupportedError) as caught:
        CompiledJob(job(device, "add", (array, array)), registry)
    for word in ("add", str(dtype), repr(backend.tag), "it has add for float32"):
        assert word in str(caught.value)
    doubles(device, registry)


def gaps(backend: Backend) -> dict[tuple[str, str], Case]:
    """A case for each op and dtype of the suite for which the device has no kernel."""
    found: dict[tuple[str, str], Case] = {}
    for case in all_cases():
        call = call_of(case)
        if backend.kernels.select(call) is None:
            first = next((spec for spec in call.inputs if spec is not None), call.outputs[0])
            found.setdefault((case.op, first.dtype.name), case)
    return found


def test_every_gap_of_this_device_is_said(device: str, backend: Backend) -> None:
    """What has no kernel runs by decomposition, or the error names op, dtype and device."""
    found = gaps(backend)
    if not found:
        pytest.skip(f"device {backend.tag!r} has a kernel for every op and dtype of the suite")
    silent: list[str] = []
    for (op, dtype), case in found.items():
        try:
            run_op(device, case)
        except UnsupportedError as error:
            words = (op, dtype, repr(backend.tag))
            silent += [f"{case}: no {word} in {error}" for word in words if word not in str(error)]
    assert silent == []


class _Failing(Kernel):
    """Adds, but its first launch fails."""

    def __init__(self, inner: Kernel) -> None:
        self._inner = inner
        self._launched = 0

    def workspace_bytes(self) -> int:
        return self._inner.workspace_bytes()

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        launch = self._inner.bind(context, inputs, outputs, workspace)

        def fail_once() -> None:
            self._launched += 1
            if self._launched == 1:
                raise ZeroDivisionError("on purpose")
            launch()

        return fail_once


def test_a_launch_that_fails_reaches_the_caller(device: str, backend: Backend) -> None:
    """With op, device and cause; the same job then runs, several times."""
    entry = adding(backend)
    failing = KernelEntry(backend.tag, "add", lambda call: _Failing(entry.create(call)))
    with CompiledJob(job(device, "add", (X, X)), only(backend, [failing])) as compiled:
        with pytest.raises(RunError, match=r"'node'.*on purpose") as caught:
            compiled.run({"x0": X, "x1": X})
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert caught.value.op == "add"
        assert backend.tag in caught.value.device
        for factor in (1, 2):
            result = compiled.run({"x0": X * factor, "x1": X})
            assert result["y"].tolist() == (X * factor + X).tolist()


def test_a_job_fails_and_runs_by_turns(device: str, backend: Backend) -> None:
    """Work that fails on its stream ends that run with its op and device, and no other run.

    Neither of the same job nor of one beside it, which is compiled before and after.
    """
    indices = [TensorSpec.of(X), TensorSpec((2,), "int64")]
    builder = JobGraphBuilder("job", Placement.of_device(device))
    x, at = (builder.input(name, spec) for name, spec in zip("xi", indices, strict=True))
    builder.output("y", *builder.op("gather", [x, at], name="node"))
    if not backend.kernels.entries("gather"):
        pytest.skip(f"device {backend.tag!r} has no kernel for gather")
    beside = job(device, "add", (X, X))
    with CompiledJob(builder.finish()) as compiled, CompiledJob(beside) as other:
        for _ in range(3):
            with pytest.raises(RunError, match="'node'") as caught:
                compiled.run({"x": X, "i": np.array([0, 99])})
            assert (caught.value.op, backend.tag in caught.value.device) == ("gather", True)
            assert other.run({"x0": X, "x1": X})["y"].tolist() == (X + X).tolist()
            assert compiled.run({"x": X, "i": np.array([2, 0])})["y"].tolist() == [3, 1]


def test_a_kernel_that_cannot_be_bound_leaves_nothing(device: str, backend: Backend) -> None:
    """What was acquired for the job is given back: the device opens and adds afterwards."""

    class Unbindable(Kernel):
        def bind(self, *args: object) -> NoReturn:
            raise ZeroDivisionError("on purpose")

    entry = adding(backend)
    broken = KernelEntry(backend.tag, "add", lambda call: Unbindable(), priority=1)
    with pytest.raises(PluginError, match=r"bind of .* raised ZeroDivisionError: on purpose"):
        CompiledJob(job(device, "add", (X, X)), only(backend, [entry, broken]))
    doubles(device, only(backend, [entry]))


def test_a_job_that_is_too_large_allocates_nothing(device: str, backend: Backend) -> None:
    """A tensor of a pebibyte is refused before anything runs, and the device still adds."""
    spec = TensorSpec((1 << 48,), "float32")
    builder = JobGraphBuilder("large", Placement.of_device(device))
    x = builder.input("x", spec)
    builder.output("y", *builder.op("add", [x, x]))
    registry = only(backend, [adding(backend)])
    with pytest.raises((ResourceLimitError, OutOfMemoryError)):
        CompiledJob(builder.finish(), registry)
    doubles(device, registry)


def test_another_device_is_not_this_one(device: str, tag: str) -> None:
    """A tag that nobody brings is an error that names those there are."""
    with pytest.raises(DeviceUnavailableError, match=rf"'{tag}x'.*{tag}"):
        run_op(f"{tag}x", Case("unknown", "add", (X, X)))
