"""``GraphEditor``: what a pass needs to put one op in the place of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from headrace.errors import GraphError
from headrace.graph.constants import specs_of
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.ops import Op, Tensor, make_call
from headrace.tensor_spec import TensorSpec


class GraphEditor:
    """A copy of a job graph with the changes that a pass makes; used by one thread.

    It shows the ops of one device: those of others are not a pass's business.
    """

    def __init__(self, graph: JobGraph, tag: str) -> None:
        """Begin with ``graph`` as it is.

        Args:
            graph: what the pass was given; stays as it is.
            tag: the device whose ops may be changed.
        """
        self._graph = graph
        self._tag = tag
        self._index = graph.index
        # What is not as in the graph any more. Passes ask about every op of graphs of any size:
        # names are looked up, never searched for, and many passes find nothing to change.
        self._is_sound = True  # no new op reads what is made after it
        self._gone: set[str] = set()
        self._new: dict[str, JobOp] = {}
        self._makers: dict[str, JobOp] = {}
        self._readers: dict[str, list[JobOp]] = {}  # new ones, of which some may be gone

    @cached_property
    def _results(self) -> set[str]:
        return {tensor.name for _, tensor in self._graph.results}

    @cached_property
    def _inputs(self) -> dict[str, TensorSpec]:
        inputs = {tensor.name: tensor.spec for tensor in self._graph.inputs}
        return inputs | {part.tensor.name: part.tensor.spec for part in self._graph.variables}

    def ops(self, op: str) -> tuple[JobOp, ...]:
        """The ops called ``op`` on the device, in topological order, as things stand."""
        found = [old for old in self._graph.of_kind(op) if old.placement.tag == self._tag]
        if self._new:
            found = [old for old in found if self._stands(old)]
            found += [new for new in self._new.values() if new.call.op == op]
            found.sort(key=self._place)
        return tuple(found)

    def maker(self, tensor: str | None) -> JobOp | None:
        """The op on the device that makes ``tensor``; None for an input, a constant, or another."""
        op = self._maker(tensor)
        return op if op is not None and op.placement.tag == self._tag else None

    def users(self, tensor: str) -> tuple[JobOp, ...]:
        """The ops that read ``tensor``, on any device, in topological order."""
        readers = self._index.readers.get(tensor, ())
        if not self._new:
            return readers
        found = [op for op in readers if self._stands(op)]
        if tensor in self._readers:
            found += [op for op in self._readers[tensor] if self._stands(op)]
            found.sort(key=self._place)
        return tuple(found)

    def is_private(self, op: JobOp, user: JobOp) -> bool:
        """True when nobody but ``user`` needs what ``op`` makes, and both are at one place."""
        if op.placement is not user.placement and op.placement != user.placement:
            return False
        for tensor in op.outputs:
            if tensor in self._results or any(other is not user for other in self.users(tensor)):
                return False
        return True

    def replace(
        self,
        chain: Sequence[JobOp],
        op: type[Op],
        inputs: Sequence[str | None],
        attrs: Mapping[str, object] = MappingProxyType({}),
    ) -> JobOp:
        """Put one op in the place of a chain; it makes the tensors that the last op made.

        Args:
            chain: ops of one placement, the last one last; nobody else needs what the others make.
            op: the class of the new op: a plugin's own, or one of ``headrace.ops``.
            inputs: the tensors it reads, in schema order.
            attrs: its attributes.

        Raises:
            GraphError: an op is not in the graph, others need what is to vanish, or the new op
                makes other shapes or dtypes than the last of the chain.
            OpError: the op does not take these inputs or attributes.
        """
        *before, last = chain
        for old in chain:
            if not self._stands(old):
                raise GraphError(f"{old.call} is not in the graph; it may have been replaced")
            if old.placement != last.placement or old.placement.tag != self._tag:
                raise GraphError(f"{old.call} is placed on '{old.placement}', not with {last.call}")
        inside = {old.call.name for old in chain}
        for old in before:
            for tensor in old.outputs:
                outside = [u.call for u in self.users(tensor) if u.call.name not in inside]
                if outside or tensor in self._results:
                    who = str(outside[0]) if outside else "the caller"
                    raise GraphError(f"{who} needs {tensor!r} of {old.call}, which would vanish")
        specs = [None if name is None else self._spec(name) for name in inputs]
        call = make_call(
            op,
            last.call.name,
            specs,
            attrs,
            outputs=len(last.outputs),
            location=last.call.location,
        )
        if call.outputs != last.call.outputs:
            made, wanted = (", ".join(map(str, c.outputs)) for c in (call, last.call))
            raise GraphError(f"{call} would make {made}, where {last.call} makes {wanted}")
        for name in inputs:
            maker = self._maker(name)
            if maker is not None and self._place(maker) >= self._place(last):
                self._is_sound = False
        padded = (*inputs, *(None,) * (len(call.inputs) - len(inputs)))
        new = JobOp(call, padded, last.outputs, last.placement)
        self._gone |= inside
        self._gone.remove(new.call.name)
        for name in inside:
            self._new.pop(name, None)
        self._new[new.call.name] = new
        self._makers.update(dict.fromkeys(new.outputs, new))
        for tensor in {name for name in inputs if name is not None}:
            self._readers.setdefault(tensor, []).append(new)
        return new

    def finish(self) -> JobGraph:
        """The graph with the changes; the one that the editor began with when there are none."""
        if not self._new:
            return self._graph
        new, gone = self._new, self._gone
        names = ((op.call.name, op) for op in self._graph.ops)
        ops = [new.get(name, op) for name, op in names if name not in gone]
        made = replace(self._graph, ops=tuple(ops))
        return made.made_soundly_of(self._graph) if self._is_sound else made

    def tensor(self, name: str) -> Tensor:
        """The tensor called ``name``, with its spec.

        Raises:
            GraphError: there is none.
        """
        return Tensor(name, self._spec(name))

    def _spec(self, name: str) -> TensorSpec:
        constant = specs_of(self._graph.constants).get(name)
        if constant is not None:
            return constant
        op = self._maker(name)
        if op is not None:
            return op.call.outputs[op.outputs.index(name)]
        if name in self._inputs:
            return self._inputs[name]
        raise GraphError(f"job {self._graph.name!r} has no tensor {name!r}")

    def _stands(self, op: JobOp) -> bool:
        """Whether an op is in the graph now: a new one has the name of the last that it is for."""
        name = op.call.name
        if name in self._gone:
            return False
        return (self._new.get(name) or self._index.by_name.get(name)) is op

    def _place(self, op: JobOp) -> int:
        return self._index.places[op.call.name]

    def _maker(self, tensor: str | None) -> JobOp | None:
        if tensor is None:
            return None
        op = self._makers.get(tensor) or self._index.makers.get(tensor)
        return None if op is None or op.call.name in self._gone else op
