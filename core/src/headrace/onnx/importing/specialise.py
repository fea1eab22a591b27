"""Specialisation: a job for these shapes, and for those input values that decide shapes.

Every shape of a job is known when it is built. Where a model computes a shape from the value of a
small input (``Reshape`` to a shape that is fed, say), that value becomes a part of the job: the
model is imported again with the input as a constant, and the job serves for this value only. Where
it takes more to know the shape, the job is that of the first stage; see ``measure.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.graph import CORE_OPS, DeviceOps
from headrace.graph.job_graph import JobGraph
from headrace.light_tuple import NamedTuple
from headrace.onnx.file import limits
from headrace.onnx.file.read import ModelFile
from headrace.onnx.file.text import quote, quote_all
from headrace.onnx.importing.draws import is_draw
from headrace.onnx.importing.guesses import Check, checks_of
from headrace.onnx.importing.importer import Importer
from headrace.onnx.importing.measure import (
    KEPT,
    SUPPOSED,
    VALUE_OF,
    Measure,
    MeasureNeeded,
    is_found,
    is_kept,
    joined,
    nothing_more,
    supposed,
)
from headrace.onnx.importing.node import ValueNeeded
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.onnx.importing.run_loop import JobsOf


class SpecialisedJob(NamedTuple):
    """A job.

    Attributes:
        graph: the job.
        fixed: inputs whose values are part of it; these are not fed.
        continues: it is fed what an earlier stage found.
        then: what is done with what it computes, before the next stage; None for the last one.
        checks: what it assumes, of the last stage.
        supposed: what a job of all stages up to this one would suppose; see ``measure.supposed``.
    """

    graph: JobGraph
    fixed: tuple[str, ...]
    continues: bool = False
    then: Measure | None = None
    checks: tuple[Check, ...] = ()
    supposed: Mapping[str, Array] = MappingProxyType({})


class Importing(NamedTuple):
    """How a model is imported; the same for whatever is fed.

    Attributes:
        placement: where it runs.
        ops: knows the ops of plugins.
        jobs_of: makes the jobs of the body of a loop that the host runs; None when none is run.
        most_fixed: bytes of the inputs that may become part of a job.
        guesses: of those, take sizes alone where that will do, and say what was assumed.
    """

    placement: Placement
    ops: DeviceOps = CORE_OPS
    jobs_of: JobsOf | None = None
    most_fixed: int = limits.SPECIALISED_BYTES
    guesses: bool = False


def specialise(
    file: ModelFile,
    how: Importing,
    specs: Mapping[str, TensorSpec],
    arrays: Mapping[str, Array],
    fixed: tuple[str, ...] = (),
) -> SpecialisedJob:
    """Import the model for what is fed.

    Args:
        file: the model.
        how: it is imported.
        specs: of every input that is fed, and of what earlier stages found.
        arrays: values of these, as far as they are known. They are copied where they become
            part of the job.
        fixed: inputs known to decide shapes.

    Raises:
        UnsupportedModelError: a shape depends on a value that cannot be had while compiling.
        ModelError, ResourceLimitError: as the importer.
    """
    known = {name: arrays[name].copy() for name in fixed if name in arrays}
    known |= {name: arrays[name] for name in specs if name.startswith((VALUE_OF, SUPPOSED))}
    guessed: dict[str, Array] = {}
    while True:
        importer = Importer(file, how.placement, how.ops, how.jobs_of)
        try:
            graph = importer.run(specs, known, guessed)
        except MeasureNeeded as need:
            return _first_stage(importer, need, known, specs)
        except ValueNeeded as need:
            new = _decided_by(importer.builder.finish(), need, known)
            most = how.most_fixed if need.instead is None else limits.UNROLLED_BYTES
            if new is None or sum(specs[name].nbytes for name in new) > most:
                return _first_stage(importer, need.instead or _measured(need), known, specs)
            _check_values(new, need, arrays)
            given = {name: arrays[name].copy() for name in new}
            if how.guesses and not given.keys() <= guessed.keys():
                guessed |= given
            else:
                known |= given
        else:
            continues = any(map(is_found, specs))
            checks = checks_of(importer.builder.assumptions)
            graph = _without_unread(graph) if continues else graph
            values = supposed(specs, known) if how.guesses else {}
            return SpecialisedJob(graph, tuple(known), continues, checks=checks, supposed=values)


def _decided_by(graph: JobGraph, need: ValueNeeded, known: Mapping[str, Array]) -> list[str] | None:
    """The inputs besides ``known`` that decide what is needed; None where a stage computes it."""
    sources = sources_of(graph, need.tensor)
    if not sources and not known:
        raise UnsupportedModelError(
            f"{need}: tensor {quote(need.tensor.name)} decides a shape and cannot be computed "
            "while compiling: it, or what it is computed from, is larger than is folded"
        ) from need
    # What is drawn is never a part of a job: the next call draws other numbers. Neither is what an
    # earlier stage computed: of what it is computed, it is as large as that.
    if any(is_draw(name) or is_kept(name) for name in sources):
        return None
    # What a net computes, a stage of its own computes: as a part of the job, each value of its
    # inputs would have one, and much of it is not folded.
    new = [name for name in sources if name not in known]
    return None if (known and not new) or _reads_much(graph, need.tensor) else new


def _measured(need: ValueNeeded) -> MeasureNeeded:
    """A stage that does nothing but compute what is needed."""
    measure = Measure((VALUE_OF + need.tensor.name,), nothing_more, (), str(need))
    return MeasureNeeded([need.tensor], measure)


def _first_stage(
    importer: Importer,
    need: MeasureNeeded,
    known: Mapping[str, Array],
    specs: Mapping[str, TensorSpec],
) -> SpecialisedJob:
    """The job that computes what is measured and what is kept, and what needs none of it."""
    builder = importer.builder
    need = joined([need, *importer.look_ahead()])
    tensors, measure = need.tensors, need.measure
    outputs = {tensor.name: name for name, tensor in zip(measure.reads, tensors, strict=True)}
    much = _made_of_much(builder.finish())
    keeps: dict[str, str] = {}
    for name, tensor in importer.alive().items():
        if tensor.name in much:
            keeps[KEPT + name] = outputs.setdefault(tensor.name, KEPT + name)
            if outputs[tensor.name] == KEPT + name:
                builder.output(KEPT + name, tensor)
    measure = replace(measure, keeps=keeps)
    _check_names(specs, measure)
    for name, tensor in zip(measure.reads, tensors, strict=True):
        builder.output(name, tensor)
    return SpecialisedJob(_without_unread(builder.finish()), tuple(known), then=measure)


_LIGHT = frozenset({"cast", "dequantize", "reshape", "transpose"})


def _made_of_much(graph: JobGraph) -> set[str]:
    """The tensors that are worth keeping for a later stage.

    A small one that is computed of small inputs may decide a shape: these are then made a part of
    the job, which needs no stage, and of what was kept nobody knows what it was computed of. What
    is there in every stage needs no keeping: what is computed of nothing that is fed, such as a
    weight of its quantized form, and the rows of such a table, which are copied either way.
    """
    given = {tensor.name: tensor.spec.nbytes for tensor in graph.inputs}
    much = {n for n, nbytes in given.items() if nbytes > limits.SPECIALISED_BYTES}
    much |= {name for name in given if is_kept(name) or is_draw(name)}
    worth: set[str] = set()
    rows: set[str | None] = set()
    fed = set(given)
    for op in graph.ops:
        if fed.isdisjoint(op.inputs):
            continue
        fed.update(op.outputs)
        if not much.isdisjoint(op.inputs):
            much.update(op.outputs)
            worth.update(op.outputs)
        for name, spec in zip(op.outputs, op.call.outputs, strict=True):
            if spec.nbytes > limits.UNROLLED_BYTES:
                worth.add(name)
        is_lookup = op.call.op == "gather" and op.inputs[0] not in fed
        if is_lookup or (op.call.op in _LIGHT and rows.issuperset(fed.intersection(op.inputs))):
            rows.update(op.outputs)
            worth.difference_update(op.outputs)
    return worth


def _without_unread(graph: JobGraph) -> JobGraph:
    """The job of a stage without the inputs that only others read."""
    graph = remove_dead_ops(graph)
    read = {name for op in graph.ops for name in op.inputs}
    read |= {tensor.name for _, tensor in graph.results}
    return replace(graph, inputs=tuple(tensor for tensor in graph.inputs if tensor.name in read))


def _check_names(specs: Mapping[str, TensorSpec], measure: Measure) -> None:
    taken = [name for name in (*measure.reads, *measure.makes, *measure.keeps) if name in specs]
    if taken:
        raise InvalidModelError(
            f"{measure.why}: an input is called {quote(taken[0])}, as what is found between stages "
            "of a model is; give it another name"
        )


def sources_of(graph: JobGraph, tensor: Tensor) -> tuple[str, ...]:
    """The job inputs that ``tensor`` is computed from, in the order of the inputs."""
    before = _before(graph, tensor)
    return tuple(entry.name for entry in graph.inputs if entry.name in before)


def _reads_much(graph: JobGraph, tensor: Tensor) -> bool:
    """True when ``tensor`` is computed of more than numbers that shapes are computed of."""
    before = _before(graph, tensor)
    return any(
        spec is not None and spec.nbytes > limits.SPECIALISED_BYTES
        for op in graph.ops
        if not before.isdisjoint(op.outputs)
        for spec in op.call.inputs
    )


def _before(graph: JobGraph, tensor: Tensor) -> set[str]:
    """The names of ``tensor`` and of all that it is computed of."""
    maker = {name: op for op in graph.ops for name in op.outputs}
    seen: set[str] = set()
    pending = [tensor.name]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            if name in maker:
                pending += [source for source in maker[name].inputs if source is not None]
    return seen


def _check_values(new: list[str], need: ValueNeeded, arrays: Mapping[str, Array]) -> None:
    unknown = [name for name in new if name not in arrays]
    if unknown:
        raise UnsupportedModelError(
            f"{need}: tensor {quote(need.tensor.name)} decides a shape and depends on the values "
            f"of inputs {quote_all(unknown)}; give arrays for them, not only specs"
        ) from need
