"""Run the passes that plugins bring, and hold each to its own device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.compiler.decision import PassRun
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.stage import Watch, nobody
from headrace.compiler.verify import verify_job_graph
from headrace.errors import HeadraceError, PluginError
from headrace.graph import JobGraph, JobOp, PassEntry
from headrace.graph.constants import Entry, LazyConstant, entries_of
from headrace.ops import make_call
from headrace.registry.record import RAISED, deed
from headrace.registry.registry import BackendRegistry
from headrace.signals import let_handlers_through


def run_plugin_passes(
    graph: JobGraph, registry: BackendRegistry, watch: Watch = nobody, *, quantized: bool = False
) -> tuple[JobGraph, tuple[PassRun, ...]]:
    """Run the passes of the devices that the job uses: by tag, then in the order given.

    Those that say ``quantized`` are run when that is asked for, the others when it is not.

    Before: any ops. After: the ops of a device are what its own passes made of them; all others,
    and the job's inputs and results, are as before. What a pass left without a reader is gone.

    ``watch`` is told each as stage ``TAG.PASS``. What a pass did is verified always.

    Returns:
        The graph, and what ran.

    Raises:
        PluginError: a pass raised, or did what it may not; names the plugin and the pass.
        DeviceError: a device cannot be used.
    """
    ran: list[PassRun] = []
    for tag in sorted(graph.index.tags):
        backend = registry.backend(tag)
        for entry in backend.passes:
            if entry.quantized != quantized:
                continue
            who = f"pass {entry.name!r} of {backend.origin} (device {tag!r})"
            made = _run(entry, graph, registry, who)
            changed, count = False, len(graph.ops)
            if made is not graph:
                made = remove_dead_ops(made)
                changed = made.ops != graph.ops or made.results != graph.results
                graph = made
            ran.append(PassRun(tag, entry.name, backend.origin, changed, count, len(graph.ops)))
            watch(f"{tag}.{entry.name}", graph)
    return graph, tuple(ran)


def _run(entry: PassEntry, graph: JobGraph, registry: BackendRegistry, who: str) -> JobGraph:
    constants = dict(entries_of(graph.constants))
    try:
        made: object = entry.rewrite(graph)
    except RAISED as error:
        let_handlers_through(error)
        raise PluginError(f"job {graph.name!r}: {who} {deed(error)}") from error
    if made is graph:
        return graph
    if not isinstance(made, JobGraph):
        kind = type(made).__name__
        raise PluginError(f"job {graph.name!r}: {who} returned {kind}; it must return a JobGraph")
    try:
        fault = _fault(entry.tag, graph, made, constants)
        if not fault and made.is_sound_as(graph):
            # Each call was checked as it was made, by a class that the pass brought: the first of
            # a kind shows whether it is the one that is registered.
            kinds, old = made.index.kinds, graph.index.kinds
            fault = _call_fault(
                [ops[0] for kind, ops in kinds.items() if kind not in old], registry
            )
        elif not fault:
            verify_job_graph(made, f"pass {entry.name!r}")
            calls = {id(op.call) for op in graph.ops}
            fault = _call_fault([op for op in made.ops if id(op.call) not in calls], registry)
    except HeadraceError as error:
        raise PluginError(f"job {graph.name!r}: {who} left a bad graph: {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise PluginError(f"job {graph.name!r}: {who} left no graph at all: {what}") from error
    if fault:
        raise PluginError(f"job {graph.name!r}: {who} {fault}")
    return made


def _fault(tag: str, graph: JobGraph, made: JobGraph, constants: Mapping[str, Entry]) -> str:
    """What a pass did that is not its business; empty when there is nothing."""
    for what in ("name", "placement", "inputs", "variables"):
        before, after = getattr(graph, what), getattr(made, what)
        if before != after:
            return f"changed the {what} of the job from {before!r} to {after!r}"
    results = [[(name, tensor.spec) for name, tensor in g.results] for g in (graph, made)]
    if results[0] != results[1]:
        return f"changed the results of the job from {results[0]} to {results[1]}"
    both = (graph, made)
    mixed = any(g.index.tags != {tag} for g in both)
    foreign = [[op for op in g.ops if op.placement.tag != tag] if mixed else [] for g in both]
    if foreign[0] != foreign[1]:
        strange = [op for op in foreign[0] if op not in foreign[1]]
        strange += [op for op in foreign[1] if op not in foreign[0]]
        op = (strange or foreign[1])[0]
        return f"changed {op.call}, which is placed on device {op.placement.tag!r}"
    for name, entry in entries_of(made.constants).items():
        was = constants.get(name, entry)
        # One that asked for the value of a lazy one may give that back.
        if was is not entry and not (isinstance(was, LazyConstant) and was.value() is entry):
            return f"changed the value of {name!r}; give a constant of another value a new name"
    if graph.results == made.results:
        return ""
    own = {tensor for op in made.ops if op.placement.tag == tag for tensor in op.outputs}
    for name, (_, before), (_, after) in zip(
        [name for name, _ in graph.results], graph.results, made.results, strict=True
    ):
        if before != after and after.name not in own and after.name not in made.constants:
            return f"made result {name!r} of {after.name!r}, which it did not compute"
    return ""


def _call_fault(ops: Iterable[JobOp], registry: BackendRegistry) -> str:
    """Check calls against their schemas, as they are when a builder adds them."""
    for op in ops:
        call = op.call
        checked = make_call(
            registry.op(call.op).op,
            call.name,
            call.inputs,
            call.attrs,
            outputs=len(op.outputs),
            location=call.location,
        )
        if checked != call:
            return f"left a bad graph: {call} says {call.outputs}, and makes {checked.outputs}"
    return ""
