"""Loops whose end is computed: the body is a model of its own, which the host runs turn by turn.

How often such a loop runs is not known when a job is built, so it cannot be written out; one that
runs often could be, in a job that takes long to compile, for each number of turns. A stage of the
model ends before it; the host then runs jobs of the body, as it runs those of any model, and what
the loop makes is fed to the next stage (see ``measure.py``). What the body takes from around it,
and what a turn hands to the next one as it was, becomes a part of these jobs where it is known, and
is fed to them where it was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto, ValueInfoProto

from headrace.errors import HeadraceError, ResourceLimitError, UnsupportedModelError
from headrace.light_dataclass import dataclass
from headrace.onnx.file import limits
from headrace.onnx.file.attributes import graphs
from headrace.onnx.file.graphs import captures, order, wired
from headrace.onnx.file.read import ModelFile
from headrace.onnx.importing.builder import BoundedBuilder
from headrace.onnx.importing.loops import WRITERS, RunBody, check_body, nothing_of, scalar_like
from headrace.onnx.importing.measure import Measure, MeasureNeeded
from headrace.onnx.importing.node import Node, ValueNeeded
from headrace.onnx.importing.site import Site
from headrace.onnx.importing.values import Value
from headrace.ops import Tensor
from headrace.tensor_spec import Array

if TYPE_CHECKING:  # it runs what it imports
    from headrace.onnx.jobs import JobCache

JobsOf = Callable[[ModelFile, bool], "JobCache"]
"""Where the jobs of a body are kept, and made; with or without guesses."""


def written_or_run(
    site: Site,
    node: Node,
    builder: BoundedBuilder,
    file: ModelFile,
    jobs_of: JobsOf,
    run: RunBody,
) -> Sequence[Value]:
    """What ``Loop`` gives: written out, or as the host has found it by running the body.

    Args:
        site, node: the loop.
        builder: of the job under construction.
        file: the model that the loop is in.
        jobs_of: makes the jobs of the body.
        run: imports the body once more, to write the loop out.

    Raises:
        MeasureNeeded: this stage ends before the loop, which the host runs.
        ValueNeeded: where it is written out; ``instead`` tells how the loop can be run.
    """
    write = partial(WRITERS["Loop"], site, node)
    if _reads_sequences(site, node):  # which are there only while a model is imported
        return write(run)
    loop = _Loop.of(site, node, builder)
    if not loop.fed or not loop.made:
        return write(run)
    names, found = builder.found(len(loop.fed), len(loop.made))
    if found is not None:
        return loop.outputs(found.made)

    def run_instead() -> MeasureNeeded:
        body = loop.model(file, site)
        read = tuple(value.name for value in body.graph.input)
        runner = _Runner(loop, read, jobs_of(body, True), jobs_of(body, False), str(node))
        measure = Measure(names.reads, runner, names.makes, str(node), close=runner.close)
        return MeasureNeeded(tuple(loop.fed.values()), measure)

    turns = limits.WRITTEN_NODES // max(_nodes_of(loop.body), 1)
    if loop.least_turns > max(turns, 1):
        raise run_instead()
    try:
        return write(_at_most(turns, run))
    except (MeasureNeeded, _TooLongError):
        raise run_instead() from None
    except ValueNeeded as need:
        need.instead = run_instead()
        raise


class _TooLongError(HeadraceError):
    """A loop has more turns than are written out. Never reaches a user."""


def _at_most(turns: int, run: RunBody) -> RunBody:
    """``run``, for so many turns, or one."""
    left = iter(range(max(turns, 1)))

    def bounded(given: Sequence[Value]) -> list[Value]:
        if next(left, None) is None:
            raise _TooLongError
        return run(given)

    return bounded


def _reads_sequences(site: Site, node: Node) -> bool:
    captured = map(site.scope.get, captures(site.attributes["body"].g))
    return any(value and not isinstance(value, Tensor) for value in (*node.inputs, *captured))


@dataclass(frozen=True, slots=True, eq=False)
class _Loop:
    """A loop, and where what its body reads comes from.

    Attributes:
        body: the graph.
        number, condition: names of the two inputs of the body that every turn gets.
        known: values that are a part of the body's jobs, or of the first turn, by name.
        fed: tensors that were computed, by name: read by the first turn or by all of them.
        states: for each state, the name of an input and of the output that is the next turn's.
        initial: tensors of the states before the first turn.
        made: names of outputs of the body that the host hands on, states and slices.
        slices: what the body declares of the slices.
    """

    body: GraphProto
    number: str
    condition: str
    known: Mapping[str, Array]
    fed: Mapping[str, Tensor]
    states: tuple[tuple[str, str], ...]
    initial: tuple[Tensor, ...]
    made: tuple[str, ...]
    slices: tuple[ValueInfoProto, ...]

    @classmethod
    def of(cls, site: Site, node: Node, builder: BoundedBuilder) -> _Loop:
        body = site.attributes["body"].g
        initial = tuple(node.input(index) for index in range(2, len(site.inputs)))
        check_body(node, body, inputs=2 + len(initial), outputs=1 + len(initial))
        inputs = [value.name for value in body.input]
        outputs = [value.name for value in body.output]
        states = tuple(zip(inputs[2:], outputs[1 : 1 + len(initial)], strict=True))
        read: dict[str, Tensor | None] = {}
        for name in captures(body):
            value = site.scope.get(name)
            read[name] = value if isinstance(value, Tensor) else None
        read |= dict(zip(inputs[2:], initial, strict=True))
        read |= {_COUNT: node.optional(0), inputs[1]: node.optional(1)}
        values = {n: None if t is None else builder.value(t) for n, t in read.items()}
        return cls(
            body,
            inputs[0],
            inputs[1],
            {name: value for name, value in values.items() if value is not None},
            {n: t for n, t in read.items() if t is not None and values[n] is None},
            states,
            initial,
            (*(after for before, after in states if before != after), *outputs[1 + len(states) :]),
            tuple(body.output[1 + len(states) :]),
        )

    @property
    def changing(self) -> tuple[tuple[str, str], ...]:
        """The states that a turn changes."""
        return tuple(state for state in self.states if state[0] != state[1])

    @property
    def least_turns(self) -> int:
        """How often it runs, where a known count alone ends it; else nobody knows before."""
        count, goes_on = self.known.get(_COUNT), self.body.output[0].name
        starts = self.known.get(self.condition, np.array(True))
        makers = {name: node for node in self.body.node for name in node.output}
        while goes_on in makers and makers[goes_on].op_type == "Identity":
            goes_on = makers[goes_on].input[0]
        is_counted = goes_on == self.condition and self.condition not in self.fed
        return int(count.item()) if count is not None and is_counted and starts.item() else 0

    def outputs(self, made: Sequence[Tensor]) -> list[Tensor]:
        """What the node gives: states that no turn changes are what they were."""
        found = iter(made)
        kept = zip(self.states, self.initial, strict=True)
        states = [first if before == after else next(found) for (before, after), first in kept]
        return [*states, *found]

    def model(self, file: ModelFile, site: Site) -> ModelFile:
        """The body as a model: fed is what its nodes read that a turn changes, or was computed."""
        changing = {before for before, _ in self.changing}
        handed = {self.number, self.condition, *changing, *self.fed} - {_COUNT}
        graph = GraphProto(name=self.body.name, node=self.body.node)
        graph.initializer.extend(self.body.initializer)
        graph.sparse_initializer.extend(self.body.sparse_initializer)
        # A name may be given twice, or be that of an input: the host knows these.
        wanted = dict.fromkeys([self.body.output[0].name, *self.made])
        graph.output.extend(ValueInfoProto(name=n) for n in wanted if n not in handed)
        weights = {n: v for n, v in self.known.items() if n not in handed and n != _COUNT}
        where = f"{site.where}, body"
        nodes = order(wired(graph.node), [output.name for output in graph.output], where)
        read = handed.intersection(chain.from_iterable(node.reads for node in nodes))
        graph.input.extend(ValueInfoProto(name=name) for name in sorted(read))
        opsets, functions = site.scope.opsets, file.functions
        return ModelFile(where, file.folder, graph, nodes, opsets, functions, weights)


_COUNT = ""
"""Stands for the trip count among the names that a body reads: it has none."""


def _nodes_of(graph: GraphProto) -> int:
    return sum(1 + sum(map(_nodes_of, graphs(node.attribute))) for node in graph.node)


class _Runner:
    """Runs a loop on the host. Called by one thread at a time for each run of the model."""

    def __init__(
        self, loop: _Loop, read: tuple[str, ...], guessed: JobCache, jobs: JobCache, where: str
    ) -> None:
        self._loop, self._read, self._where = loop, read, where
        self._guessed, self._jobs = guessed, jobs
        self._number_shape = scalar_like(loop.body.input[0])
        self._condition_shape = scalar_like(loop.body.input[1])

    def __call__(self, *computed: Array) -> list[Array]:
        """Arrays of ``fed``, in order -> those of ``made``.

        Raises:
            ResourceLimitError: it runs longer than loops may.
            ModelError, RunError: a turn cannot be run.
        """
        loop = self._loop
        names = {**loop.known, **dict(zip(loop.fed, computed, strict=True))}
        count = names.get(_COUNT)
        turns = None if count is None else int(count.item())
        condition = names.get(loop.condition, np.array(True))
        goes_on, changing = loop.body.output[0].name, loop.changing
        state = {before: names[before] for before, _ in changing}
        around = {n: names[n] for n in loop.fed if n not in state and n != _COUNT}
        slices: dict[str, list[Array]] = {declared.name: [] for declared in loop.slices}
        turn = 0
        while (turns is None or turn < turns) and condition.item():
            if turn == limits.ITERATIONS:
                raise ResourceLimitError(f"{self._where}: runs more than {turn} times")
            given = {
                **around,
                **state,
                loop.number: np.array(turn, np.int64).reshape(self._number_shape),
                loop.condition: condition.reshape(self._condition_shape),
            }
            fed = {name: given[name] for name in self._read}
            found = self._guessed.run_if_assumed(fed)
            if found is None:
                found = self._jobs.run(fed)
            made = {**given, **found}
            condition = made[goes_on]
            state = {before: made[after] for before, after in changing}
            for name, stack in slices.items():
                stack.append(made[name])
            turn += 1
        return [*state.values(), *(self._stacked(d, slices[d.name]) for d in loop.slices)]

    def _stacked(self, declared: ValueInfoProto, slices: Sequence[Array]) -> Array:
        return np.stack(slices) if slices else self._nothing(declared)

    def _nothing(self, declared: ValueInfoProto) -> Array:
        nothing = nothing_of(declared, 0, self._where)
        if nothing is None:
            raise UnsupportedModelError(
                f"{self._where}: never runs, and its body does not declare the shape of "
                f"{declared.name!r}; declare it"
            )
        return nothing

    def close(self) -> None:
        """Close the jobs of the body."""
        self._guessed.close()
        self._jobs.close()
