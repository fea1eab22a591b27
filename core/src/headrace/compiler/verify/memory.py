"""The proof that the memory of a plan holds, from the plan alone.

It knows nothing of how the plan was made: no lifetimes, arenas or algorithms, only who reads and
writes which bytes, and which acts the runtime's protocol puts in order. So what the planner gets
wrong about that shows here, and not as a number that is wrong once in a thousand runs under load.

*Order.* Act n of a chain is done before its act n + 1 begins. If chain B consumes a register of
chain A, A(n) is done before B(n) begins; and since the register has s slots, B(n) is done before
A(n + s) begins. Write ``after(a, b)`` for the least k for which, whatever n is, a(n) is done before
b(n + k) begins. It is a shortest path, over edges A to B of length 0 and B to A of length s.

*Values.* A value is what one task writes, under all names that it has as a register and its views.
Its accesses are that write and all reads. It is whole if no other write to its bytes is between.

*Variables.* A variable is there before all calls and after them, so it shares bytes with nothing.
In each call it is read before it is written, and in the next one after that.

*Proof.* Values of jobs whose critical sections exclude each other are apart. So are values that two
chains on one stream have for themselves: such a value lives within an act, and the acts of a stream
are done one after another. For other values v and w that share a byte let ``gap(v, w)`` be the
least k for which all accesses of v for piece n are done before w is written for piece n + k. Either
v is dead before w is written, or w before v, whatever pieces they belong to, exactly if
``gap(v, w) + gap(w, v) <= 1``. If both have s slots, each in the place of one of the other's, only
pieces that are a multiple of s apart meet, and gaps count in turns of s pieces, rounded up. And the
readers of v must be done before it is written again: ``gap(v, v) <= s``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from heapq import heappop, heappush

import numpy as np

from headrace.errors import GraphError
from headrace.light_dataclass import dataclass
from headrace.plan import Plan, TaskKind

_FAR = 1 << 30
"""More pieces than any path that a proof can use."""


def verify_memory(plan: Plan) -> None:
    """Prove that no byte is written while what it held before is still needed.

    For a plan that ``headrace.plan.check`` has passed.

    Raises:
        GraphError: names the two registers, their bytes, and the tasks that may meet.
    """
    values = _values(plan)
    order = _Order(plan)
    for value in values:
        if value.writer is not None and order.gap(value, value) > value.slots:
            raise GraphError(
                f"plan {plan.name!r}: {plan.registers[value.registers[0]].name!r} is written for "
                f"the next piece while {_tasks(plan, value)} may still read it"
            )
    for one, other in _sharing_bytes(values):
        if order.apart(one, other):
            continue
        turn = one.slots if one.layout == other.layout else 1
        if -(-order.gap(one, other) // turn) + -(-order.gap(other, one) // turn) > 1:
            raise GraphError(
                f"plan {plan.name!r}: {_place(plan, one)} and {_place(plan, other)} may be needed "
                f"at the same time, by {_tasks(plan, one)} and by {_tasks(plan, other)}"
            )


def verify_variables(plan: Plan) -> None:
    """Prove that each job reads a variable before it writes it, and the next call after.

    Raises:
        GraphError: names the variable and the two tasks.
    """
    order = _Order(plan)
    readers: dict[tuple[int, int], list[int]] = {}
    variables = plan.persistent()
    for position, task in enumerate(plan.tasks):
        for source in task.inputs:
            if source is not None and source in variables:
                readers.setdefault((source, plan.jobs[task.job].serves), []).append(position)
    for position, task in enumerate(plan.tasks):
        for made in task.outputs:
            for reader in readers.get((made, plan.jobs[task.job].serves), ()):
                if made in variables and not order.in_turn(reader, position):
                    name = plan.registers[made].name
                    raise GraphError(
                        f"plan {plan.name!r}: variable {name!r} may be written by {task.name!r} "
                        f"while {plan.tasks[reader].name!r} reads it"
                    )


@dataclass(eq=False, slots=True)
class _Value:
    """What one task writes, or a constant or variable, which is there before.

    Attributes:
        registers: its names; the first is the one that is written.
        chunk, begin, end: the bytes, of all slots together.
        slots, stride: how many, and from one to the next.
        writer: the task; None for a constant or a variable.
        last: for each chain that writes or reads it, the last of its tasks that does.
    """

    registers: list[int]
    chunk: int
    begin: int
    end: int
    slots: int
    stride: int
    writer: int | None
    last: dict[int, int] = field(default_factory=dict)

    @property
    def layout(self) -> tuple[int, ...]:
        """Equal for values of which each slot lies where the same one of the other does.

        ``headrace.plan.check`` has seen that no slot reaches into the next one.
        """
        return (self.begin, self.slots, self.stride)

    @property
    def is_of_one_chain(self) -> bool:
        """True when no other chain writes or reads it."""
        return len(self.last) == 1 and self.writer is not None


def _values(plan: Plan) -> list[_Value]:
    """Every value, with all its accesses."""
    of: dict[int, _Value] = {}

    def define(register: int, writer: int | None) -> _Value:
        desc = plan.registers[register]
        end = desc.offset + desc.stride * (desc.slots - 1) + desc.spec.nbytes
        of[register] = _Value(
            [register], desc.chunk, desc.offset, end, desc.slots, desc.stride, writer
        )
        return of[register]

    def use(value: _Value, position: int) -> None:
        chain = plan.tasks[position].actor
        value.last[chain] = max(value.last.get(chain, -1), position)

    variables = plan.persistent()
    for number, register in enumerate(plan.registers):
        if register.constant is not None or number in variables:
            define(number, None)
    for position, task in enumerate(plan.tasks):
        for source in task.inputs:
            if source is not None:
                use(of[source], position)
        if task.kind is TaskKind.VIEW:
            assert task.inputs[0] is not None
            of[task.outputs[0]] = of[task.inputs[0]]
            of[task.inputs[0]].registers.append(task.outputs[0])
            continue
        for made in task.outputs:
            use(of[made] if made in variables else define(made, position), position)
        if task.workspace is not None:
            use(define(task.workspace, position), position)
    return list(dict.fromkeys(of.values()))


class _Order:
    """What the protocol puts in order."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._edges: list[dict[int, int]] = [{} for _ in plan.actors]  # chain -> chain -> length
        maker = {r: number for number, actor in enumerate(plan.actors) for r in actor.produced}
        for number, actor in enumerate(plan.actors):
            for register in actor.consumed:
                before = maker[register]
                self._edges[before][number] = 0
                back = min(self._edges[number].get(before, _FAR), plan.registers[register].slots)
                self._edges[number][before] = back
        self._limit = max((register.slots for register in plan.registers), default=0)
        self._known: dict[int, dict[int, int]] = {}
        self._sections = {section.job: section for section in plan.sections}
        self._jobs = [plan.jobs[plan.tasks[actor.tasks[0]].job].serves for actor in plan.actors]

    def apart(self, value: _Value, other: _Value) -> bool:
        """True when no call, or no act, that uses ``value`` overlaps one that uses ``other``."""
        if value.writer is None or other.writer is None:
            return False
        if value.is_of_one_chain and other.is_of_one_chain:
            (here,), (there,) = value.last, other.last
            streams = [self._plan.actors[chain].stream_id for chain in (here, there)]
            if here != there and streams[0] == streams[1]:
                return True
        one, two = (self._jobs[next(iter(v.last))] for v in (value, other))
        return self._sections[one].excludes(self._sections[two])

    def in_turn(self, reader: int, writer: int) -> bool:
        """True when task ``reader`` comes before ``writer`` in a call, and after it in the next."""
        here, there = (self._plan.tasks[position].actor for position in (reader, writer))
        if here == there:
            return reader < writer
        return self._after(here).get(there, _FAR) <= 0 and self._after(there).get(here, _FAR) <= 1

    def gap(self, value: _Value, other: _Value) -> int:
        """The least k for which ``value``, piece n, is dead before ``other``, n + k, is written."""
        if other.writer is None:
            return _FAR  # it is there before all calls
        tasks, writer = self._plan.tasks, other.writer
        here = tasks[writer].actor
        most = -_FAR
        for chain, last in value.last.items():
            if chain != here:
                most = max(most, self._after(chain).get(here, _FAR))
            elif last < writer or (last == writer and self._is_in_place(value, other)):
                most = max(most, 0)
            else:
                most = max(most, 1)
        return most

    def _is_in_place(self, value: _Value, other: _Value) -> bool:
        """True when the task that writes ``other`` may do so over ``value`` that it reads."""
        assert other.writer is not None
        task = self._plan.tasks[other.writer]
        allowed = [i for i, o in task.in_place if task.outputs[o] == other.registers[0]]
        return allowed == [i for i, r in enumerate(task.inputs) if r in value.registers]

    def _after(self, chain: int) -> dict[int, int]:
        """``after(chain, b)`` for all b within the limit; what is further away proves nothing."""
        if chain not in self._known:
            found: dict[int, int] = {}
            queue = deque([(0, chain)])
            while queue:
                length, here = queue.popleft()
                if found.get(here, _FAR) <= length:
                    continue
                found[here] = length
                for there, step in self._edges[here].items():
                    if step == 0:
                        queue.appendleft((length, there))
                    elif length + step <= self._limit:
                        queue.append((length + step, there))
            self._known[chain] = found
        return self._known[chain]


