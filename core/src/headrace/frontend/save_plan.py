"""``save_plan``: compile a job into a plan file. No device is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from headrace.collector import collector_rests
from headrace.compiler.pipeline import Compiled
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.plan_file import WeightPacker, write_plan_file
from headrace.frontend.versions import versions_for
from headrace.graph.job_graph import JobGraph
from headrace.plan.saved import Port, SavedPlan, Source
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import Array


@collector_rests()
def save_plan(
    path: str | os.PathLike[str],
    graph: JobGraph,
    registry: BackendRegistry,
    options: CompileOptions = AS_USUAL,
    fixed: Mapping[str, Array] = MappingProxyType({}),
) -> None:
    """Compile a job and write it to a plan file, whole or not at all.

    Args:
        path: where to; what is there is replaced.
        graph: the job.
        registry: where its devices come from.
        options: how it is compiled.
        fixed: values of the inputs that became part of the job.

    Raises:
        UnsupportedError: an op or a placement cannot be run.
        DeviceError: a device cannot be used.
        PlanError: the file cannot be written.
    """
    compiled = options.compile(graph, registry)
    packer = WeightPacker()
    saved = pack(packer, graph, compiled, registry, fixed)
    write_plan_file(Path(path), saved, packer.blobs)


def pack(
    packer: WeightPacker,
    graph: JobGraph,
    compiled: Compiled,
    registry: BackendRegistry,
    fixed: Mapping[str, Array],
    sources: tuple[Source, ...] = (),
) -> SavedPlan:
    """The header of a plan file; ``packer`` then knows the weights that belong behind it."""
    plan = compiled.plan
    names = dict.fromkeys(r.constant for r in plan.registers if r.constant is not None)
    return SavedPlan(
        versions_for(plan, registry),
        tuple(Port(tensor.name, tensor.spec) for tensor in graph.inputs),
        tuple(Port(name, tensor.spec) for name, tensor in graph.outputs),
        tuple(packer.place(name, value) for name, value in fixed.items()),
        tuple(packer.place(name, compiled.constants[name]) for name in names),
        sources,
        compiled.passes,
        plan,
    )
