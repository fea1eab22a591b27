"""``OpIndex``: what passes ask of the ops of a graph, found out once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.graph.job_graph import JobOp
    from headrace.tensor_spec import TensorSpec

# Of all ops of a graph at once: most graphs are asked, and each has all of the job's ops.
_made, _specs = attrgetter("outputs"), attrgetter("call.outputs")
_tag, _read = attrgetter("placement.tag"), attrgetter("call.inputs")


class OpIndex:
    """Ops by what they are, make and read; for any thread.

    A pass whose ops do not occur in a graph asks for these alone, and many passes see one graph.
    So each table is made when it is first asked for, and stays. Nobody changes one.
    """

    def __init__(self, ops: Sequence[JobOp]) -> None:
        """Look at nothing yet; ``ops`` stay as they are."""
        self._ops = ops

    @cached_property
    def kinds(self) -> Mapping[str, tuple[JobOp, ...]]:
        """The ops of each kind, in order."""
        found: dict[str, list[JobOp]] = {}
        for op in self._ops:
            kind = op.call.op
            if kind in found:
                found[kind].append(op)
            else:
                found[kind] = [op]
        return {kind: tuple(ops) for kind, ops in found.items()}

    @cached_property
    def by_name(self) -> Mapping[str, JobOp]:
        """The ops by their names, in order."""
        return {op.call.name: op for op in self._ops}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each op, by its name."""
        return {op.call.name: place for place, op in enumerate(self._ops)}

    @cached_property
    def tags(self) -> frozenset[str]:
        """The devices that they are placed on."""
        return frozenset(map(_tag, self._ops))

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """The names of the dtypes of what they read."""
        read = chain.from_iterable(map(_read, self._ops))
        return frozenset([spec.dtype.name for spec in read if spec is not None])

    @cached_property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The spec of each tensor that they make."""
        names = chain.from_iterable(map(_made, self._ops))
        return dict(zip(names, chain.from_iterable(map(_specs, self._ops)), strict=True))

    @cached_property
    def makers(self) -> Mapping[str | None, JobOp]:
        """The op that makes each tensor; none makes an absent one."""
        return {made: op for op in self._ops for made in op.outputs}

    @cached_property
    def readers(self) -> Mapping[str | None, tuple[JobOp, ...]]:
        """The ops that read each tensor, each of them once, in order; none of absent inputs."""
        found: dict[str | None, tuple[JobOp, ...]] = {}
        more: dict[str | None, list[JobOp]] = {}  # most tensors have one reader
        for op in self._ops:
            for name in op.inputs:
                if name not in found:
                    found[name] = (op,)
                elif name not in more:
                    if found[name][0] is not op:
                        more[name] = [*found[name], op]
                elif more[name][-1] is not op:
                    more[name].append(op)
        found.update((name, tuple(ops)) for name, ops in more.items())
        found.pop(None, None)
        return found