def _sharing_bytes(values: Sequence[_Value]) -> Iterator[tuple[_Value, _Value]]:
    """Pairs that share a byte: enough of them to prove all, in nearly linear time.

    Values that one chain alone uses are dead or alive by its order: a walk through time meets all
    that are alive together. Of two chains, all such values have the same gap: one pair speaks for
    all. Only values that several chains use, or that lie in several slots, are compared with each
    that lies where they do.
    """
    chunks: dict[int, list[_Value]] = {}
    for value in values:
        if value.begin < value.end:
            chunks.setdefault(value.chunk, []).append(value)
    for inside in chunks.values():
        alone: dict[int, list[_Value]] = {}
        several = []
        for value in inside:
            if value.is_of_one_chain and value.slots == 1:
                alone.setdefault(next(iter(value.last)), []).append(value)
            else:
                several.append(value)
        hulls: list[_Value] = []
        for used in alone.values():
            yield from _alive_together(used)
            hulls += _hulls(used)
        yield from _meeting(hulls, hulls)
        yield from _meeting(several, several)
        yield from _meeting(several, [value for used in alone.values() for value in used])


def _alive_together(values: list[_Value]) -> Iterator[tuple[_Value, _Value]]:
    """Values of one chain, in the order they are written, that meet others on their bytes."""
    alive: list[_Value] = []  # by begin; apart from each other, as far as was shown
    ends: list[tuple[int, int, _Value]] = []  # heap of (last use, number, value)
    (chain,) = values[0].last
    for number, value in enumerate(values):
        assert value.writer is not None
        while ends and ends[0][0] < value.writer:
            alive.remove(heappop(ends)[2])
        at = bisect_left(alive, value.begin, key=lambda other: other.begin)
        for other in alive[max(at - 1, 0) :]:
            if other.begin >= value.end:
                break
            if other.end > value.begin:
                yield other, value
        alive.insert(at, value)
        heappush(ends, (value.last[chain], number, value))


