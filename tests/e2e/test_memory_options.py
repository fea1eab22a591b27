"""Memory that is shared changes no bit of any result: on and off, on models and on every op."""

from __future__ import annotations

import itertools
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto
from test_models import GIVEN, MODELS, Trained, content, golden
from twin_jobs import REPORT_VARIABLE

from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.compile_options import CompileOptions
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
SUITE = [
    module.name
    for module in pkgutil.iter_modules(conformance.__path__, f"{conformance.__name__}.")
    if module.name.rpartition(".")[2].startswith("test_")
]
OTHERS = sorted(set(GIVEN.glob("*.onnx")) - {GIVEN / f"{m.name}.onnx" for m in MODELS})
FAMILIES = [name for name in SUITE if getattr(import_module(name), "CASES", ())]
COUNTS_LAUNCHES = "not test_a_launch_that_fails_reaches_the_caller"
"""The one test of the suite that a second job disturbs."""


def as_bytes(results: Mapping[str, Array]) -> dict[str, bytes]:
    """Every bit, also those of NaNs."""
    return {name: array.tobytes() for name, array in results.items()}


@pytest.mark.parametrize("trained", MODELS, ids=lambda trained: trained.name)
def test_a_trained_model_gives_the_same_bits(device: str, trained: Trained) -> None:
    """With in-place and reuse on, off, and each alone; twice, so that nothing is left behind."""
    feeds = dict(trained.inputs(np.random.default_rng(5)))
    held = bytes_held(device, content(trained), feeds)
    assert held[0] <= held[1] < held[2] <= held[3] or held[0] <= held[2] < held[1] <= held[3]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_a_model_beside_the_checkout_gives_the_same_bits(device: str, path: Path) -> None:
    """Those that have inputs stored with them."""
    data = path.read_bytes()
    with load(data, device) as model:
        names = [info.name for info in model.inputs if not info.optional]
    found = golden(path.stem, names)
    if found is None:
        pytest.skip(f"no inputs are stored for {path.stem}")
    bytes_held(device, data, found[0])


def test_resnet50_gives_the_same_bits(device: str, resnet50: ModelProto) -> None:
    """With everything on and everything off."""
    feeds = {resnet50.graph.input[0].name: noise((1, 3, 224, 224))}
    both = (SWITCHES[0], SWITCHES[-1])
    held = bytes_held(device, resnet50.SerializeToString(), feeds, both, calls=1)
    assert held[0] < held[1]


def noise(shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def bytes_held(
    device: str,
    data: bytes,
    feeds: Mapping[str, Array],
    switches: Sequence[MemoryOptions] = SWITCHES,
    calls: int = 2,
) -> list[int]:
    """What a model holds under each of ``switches``; its results have the same bits under all."""
    first: dict[str, bytes] = {}
    held = []
    for switch in switches:
        options = {"enable_inplace": switch.inplace, "enable_reuse_mem": switch.reuse}
        with load(data, device, **options) as model:  # type: ignore[arg-type]
            held.append(sum(chunk.nbytes for chunk in model.plan_for(feeds).chunks))
            for _ in range(calls):
                results = as_bytes(model.run(feeds))
                first = first or results
                assert results == first, f"{switch} changes results"
    return held


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


def test_every_other_job_of_the_suite_gives_the_same_bits(device: str, tmp_path: Path) -> None:
    """The suite's own tests, each of whose jobs has a twin without sharing (``twin_jobs.py``).

    Those of single ops are left out: they are all in the test before, with more to share.
    """
    report = tmp_path / "twins.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "headrace.testing.pytest_plugin"]
    command += ["-p", "twin_jobs", "-p", "no:cacheprovider", "--device", device]
    command += ["-k", COUNTS_LAUNCHES, "--pyargs", *sorted(set(SUITE) - set(FAMILIES))]
    here = os.pathsep.join(filter(None, (str(Path(__file__).parent), *sys.path)))
    environment = os.environ | {"PYTHONPATH": here, REPORT_VARIABLE: str(report)}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr
    counts = json.loads(report.read_text("utf-8"))
    assert counts["calls"] >= counts["jobs"] // 2 > 0
    assert counts["smaller"] > 0


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
    return CompiledJob(builder.finish(), registry, CompileOptions(memory=options))


def _feeds(cases: Sequence[Case]) -> Iterator[tuple[str, Array]]:
    for number, case in enumerate(cases):
        for index, array in enumerate(case.inputs):
            if array is not None:
                yield f"{number} {case} {index}", array
