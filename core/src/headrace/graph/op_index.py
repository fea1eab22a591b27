"""``OpIndex``: what passes ask of the ops of a graph, found out once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, groupby, repeat
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.graph.job_graph import JobOp
    from headrace.tensor_spec import TensorSpec

# Of all ops of a graph at once: most graphs are asked, and each has all of the job's ops.
_kind, _name, _tag = attrgetter("call.op"), attrgetter("call.name"), attrgetter("placement.tag")
_read, _made = attrgetter("inputs"), attrgetter("outputs")
_read_specs, _specs = attrgetter("call.inputs"), attrgetter("call.outputs")
_dtype = attrgetter("dtype.name")


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
        ops = sorted(self._ops, key=_kind)  # those of one kind stay in order
        return {kind: tuple(found) for kind, found in groupby(ops, _kind)}

    @cached_property
    def by_name(self) -> Mapping[str, JobOp]:
        """The ops by their names, in order."""
        return dict(zip(map(_name, self._ops), self._ops, strict=True))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each op, by its name."""
        return dict(zip(self.by_name, count(), strict=False))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The devices that they are placed on."""
        return frozenset(map(_tag, self._ops))

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """The names of the dtypes of what they read."""
        read = chain.from_iterable(map(_read_specs, self._ops))
        return frozenset(map(_dtype, filter(None, read)))

    @cached_property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The spec of each tensor that they make."""
        names = chain.from_iterable(map(_made, self._ops))
        return dict(zip(names, chain.from_iterable(map(_specs, self._ops)), strict=True))

    @cached_property
    def makers(self) -> Mapping[str | None, JobOp]:
        """The op that makes each tensor; none makes an absent one."""
        made = list(map(_made, self._ops))
        return dict(zip(chain.from_iterable(made), _owners(self._ops, made), strict=True))

    @cached_property
    def readers(self) -> Mapping[str | None, tuple[JobOp, ...]]:
        """The ops that read each tensor, each of them once, in order; none of absent inputs."""
        read = list(map(_read, self._ops))
        names = list(chain.from_iterable(read))
        # As most tensors have it, one reader: of others the last.
        found: dict[str | None, tuple[JobOp, ...]] = dict(
            zip(names, zip(_owners(self._ops, read), strict=True), strict=True)
        )
        found.pop(None, None)
        if len(found) < len(names):
            # What is read once is read for the first time where it is for the last.
            last = dict(zip(names, count(), strict=False))
            first = dict(zip(reversed(names), count(len(names) - 1, -1), strict=False))
            shared = dict(first.items() - last.items()).keys() & found.keys()
            more: dict[str | None, list[JobOp]] = {name: [] for name in shared}
            for op in self._ops:
                for name in shared.intersection(op.inputs):
                    more[name].append(op)
            found.update((name, tuple(ops)) for name, ops in more.items())
        return found


def _owners(ops: Sequence[JobOp], names: Sequence[Sequence[object]]) -> Iterator[JobOp]:
    """Each op as often as there are names that are its own."""
    return chain.from_iterable(map(repeat, ops, map(len, names)))
