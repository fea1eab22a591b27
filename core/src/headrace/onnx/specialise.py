"""Specialisation: a job for these shapes, and for those input values that decide shapes.

Every shape of a job is known when it is built. Where a model computes a shape from the value of an
input (``Reshape`` to a shape that is fed, say), that value becomes a part of the job: the model is
imported again with the input as a constant, and the job serves for this value only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import UnsupportedModelError
from headrace.graph import CORE_OPS, OpSource
from headrace.graph.job_graph import JobGraph
from headrace.onnx import limits
from headrace.onnx.importer import Importer
from headrace.onnx.node import ValueNeeded
from headrace.onnx.read import ModelFile
from headrace.onnx.text import quote, quote_all
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec


@dataclass(frozen=True, slots=True, eq=False)
class SpecialisedJob:
    """A job and the inputs whose values are part of it; these are not fed."""

    graph: JobGraph
    fixed: tuple[str, ...]


def specialise(
    file: ModelFile,
    placement: Placement,
    specs: Mapping[str, TensorSpec],
    arrays: Mapping[str, Array],
    fixed: tuple[str, ...] = (),
    ops: OpSource = CORE_OPS,
) -> SpecialisedJob:
    """Import the model for what is fed.

    Args:
        file: the model.
        placement: where it runs.
        specs: of every input that is fed.
        arrays: values of the inputs, as far as they are known. They are copied where they become
            part of the job.
        fixed: inputs known to decide shapes.
        ops: knows the ops of plugins.

    Raises:
        UnsupportedModelError: a shape depends on a value that cannot be had while compiling.
        ModelError, ResourceLimitError: as the importer.
    """
    known = {name: arrays[name].copy() for name in fixed if name in arrays}
    while True:
        importer = Importer(file, placement, ops)
        try:
            return SpecialisedJob(importer.run(specs, known), tuple(known))
        except ValueNeeded as need:
            sources = sources_of(importer.builder.finish(), need.tensor)
            new = [name for name in sources if name not in known]
            _check_can_fix(new, need, specs, arrays)
            known |= {name: arrays[name].copy() for name in new}


def sources_of(graph: JobGraph, tensor: Tensor) -> tuple[str, ...]:
    """The job inputs that ``tensor`` is computed from, in the order of the inputs."""
    maker = {name: op for op in graph.ops for name in op.outputs}
    seen: set[str] = set()
    pending = [tensor.name]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            if name in maker:
                pending += [source for source in maker[name].inputs if source is not None]
    return tuple(entry.name for entry in graph.inputs if entry.name in seen)


def _check_can_fix(
    new: list[str],
    need: ValueNeeded,
    specs: Mapping[str, TensorSpec],
    arrays: Mapping[str, Array],
) -> None:
    needed = f"tensor {quote(need.tensor.name)}"
    if not new:
        raise UnsupportedModelError(
            f"{need}: {needed} decides a shape and cannot be computed while compiling: "
            "it, or what it is computed from, is random or larger than is folded"
        ) from need
    unknown = [name for name in new if name not in arrays]
    if unknown:
        raise UnsupportedModelError(
            f"{need}: {needed} decides a shape and depends on the values of inputs "
            f"{quote_all(unknown)}; give arrays for them, not only specs"
        ) from need
    large = [name for name in new if specs[name].nbytes > limits.SPECIALISED_BYTES]
    if large:
        raise UnsupportedModelError(
            f"{need}: {needed} decides a shape and depends on the values of inputs "
            f"{quote_all(large)}, which are over {limits.SPECIALISED_BYTES} bytes"
        ) from need
