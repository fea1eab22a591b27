"""Memory that is shared changes no bit of any result: on and off, on models and on every op."""

from __future__ import annotations

import itertools
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

import numpy as np
import pytest
from test_models import MODELS, Trained, content

from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.onnx import load
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.plan import TaskKind
from headrace.registry import default_registry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing import conformance
from headrace.testing.case import Case
from headrace.testing.run import call_of

SWITCHES = [
    MemoryOptions(inplace, reuse) for inplace, reuse in itertools.product((True, False), repeat=2)
]
FAMILIES = [
    module.name
    for module in pkgutil.iter_modules(conformance.__path__, f"{conformance.__name__}.")
    if getattr(import_module(module.name), "CASES", ())
]


def as_bytes(results: Mapping[str, Array]) -> dict[str, bytes]:
    """Every bit, also those of NaNs."""
    return {name: array.tobytes() for name, array in results.items()}


@pytest.mark.parametrize("trained", MODELS, ids=lambda trained: trained.name)
def test_a_trained_model_gives_the_same_bits(device: str, trained: Trained) -> None:
    """With in-place and reuse on, off, and each alone; twice, so that nothing is left behind."""
    feeds = dict(trained.inputs(np.random.default_rng(5)))
    results = []
    held = []
    for switch in SWITCHES:
        options = {"enable_inplace": switch.inplace, "enable_reuse_mem": switch.reuse}
        with load(content(trained), device, **options) as model:  # type: ignore[arg-type]
            held.append(sum(chunk.nbytes for chunk in model.plan_for(feeds).chunks))
            results += [as_bytes(model.run(feeds)) for _ in range(2)]
    assert all(result == results[0] for result in results)
    assert held[0] <= held[1] < held[2] <= held[3] or held[0] <= held[2] < held[1] <= held[3]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.rpartition(".")[2])
def test_every_op_of_the_suite_gives_the_same_bits(device: str, family: str) -> None:
    """All cases of a family in one job, each between copies: memory to share on every side."""
    kernels = default_registry().backend(device.partition(":")[0]).kernels
    cases = [c for c in import_module(family).CASES if kernels.select(call_of(c)) is not None]
    assert cases
    feeds = dict(_feeds(cases))
    with job_of(device, cases, MemoryOptions()) as sharing:
        assert any(task.in_place or task.kind is TaskKind.VIEW for task in sharing.plan.tasks)
        shared = as_bytes(sharing.run(feeds))
    with job_of(device, cases, MemoryOptions(inplace=False, reuse=False)) as apart:
        alone = as_bytes(apart.run(feeds))
    wrong = [name for name, data in alone.items() if shared[name] != data]
    assert not wrong


def job_of(device: str, cases: Sequence[Case], options: MemoryOptions) -> CompiledJob:
    """A job of all cases, which copies the inputs of each first and shows its outputs as lines."""
    registry = default_registry()
    builder = JobGraphBuilder("job", Placement.of_device(device), fold=False, ops=registry)
    for number, case in enumerate(cases):
        tensors: list[Tensor | None] = []
        for index, array in enumerate(case.inputs):
            tensor = None
            if array is not None:
                tensor = builder.input(f"{number} {case} {index}", TensorSpec.of(array))
                if array.ndim:
                    (tensor,) = builder.op("concat", [tensor], axis=0)
            tensors.append(tensor)
        made = builder.op(case.op, tensors, outputs=case.outputs, **dict(case.attrs))
        for index, result in enumerate(made):
            (line,) = builder.op("reshape", [result], shape=(result.spec.elements,))
            builder.output(f"{number} {case} {index}", line)
    return CompiledJob(builder.finish(), registry, memory=options)


def _feeds(cases: Sequence[Case]) -> Iterator[tuple[str, Array]]:
    for number, case in enumerate(cases):
        for index, array in enumerate(case.inputs):
            if array is not None:
                yield f"{number} {case} {index}", array
