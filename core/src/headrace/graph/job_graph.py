"""The job graph: what a job computes, logically.

A ``JobGraph`` is immutable. Ops are in topological order; every tensor has one producer: an op, a
job input, a constant or a variable. Ops have no side effects: a variable is read as it is when the
call begins, and takes its new value, if the job has one for it, when the call ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType

from headrace.graph.constants import Constants, Entry, LazyConstant, entries_of, specs_of
from headrace.graph.hint import SbpHint
from headrace.graph.op_index import OpIndex
from headrace.graph.variable import VariablePart
from headrace.light_dataclass import dataclass, setters
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.tensor_spec import Array


@dataclass(frozen=True, slots=True)
class JobOp:
    """One op of a job: the checked call, the tensors it reads and makes, and where it runs."""

    call: OpCall
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    placement: Placement

    def __init__(
        self,
        call: OpCall,
        inputs: tuple[str | None, ...],
        outputs: tuple[str, ...],
        placement: Placement,
    ) -> None:
        _put_call(self, call)
        _put_inputs(self, inputs)
        _put_outputs(self, outputs)
        _put_placement(self, placement)

    def reading(self, same: Mapping[str, str]) -> JobOp:
        """The op that reads ``same[tensor]`` where that has it; itself where it has none."""
        if same.keys().isdisjoint(self.inputs):
            return self
        inputs = [None if name is None else same.get(name, name) for name in self.inputs]
        return JobOp(self.call, tuple(inputs), self.outputs, self.placement)


_put_call, _put_inputs, _put_outputs, _put_placement = setters(JobOp)


@dataclass(frozen=True, slots=True, eq=False)
class JobGraph:
    """A job.

    Attributes:
        name: name of the job.
        placement: where its inputs enter and constants belong when nothing else says so.
        inputs: what is fed, in order.
        outputs: (result name, tensor), in order. A tensor may be an op's, an input's or a
            constant's, and may be named by several results.
        ops: in topological order.
        constants: values of constant tensors, by tensor name; arrays that numpy lets nobody write,
            and that need not lie row by row.
        variables: the tensors that are variables, or parts of some.
        updates: (tensor that is a variable, its value after the call), in order.
        hints: how the user wants tensors to lie over several devices, by tensor name. A pass
            keeps a tensor that has one, or leaves its hint out with it.
    """

    name: str
    placement: Placement
    inputs: tuple[Tensor, ...]
    outputs: tuple[tuple[str, Tensor], ...]
    ops: tuple[JobOp, ...]
    constants: Mapping[str, Array]
    variables: tuple[VariablePart, ...] = ()
    updates: tuple[tuple[str, Tensor], ...] = ()
    hints: Mapping[str, SbpHint] = field(default_factory=lambda: MappingProxyType({}))
    _index: OpIndex | None = field(default=None, init=False, repr=False)
    _origin: object = field(default_factory=object, init=False, repr=False)

    @property
    def index(self) -> OpIndex:
        """Its ops by what they are, make and read; the same object each time."""
        if self._index is None:
            object.__setattr__(self, "_index", OpIndex(self.ops))
        assert self._index is not None
        return self._index

    def of_kind(self, *kinds: str) -> tuple[JobOp, ...]:
        """The ops of these kinds, in order; for passes, which seldom are about all ops.

        Example:
            ``graph.of_kind("conv", "matmul")``
        """
        known = self.index.kinds
        found = [kind for kind in kinds if kind in known]
        if len(found) < 2:
            return known[found[0]] if found else ()
        return tuple([op for op in self.ops if op.call.op in found])

    @property
    def results(self) -> tuple[tuple[str, Tensor], ...]:
        """All that the job is run for: what the caller gets, and what variables become."""
        return self.outputs + self.updates

    def passing(self, constant: str) -> Array:
        """The value of a constant, which the job does not hold because of that.

        For who makes another constant in the place of a large one. One that is lazy is made anew
        for whoever asks for its value next.

        Raises:
            KeyError: the job has no such constant.
        """
        entry = entries_of(self.constants)[constant]
        return entry.passing() if isinstance(entry, LazyConstant) else entry

    def made_soundly_of(self, graph: JobGraph) -> JobGraph:
        """This graph, which keeps all that a graph must satisfy if ``graph`` does.

        For who checks each change as it is made, so that nobody need look at the whole again.
        """
        object.__setattr__(self, "_origin", graph._origin)
        return self

    def is_sound_as(self, graph: JobGraph) -> bool:
        """True when it is made of ``graph``, if in several steps, by such alone."""
        return self._origin is graph._origin

    def but(
        self,
        *,
        ops: Iterable[JobOp] | None = None,
        constants: Mapping[str, Array] | None = None,
        hints: Mapping[str, SbpHint] | None = None,
    ) -> JobGraph:
        """The job, but with other ops, constants or hints: what passes most often change."""
        return JobGraph(
            self.name,
            self.placement,
            self.inputs,
            self.outputs,
            self.ops if ops is None else tuple(ops),
            self.constants if constants is None else constants,
            self.variables,
            self.updates,
            self.hints if hints is None else hints,
        )

    def with_constants(self, more: Mapping[str, Array]) -> JobGraph:
        """The job with more constants, for ops that a pass puts into it.

        Those that it has are shared as they are: values that nobody has asked for are not made.

        Args:
            more: values by names that no tensor of the job has; nobody writes to them any more.
        """
        entries: dict[str, Entry] = {**entries_of(self.constants), **more}
        specs = {**specs_of(self.constants), **specs_of(more)}
        made = self.but(constants=Constants(entries, specs))
        object.__setattr__(made, "_index", self.index)  # the ops are the same
        taken = [*self.inputs, *(part.tensor for part in self.variables)]
        old = {*self.constants, *self.index.specs, *(tensor.name for tensor in taken)}
        return made if old & more.keys() else made.made_soundly_of(self)

    def reduced(self, ops: Sequence[JobOp], constants: Iterable[str]) -> JobGraph:
        """The job with some of its ops and constants, in their order; hints of others are gone."""
        entries, specs = entries_of(self.constants), specs_of(self.constants)
        left = {name: entries[name] for name in constants}
        hints = self.hints
        if hints:
            there = {*left, *(tensor.name for tensor in self.inputs)}
            there.update(*[op.outputs for op in ops])
            hints = MappingProxyType({name: hint for name, hint in hints.items() if name in there})
        made = self.but(ops=ops, constants=Constants(left, specs), hints=hints)
        if len(ops) == len(self.ops):  # they are the same
            object.__setattr__(made, "_index", self.index)
        return made

    def rewired(self, ops: Iterable[JobOp], same: Mapping[str, str]) -> JobGraph:
        """The job with other ops, its results read from ``same[tensor]`` where that has it."""

        def wired(results: tuple[tuple[str, Tensor], ...]) -> tuple[tuple[str, Tensor], ...]:
            return tuple((n, Tensor(same.get(t.name, t.name), t.spec)) for n, t in results)

        hints = {name: hint for name, hint in self.hints.items() if name not in same}
        return replace(
            self,
            ops=tuple(ops),
            outputs=wired(self.outputs),
            updates=wired(self.updates),
            hints=MappingProxyType(hints),
        )
