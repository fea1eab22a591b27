"""``GraphEditor``: what a pass needs to put one op in the place of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        self._new: list[JobOp] = []  # those that were replaced again, too
        self._is_sound = True  # no new op reads what is made after it

    # The ops as things stand. Passes ask about every op of graphs of any size: names are looked up,
    # never searched for, and nothing is looked up for the many passes that ask about none.

    @cached_property
    def _by_name(self) -> dict[str, JobOp]:
        """In order: a new op has the name of the last that it is for, and its place."""
        return dict(self._graph.index.by_name)

    @cached_property
    def _makers(self) -> dict[str | None, JobOp]:
        return dict(self._graph.index.makers)

    @cached_property
    def _readers(self) -> dict[str | None, tuple[JobOp, ...]]:
        return dict(self._graph.index.readers)

    @cached_property
    def _results(self) -> set[str]:
        return {tensor.name for _, tensor in self._graph.results}

    @cached_property
    def _inputs(self) -> dict[str, TensorSpec]:
        inputs = {tensor.name: tensor.spec for tensor in self._graph.inputs}
        return inputs | {part.tensor.name: part.tensor.spec for part in self._graph.variables}

    def ops(self, op: str) -> tuple[JobOp, ...]:
        """The ops called ``op`` on the device, in topological order, as things stand."""
        found = self._graph.of_kind(op)
        if self._new:
            both = (*found, *[new for new in self._new if new.call.op == op])
            found = self._in_order(*[one for one in both if self._stands(one)])
        return tuple([one for one in found if one.placement.tag == self._tag])

    def maker(self, tensor: str | None) -> JobOp | None:
        """The op on the device that makes ``tensor``; None for an input, a constant, or another."""
        op = self._makers.get(tensor)
        return op if op is not None and op.placement.tag == self._tag else None

    def users(self, tensor: str) -> tuple[JobOp, ...]:
        """The ops that read ``tensor``, on any device, in topological order."""
        return self._readers.get(tensor, ())

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
            apart = old.placement is not last.placement and old.placement != last.placement
            if apart or old.placement.tag != self._tag:
                raise GraphError(f"{old.call} is placed on '{old.placement}', not with {last.call}")
        inside = {old.call.name for old in chain}
        for old in before:
            for tensor in old.outputs:
                outside = [u.call for u in self.users(tensor) if u.call.name not in inside]
                if outside or tensor in self._results:
                    who = str(outside[0]) if outside else "the caller"
                    raise GraphError(f"{who} needs {tensor!r} of {old.call}, which would vanish")
        specs, places = [], self._graph.index.places
        for name in inputs:
            maker = self._makers.get(name)
            specs.append(None if name is None else self._spec(name, maker))
            if maker is not None and places[maker.call.name] >= places[last.call.name]:
                self._is_sound = False
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
        self._put(new, chain)
        return new

    def _put(self, new: JobOp, chain: Sequence[JobOp]) -> None:
        """Let ``new`` stand in the place of the last of the chain, and the others be gone."""
        readers = self._readers
        for old in chain:
            for name in {*old.inputs} - {None}:
                readers[name] = tuple([op for op in readers[name] if op is not old])
        for name in {*new.inputs} - {None}:
            others = readers.get(name)
            readers[name] = self._in_order(*others, new) if others else (new,)
        for old in chain[:-1]:
            del self._by_name[old.call.name]
            for made in old.outputs:
                del self._makers[made]
        self._by_name[new.call.name] = new
        self._makers.update(dict.fromkeys(new.outputs, new))
        self._new.append(new)

    def _stands(self, op: JobOp) -> bool:
        return self._by_name.get(op.call.name) is op

    def _in_order(self, *ops: JobOp) -> tuple[JobOp, ...]:
        places = self._graph.index.places
        return tuple(sorted(ops, key=lambda op: places[op.call.name]))

    def finish(self) -> JobGraph:
        """The graph with the changes; the one that the editor began with when there are none."""
        if not self._new:
            return self._graph
        made = self._graph.but(ops=self._by_name.values())
        return made.made_soundly_of(self._graph) if self._is_sound else made

    def tensor(self, name: str) -> Tensor:
        """The tensor called ``name``, with its spec.

        Raises:
            GraphError: there is none.
        """
        return Tensor(name, self._spec(name, self._makers.get(name)))

    def _spec(self, name: str, maker: JobOp | None) -> TensorSpec:
        if maker is not None:
            return maker.call.outputs[maker.outputs.index(name)]
        constant = specs_of(self._graph.constants).get(name)
        if constant is not None:
            return constant
        if name in self._inputs:
            return self._inputs[name]
        raise GraphError(f"job {self._graph.name!r} has no tensor {name!r}")
