"""``Template``: a job after all passes, with symbolic sizes to be filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.aligned import aligned, aligned_empty
from headrace.compiler.pipeline import Prepared
from headrace.graph.constants import Constants, Entry, LazyConstant, entries_of
from headrace.graph.job_graph import JobOp
from headrace.graph.sized import SizedConstant, call_has_sizes, filled_call, filled_spec
from headrace.ops import Tensor
from headrace.sizes import MARK, Values
from headrace.tensor_spec import Array


class Template:
    """What ``prepare`` made of a job with sizes; used by one thread.

    Attributes:
        held_bytes: of the arrays that it holds. It holds no value of a lazy constant.
    """

    def __init__(self, prepared: Prepared, shared: Callable[[Array], Array]) -> None:
        """Take what was prepared apart: what is the same for all sizes stays one object.

        Args:
            prepared: the job.
            shared: gives an equal array in the place of one that lies row by row, aligned: that of
                a job which has it in memory.
        """
        graph = prepared.graph
        entries = entries_of(graph.constants)
        self._prepared = replace(prepared, graph=replace(graph, constants={}, ops=()))
        self._ops = [(op, call_has_sizes(op.call)) for op in graph.ops]
        self._entries = {
            name: entry.again(aligned_empty)
            if isinstance(entry, LazyConstant)
            else shared(aligned(entry))
            for name, entry in entries.items()
        }
        self.held_bytes = sum(map(_held_bytes, self._entries.values()))

    @property
    def fault(self) -> str:
        """Why it cannot be filled in, whatever was decided; empty when it can."""
        if self._prepared.boxing or self._prepared.graph.variables or self._prepared.graph.hints:
            return "the job is one for several devices, or has variables"
        for op, _ in self._ops:
            call = op.call
            texts = [call.name, call.location, *op.outputs]
            texts += [text for value in call.attrs.values() for text in _texts(value)]
            if any(MARK in text for text in texts):
                return f"{call} says a size in a text"
        return ""

    def filled(self, values: Values) -> Prepared:
        """The job for given sizes."""
        graph = self._prepared.graph
        known: dict[int, Entry] = {}
        entries: dict[str, Entry] = {}
        for name, entry in self._entries.items():
            if isinstance(entry, SizedConstant):
                entries[name] = entry.filled(values, known)
            elif isinstance(entry, LazyConstant):
                entries[name] = entry.again(aligned_empty)
            else:
                entries[name] = entry
        ops = [
            JobOp(filled_call(op.call, values), op.inputs, op.outputs, op.placement)
            if is_sized
            else op
            for op, is_sized in self._ops
        ]
        filled = replace(
            graph,
            inputs=tuple(_tensor(tensor, values) for tensor in graph.inputs),
            outputs=tuple((name, _tensor(tensor, values)) for name, tensor in graph.outputs),
            ops=tuple(ops),
            constants=Constants(entries),
        )
        return replace(self._prepared, graph=filled)


def _tensor(tensor: Tensor, values: Values) -> Tensor:
    return Tensor(tensor.name, filled_spec(tensor.spec, values))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, tuple) else []


def _held_bytes(entry: Entry) -> int:
    if isinstance(entry, SizedConstant):
        return entry.held_bytes()
    return 0 if isinstance(entry, LazyConstant) else entry.nbytes
