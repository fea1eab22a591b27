"""Put elementwise ops that follow each other into one program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.kernels.formulas import FORMULAS
from headrace_cpu.kernels.program import (
    MOST_INPUTS,
    OTHER_NAME,
    SAME_NAME,
    is_written,
    steps_of,
)
from headrace_cpu.ops.program import Program
from headrace_cpu.ops.steps import MOST_OPERANDS, Step

MOST_STEPS = (MOST_OPERANDS - 1) // 3
"""Steps hang together, so n of them have at most 3 * n - (n - 1) operands from outside."""

_ABLE = frozenset((*SAME_NAME, *OTHER_NAME, *FORMULAS, "clip"))
"""Ops that may be in a program."""

_LONG = frozenset((*FORMULAS, "add_n"))
"""Those that may be several steps."""


class FuseElementwise:
    """The pass, for the ops of device ``tag``.

    Before: any ops. After: elementwise ops of float32 and one shape, of which all but the last
    have no reader but each other, are one ``cpu.elementwise``. An op is in one program at most, so
    the time is that of looking at each op and its readers a few times.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with fewer ops."""
        able = {
            op.outputs[0]: op
            for op in graph.ops
            if op.call.op in _ABLE and op.placement.tag == self._tag and _is_able(op, graph)
        }
        if len(able) < 2:
            return graph
        editor = GraphEditor(graph, self._tag)
        taken: set[str] = set()
        order = graph.index.places
        kept = {tensor.name for _, tensor in graph.results} | graph.hints.keys()
        for name in reversed(able):
            if name in taken:
                continue
            group = _group(able, name, taken, editor, kept)
            if len(group) < 2:
                continue
            taken.update(op.outputs[0] for op in group)
            chain = sorted(group, key=lambda op: order[op.call.name])
            inputs, steps = _program(chain, graph)
            editor.replace(chain, Program, inputs, {"steps": [" ".join(step) for step in steps]})
        return editor.finish()


def _is_able(op: JobOp, graph: JobGraph) -> bool:
    call = op.call
    if op.placement.parallel_num > 1:
        return False
    return is_written(call) or (call.op == "clip" and _limits(op, graph) is not None)


def _limits(clip: JobOp, graph: JobGraph) -> tuple[str, str] | None:
    """The limits of a clip that are known numbers."""
    if clip.call.input(0).dtype.name != "float32":
        return None
    found = []
    for index, absent in ((1, "-inf"), (2, "inf")):
        name = clip.inputs[index]
        number = absent if name is None else _number(graph.constants.get(name))
        if number is None:
            return None
        found.append(number)
    return found[0], found[1]


def _number(value: Array | None) -> str | None:
    """A constant of one element, as a step says it."""
    if value is None or value.size != 1 or value.dtype != np.float32:
        return None
    number = float(value.reshape(()))
    return None if math.isnan(number) else repr(number)


def _group(
    able: dict[str, JobOp],
    root: str,
    taken: set[str],
    editor: GraphEditor,
    kept: set[str],
) -> list[JobOp]:
    """The op that makes ``root``, and those before it that are for it alone."""
    last = able[root]
    shape, members = last.call.outputs[0].shape, {last.call.name: last}
    sources = set(last.inputs)
    waiting = [name for name in last.inputs if name is not None]
    count = _steps(last)
    while waiting and count < MOST_STEPS:
        name = waiting.pop(0)
        op = able.get(name)
        if op is None or name in taken or op.call.name in members or name in kept:
            continue
        if op.call.outputs[0].shape != shape or op.placement != last.placement:
            continue
        if any(user.call.name not in members for user in editor.users(name)):
            continue  # asked again when the next of its readers has come in
        wanted = (sources | set(op.inputs)) - {name}
        if len(wanted) > MOST_INPUTS or count + _steps(op) > MOST_STEPS:
            continue
        count += _steps(op)
        sources = wanted
        members[op.call.name] = op
        waiting += [read for read in op.inputs if read is not None]
    return list(members.values())


def _steps(op: JobOp) -> int:
    if op.call.op not in _LONG:
        return 1
    return len(steps_of(op.call, ["i0"] * len(op.inputs), 0))


def _program(chain: Sequence[JobOp], graph: JobGraph) -> tuple[list[str], list[Step]]:
    inputs: dict[str, str] = {}
    made: dict[str, str] = {}
    steps: list[Step] = []
    # A number in the program has no shape: only what leaves the shape as it is may become one.
    inside = {op.outputs[0] for op in chain}
    shapes = (spec.shape for op in chain for name, spec in _read(op) if name not in inside)
    longest = max((len(shape) for shape in shapes if math.prod(shape) != 1), default=0)

    def operand(name: str, spec: TensorSpec) -> str:
        if name in made:
            return made[name]
        # Of other constants the value is not asked for: it need not be made yet, or be one.
        is_number = spec.elements == 1 and spec.rank <= longest
        number = _number(graph.constants.get(name)) if is_number else None
        return number or inputs.setdefault(name, f"i{len(inputs)}")

    for op in chain:
        read = list(_read(op))
        if op.call.op == "clip":
            limits = _limits(op, graph)
            assert limits is not None
            steps.append(("clip", operand(*read[0]), *limits))
        else:
            steps += steps_of(op.call, [operand(*given) for given in read], len(steps))
        made[op.outputs[0]] = f"t{len(steps) - 1}"
    return list(inputs), steps


def _read(op: JobOp) -> Iterator[tuple[str, TensorSpec]]:
    """What an op reads, by name."""
    for name, spec in zip(op.inputs, op.call.inputs, strict=True):
        if name is not None and spec is not None:
            yield name, spec
