"""What single passes promise about the job graph that they leave, as their docstrings say.

A pass that is not listed promises no more than a whole graph: its work is seen in golden files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from headrace.compiler.layouts.choice import choose_format
from headrace.compiler.layouts.ways import Ways
from headrace.data_format import format_of
from headrace.device import COLLECTIVES
from headrace.errors import GraphError
from headrace.graph import JobGraph, JobOp
from headrace.registry.registry import BackendRegistry

Promise = Callable[[JobGraph, BackendRegistry], Iterator[str]]
"""Says what is broken, one text each; nothing when the promise is kept."""


def verify_promise(graph: JobGraph, after: str, registry: BackendRegistry) -> None:
    """Check what the pass ``after`` promises.

    Raises:
        GraphError: names the pass, the op and the tensor.
    """
    for promise in PROMISES.get(after, ()):
        for problem in promise(graph, registry):
            raise GraphError(f"job {graph.name!r} after {after}: {problem}")


def nothing_is_dead(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """Every op and constant is read, or is a result."""
    needed = {tensor.name for _, tensor in graph.results}
    needed.update(name for op in graph.ops for name in op.inputs if name is not None)
    for op in graph.ops:
        if needed.isdisjoint(op.outputs):
            yield f"nobody reads what {op.call} makes: {', '.join(map(repr, op.outputs))}"
    for name in graph.constants:
        if name not in needed:
            yield f"nobody reads constant {name!r}"


def no_two_are_equal(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """No two ops do the same to the same tensors at the same place, for the same hints."""
    seen: dict[object, JobOp] = {}
    for op in graph.ops:
        attrs = repr(sorted(op.call.attrs.items()))
        hints = tuple(str(graph.hints.get(name)) for name in op.outputs)
        key = (op.call.op, op.inputs, attrs, op.call.output_count, op.placement, hints)
        first = seen.setdefault(key, op)
        if first is not op:
            yield f"{first.call} and {op.call} do the same to {list(op.inputs)}"


def no_move_follows_its_like(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """No transpose reads a transpose, and no reshape a reshape, at one place without a hint."""
    makers = {name: op for op in graph.ops for name in op.outputs}
    for op in graph.ops:
        if op.call.op in ("transpose", "reshape") and graph.hints.keys().isdisjoint(
            (op.inputs[0], *op.outputs)
        ):
            source = makers.get(op.inputs[0] or "")
            if source is not None and (source.call.op, source.placement) == (
                op.call.op,
                op.placement,
            ):
                yield f"{op.call} reads {op.inputs[0]!r}, which {source.call} only moved"


def ops_are_on_one_device(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """Every op but a collective is placed on one device."""
    for op in graph.ops:
        if op.placement.parallel_num != 1 and op.call.op not in COLLECTIVES:
            yield f"{op.call} is still placed on several devices: '{op.placement}'"


def hints_are_spent(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """No hint is left: what it asked for is expressed in ops."""
    for name, hint in graph.hints.items():
        yield f"{hint.said_of(name)}, and nobody will see to it any more"


def formats_are_chosen(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """Every op over images is in the format that its device prefers."""
    ways = Ways(registry)
    for op in graph.ops:
        here = format_of(op.call)
        choice = here and choose_format(op.call, registry.backend(op.placement.tag), ways)
        if choice and choice.data_format != here:
            yield f"{op.call} is {here}; its device prefers {choice.data_format}: {choice.why}"


def ops_have_kernels(graph: JobGraph, registry: BackendRegistry) -> Iterator[str]:
    """The device of every op has a kernel for it, the devices of a collective do it."""
    for op in graph.ops:
        backend = registry.backend(op.placement.tag)
        several = op.placement.parallel_num > 1
        entry = (backend.collectives if several else backend.kernels).select(op.call)
        if entry is None:
            yield f"{op.call} was left to device {op.placement.tag!r}, which has no kernel for it"


PROMISES: Mapping[str, tuple[Promise, ...]] = MappingProxyType(
    {
        "remove_dead_ops": (nothing_is_dead,),
        "merge_equal_ops": (no_two_are_equal,),
        "cancel_moves": (no_move_follows_its_like,),
        "remove_what_is_left": (nothing_is_dead,),
        "shard_ops": (ops_are_on_one_device, hints_are_spent),
        "choose_layouts": (formats_are_chosen,),
        "lower_ops": (nothing_is_dead, ops_are_on_one_device, ops_have_kernels),
    }
)
"""By the name of the pass in ``pipeline.py``."""
