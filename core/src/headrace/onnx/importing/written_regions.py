"""Known indices that are a region: whole runs of some axes, as ``x[:, 1:] = y`` writes to.

Exporters say such a region by the place of each of its elements, made of a range for each axis that
is repeated along the others. What the ranges are is read off the ops that made them, where they are
large: nobody computes the places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headrace.graph.constants import Entry, LazyConstant
from headrace.graph.sized import SizedConstant, numbers_of
from headrace.op_call import OpCall
from headrace.sizes import Whole
from headrace.tensor_spec import Array


class Run(NamedTuple):
    """The indices ``first, first + 1, ...`` of one axis."""

    first: Whole
    count: Whole


class _Line(NamedTuple):
    """A run that stands along one axis; each index ``each`` times in a row, all over and over."""

    run: Run
    each: Whole


def region_of(indices: Entry, shape: Sequence[Whole]) -> tuple[Run, ...] | None:
    """The run of each indexed axis; None where ``indices``, of this shape, are no region in order.

    Args:
        indices: of a ``scatter_nd``.
        shape: an axis for each axis of the region, and the last with one index for each of these.
    """
    counts, depth = shape[:-1], shape[-1]
    if len(counts) != depth or 0 in counts:
        return None
    columns = _columns(indices)
    if columns is None or len(columns) != depth:
        return None if isinstance(indices, SizedConstant) else _region_in(_value(indices))
    runs: list[Run] = []
    for axis, (count, column) in enumerate(zip(counts, columns, strict=True)):
        line = _line(column)
        if line is None or line.run.count != count:
            return None
        if count != 1 and line.each != math.prod(counts[axis + 1 :]):
            return None
        runs.append(line.run)
    return tuple(runs)


def _value(entry: Entry) -> Array:
    return entry.passing() if isinstance(entry, LazyConstant) else entry


def _region_in(indices: Array) -> tuple[Run, ...] | None:
    corner, counts = indices[(0,) * (indices.ndim - 1)].tolist(), indices.shape[:-1]
    for axis, (first, count) in enumerate(zip(corner, counts, strict=True)):
        run = np.arange(first, first + count).reshape(-1, *(1,) * (len(counts) - 1 - axis))
        if not (indices[..., axis] == run).all():
            return None
    return tuple(map(Run, corner, counts))


def _columns(indices: Entry) -> Sequence[Entry | None] | None:
    """What gives the index of each axis; None where that is not known."""
    if not isinstance(indices, LazyConstant) or indices.origin is None:
        return None
    call, given = indices.origin
    if call.op == "concat" and call.int_attr("axis") % call.input(0).rank == call.input(0).rank - 1:
        return given
    return (indices,) if call.outputs[0].shape[-1:] == (1,) else None


def _line(entry: Entry | None) -> _Line | None:
    if not isinstance(entry, LazyConstant) or entry.origin is None:
        return _line_in(entry)
    call, given = entry.origin
    line = _line(given[0]) if call.op in _SAY else None
    return None if line is None else _SAY[call.op](call, line)


def _line_in(entry: Entry | None) -> _Line | None:
    """Of a constant that nothing is known of but its elements, which are few."""
    if isinstance(entry, SizedConstant) and entry.progression is not None:
        first, step, count = entry.progression
        return _Line(Run(first, count), 1) if step == 1 else None
    if isinstance(entry, np.ndarray) and entry.size == max(entry.shape, default=1):
        first = entry.reshape(-1)[:1].tolist()
        is_run = first and (entry.reshape(-1) == np.arange(first[0], first[0] + entry.size)).all()
        return _Line(Run(first[0], entry.size), 1) if is_run else None
    numbers = numbers_of(entry)
    if numbers is None or numbers.size != 1:
        return None
    return _Line(Run(numbers.item(), 1), 1)


def _as_it_is(call: OpCall, line: _Line) -> _Line:
    return line


def _repeated(call: OpCall, line: _Line) -> _Line | None:
    """The line in a tensor of more axes, of which it stood along one that was not 1, if any."""
    own, made, count = call.input(0).shape, call.outputs[0].shape, line.run.count
    if count == 1:
        return line
    (*axes,) = (axis for axis, dim in enumerate(own) if dim != 1)
    if len(axes) != 1:
        return None
    return _Line(line.run, math.prod(made[len(made) - len(own) + axes[0] + 1 :]))


def _cut(call: OpCall, line: _Line) -> _Line | None:
    """A part of a line that is all of its tensor."""
    starts, steps = call.ints_attr("starts"), call.ints_attr("steps")
    if call.input(0).rank != 1 or len(starts) != 1 or (steps or (1,)) != (1,):
        return None
    first, count = starts[0], call.outputs[0].shape[0]
    first = max(first + line.run.count, 0) if first < 0 else first
    return _Line(Run(line.run.first + first, count), 1)


_SAY = {"reshape": _as_it_is, "cast": _as_it_is, "expand": _repeated, "slice": _cut}
"""What ops make of a line."""
