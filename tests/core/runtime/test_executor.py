"""The executor: jobs on two toy backends, inline and on worker threads, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from toy_backends import FarAllocator, FarKernel, far, near

from headrace.compiler.concurrency import Concurrency
from headrace.errors import ResourceLimitError, RunError, SessionError, SettingError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.numpy_ops import NumpyFunction, NumpyKernel
from headrace.op_call import OpCall
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.runtime.limits import stated_memory_limit
from headrace.tensor_spec import TensorSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
W = np.array([10, 20, 30], np.float32)


def job(devices: Sequence[str]) -> JobGraph:
    """``y = relu(x + w) + x``, its three ops on the given devices."""
    builder = JobGraphBuilder("job", Placement.of_device(devices[0]))
    x = builder.input("x", TensorSpec((2, 3), "float32"))
    w = builder.constant(W)
    with builder.placed(Placement.of_device(devices[0])):
        (a,) = builder.op("add", [x, w])
    with builder.placed(Placement.of_device(devices[1])):
        (b,) = builder.op("relu", [a])
    with builder.placed(Placement.of_device(devices[2])):
        (y,) = builder.op("add", [b, x], name="last")
    builder.output("y", y)
    return builder.finish()


EXPECTED = np.array([[4, 16, 28], [10, 22, 34]], np.float32)  # x + w + x, by hand


@pytest.mark.parametrize(
    "devices",
    [
        ("near", "near", "near"),
        ("far", "far", "far"),
        ("near", "far", "near"),
        ("far", "near", "far"),
        ("far:0", "far:1", "far:0"),
        ("near:1", "far:1", "far:0"),
    ],
    ids="-".join,
)
def test_a_job_gives_the_right_answer_wherever_its_ops_are(
    registry: BackendRegistry, devices: tuple[str, str, str]
) -> None:
    """One device, two devices and two backends give the same numbers, call after call."""
    with CompiledJob(job(devices), registry) as compiled:
        for shift in range(3):
            x = X + shift
            (y,) = compiled.run({"x": x}).values()
            np.testing.assert_array_equal(y, np.maximum(x + W, 0) + x)
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], EXPECTED)


def test_calls_that_follow_each_other_run_on_the_callers_thread(registry: BackendRegistry) -> None:
    """Whether streams run behind or not; only a plan whose calls overlap has worker threads."""
    with CompiledJob(job(["near"] * 3), registry) as compiled:
        assert compiled._executor.runs_inline
    mixed, width = job(["near", "far", "near"]), Concurrency(2)
    with CompiledJob(mixed, registry) as compiled:
        assert compiled._executor.runs_inline
    with CompiledJob(mixed, registry, CompileOptions(concurrency=width)) as compiled:
        assert not compiled._executor.runs_inline


def test_results_are_the_callers_own(registry: BackendRegistry) -> None:
    """A later call does not change what an earlier one returned."""
    with CompiledJob(job(["near"] * 3), registry) as compiled:
        first = compiled.run({"x": X})["y"]
        compiled.run({"x": X + 1})
        np.testing.assert_array_equal(first, EXPECTED)


def test_inputs_and_constants_can_be_results(registry: BackendRegistry) -> None:
    """A job may return what it was given, a weight, and one tensor twice."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    x = builder.input("x", TensorSpec((2, 3), "float32"))
    w = builder.constant(W)
    for name, tensor in (("x2", x), ("w", w), ("x3", x)):
        builder.output(name, tensor)
    with CompiledJob(builder.finish(), registry) as compiled:
        results = compiled.run({"x": X})
    assert list(results) == ["x2", "w", "x3"]
    np.testing.assert_array_equal(results["x2"], X)
    np.testing.assert_array_equal(results["w"], W)


def test_all_memory_is_given_back(registry: BackendRegistry) -> None:
    """After close no allocation of the device is live; closing twice is allowed."""
    live = FarAllocator.live
    compiled = CompiledJob(job(["far"] * 3), registry)
    compiled.run({"x": X})
    assert FarAllocator.live > live
    compiled.close()
    compiled.close()
    assert FarAllocator.live == live
    with pytest.raises(SessionError, match="closed"):
        compiled.run({"x": X})


class Failing:
    """Makes kernels of which that of the op ``last`` fails while ``broken`` is set."""

    broken = True

    def kernel(self, base: type[NumpyKernel]) -> type[NumpyKernel]:
        failing = self

        class Kernel(base):  # type: ignore[misc, valid-type]
            def __init__(self, call: OpCall) -> None:
                super().__init__(call)
                compute: NumpyFunction = self.function

                def function(*args: Any) -> None:
                    if call.name == "last" and failing.broken:
                        raise ArithmeticError("the chip is on fire")
                    compute(*args)

                self.function: NumpyFunction = function

        return Kernel


def test_a_failing_launch_names_the_op_and_the_job_stays_usable() -> None:
    """The error says op, task, device and cause; the next call starts from a clean state."""
    failing = Failing()
    module = near(kernel=failing.kernel(NumpyKernel))
    registry = BackendRegistry.from_modules({"near": module})
    with CompiledJob(job(["near"] * 3), registry) as compiled:
        for _ in range(2):
            with pytest.raises(RunError, match=r"add 'last'.*near:0/s0.*on fire") as caught:
                compiled.run({"x": X})
            assert (caught.value.op, caught.value.task) == ("add", "last")
            assert isinstance(caught.value.__cause__, ArithmeticError)
        failing.broken = False
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], EXPECTED)


def test_work_that_fails_later_names_its_sequence_and_the_job_stays_usable() -> None:
    """An error that surfaces at synchronisation stops the run, and no later one."""
    failing = Failing()
    module = far(kernel=failing.kernel(FarKernel))
    registry = BackendRegistry.from_modules({"far": module})
    with CompiledJob(job(["far"] * 3), registry) as compiled:
        for _ in range(2):
            with pytest.raises(RunError, match=r"add 'last'.*far:0/s0.*on fire"):
                compiled.run({"x": X})
        failing.broken = False
        np.testing.assert_array_equal(compiled.run({"x": X})["y"], EXPECTED)


def test_a_plan_over_the_memory_limit_is_refused_before_anything_is_allocated(
    registry: BackendRegistry,
) -> None:
    """The error says how much is needed, the limit, and the largest tensors."""
    with CompiledJob(job(["far"] * 3), registry) as compiled:
        plan = compiled.plan
    live = FarAllocator.live
    with pytest.raises(ResourceLimitError, match=r"limit is 100; nothing was allocated.*float32"):
        Executor(plan, registry, {}, memory_limit=100)
    assert FarAllocator.live == live


def test_a_memory_limit_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that cannot be read is reported with what to write instead."""
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "4GB")
    with pytest.raises(SettingError, match="'4GB'; it must be a number of bytes"):
        stated_memory_limit()
    monkeypatch.setenv("HEADRACE_MEMORY_LIMIT", "4000")
    assert stated_memory_limit() == 4000
