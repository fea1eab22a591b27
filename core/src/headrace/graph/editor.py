"""``GraphEditor``: what a pass needs to put one op in the place of several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
        self._changed = False

    # Passes ask about every op of graphs of any size: names are looked up, never searched for. Many
    # find none of their ops in a graph, and ask nothing.

    @cached_property
    def _ops(self) -> dict[str, JobOp]:
        return {op.call.name: op for op in self._graph.ops}

    @cached_property
    def _results(self) -> set[str]:
        return {tensor.name for _, tensor in self._graph.results}

    @cached_property
    def _inputs(self) -> dict[str, TensorSpec]:
        inputs = {tensor.name: tensor.spec for tensor in self._graph.inputs}
        return inputs | {part.tensor.name: part.tensor.spec for part in self._graph.variables}

    @cached_property
    def _constants(self) -> Mapping[str, TensorSpec]:
        return specs_of(self._graph.constants)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {op.call.name: place for place, op in enumerate(self._graph.ops)}

    @cached_property
    def _makers(self) -> dict[str, str]:
        return {made: op.call.name for op in self._ops.values() for made in op.outputs}

    @cached_property
    def _readers(self) -> dict[str, set[str]]:
        readers: dict[str, set[str]] = {}
        for op in self._ops.values():
            for tensor in op.inputs:
                if tensor in readers:
                    readers[tensor].add(op.call.name)
                elif tensor is not None:
                    readers[tensor] = {op.call.name}
        return readers

    def ops(self, op: str) -> tuple[JobOp, ...]:
        """The ops called ``op`` on the device, in topological order, as things stand."""
        return tuple(
            found
            for found in (self._ops.values() if self._changed else self._graph.ops)
            if found.call.op == op and found.placement.tag == self._tag
        )

    def maker(self, tensor: str | None) -> JobOp | None:
        """The op on the device that makes ``tensor``; None for an input, a constant, or another."""
        if tensor not in self._makers:
            return None
        op = self._ops[self._makers[tensor]]
        return op if op.placement.tag == self._tag else None

    def users(self, tensor: str) -> tuple[JobOp, ...]:
        """The ops that read ``tensor``, on any device, in topological order."""
        names: Collection[str] = self._readers.get(tensor, ())
        if len(names) > 1:
            names = sorted(names, key=self._place.__getitem__)
        return tuple([self._ops[name] for name in names])

    def is_private(self, op: JobOp, user: JobOp) -> bool:
        """True when nobody but ``user`` needs what ``op`` makes, and both are at one place."""
        return op.placement == user.placement and all(
            tensor not in self._results and self.users(tensor) in ((), (user,))
            for tensor in op.outputs
        )

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
            if self._ops.get(old.call.name) is not old:
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
        padded = (*inputs, *(None,) * (len(call.inputs) - len(inputs)))
        new = JobOp(call, padded, last.outputs, last.placement)
        for old in chain:
            self._leave(old)
        for old in before:
            del self._ops[old.call.name]
        self._ops[new.call.name] = new  # keeps its place in the order
        self._changed = True
        self._enter(new)
        return new

    def finish(self) -> JobGraph:
        """The graph with the changes; the one that the editor began with when there are none."""
        return replace(self._graph, ops=tuple(self._ops.values())) if self._changed else self._graph

    def tensor(self, name: str) -> Tensor:
        """The tensor called ``name``, with its spec.

        Raises:
            GraphError: there is none.
        """
        return Tensor(name, self._spec(name))

    def _spec(self, name: str) -> TensorSpec:
        if name in self._constants:
            return self._constants[name]
        if name in self._inputs:
            return self._inputs[name]
        if name in self._makers:
            op = self._ops[self._makers[name]]
            return op.call.outputs[op.outputs.index(name)]
        raise GraphError(f"job {self._graph.name!r} has no tensor {name!r}")

    def _enter(self, op: JobOp) -> None:
        self._makers.update(dict.fromkeys(op.outputs, op.call.name))
        for tensor in op.inputs:
            if tensor is not None:
                self._readers.setdefault(tensor, set()).add(op.call.name)

    def _leave(self, op: JobOp) -> None:
        for made in op.outputs:
            del self._makers[made]
        for tensor in op.inputs:
            if tensor is not None:
                self._readers[tensor].discard(op.call.name)