def _hulls(values: Sequence[_Value]) -> Iterator[_Value]:
    """For each stretch of bytes that values of one chain cover, one value that covers it all."""
    hull: _Value | None = None
    for value in sorted(values, key=lambda value: value.begin):
        if hull is not None and value.begin < hull.end:
            hull.end = max(hull.end, value.end)
            continue
        if hull is not None:
            yield hull
        hull = replace(value)
    if hull is not None:
        yield hull


def _meeting(some: Sequence[_Value], others: Sequence[_Value]) -> Iterator[tuple[_Value, _Value]]:
    """Each of ``some`` with all ``others`` that share a byte with it and are not used alike."""
    begins = np.array([value.begin for value in others], np.int64)
    ends = np.array([value.end for value in others], np.int64)
    for value in some:
        for index in np.flatnonzero((begins < value.end) & (ends > value.begin)).tolist():
            other = others[index]
            if other is not value:
                yield value, other


def _place(plan: Plan, value: _Value) -> str:
    names = " alias ".join(repr(plan.registers[r].name) for r in value.registers[:3])
    return f"{names} (bytes {value.begin} to {value.end} of chunk {value.chunk})"


def _tasks(plan: Plan, value: _Value) -> str:
    return " and ".join(repr(plan.tasks[position].name) for position in value.last.values())
