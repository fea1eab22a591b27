"""Add quantized numbers as they are stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headrace.dtypes import float32
from headrace.graph import GraphEditor, JobGraph, JobOp
from headrace.ops.quantize import limits
from headrace.tensor_spec import Array
from headrace_cpu.ops.integer_add import IntegerAdd
from headrace_cpu.ops.pack_integers import BYTES
from headrace_cpu.passes.scales import scale_and_zero


@dataclass(frozen=True, slots=True)
class _Term:
    """What ``dequantize`` made of bytes: ``(x - zero) * scale``."""

    x: str
    scale: float
    zero: int


@dataclass(frozen=True, slots=True)
class _End:
    """What becomes of a sum: the ops, and how they say it."""

    chain: tuple[JobOp, ...]
    scale: float
    zero_before: float = 0  # added before the sum is rounded
    zero: int = 0  # and after that
    low: float = -math.inf  # of the sum, before it is divided by the scale
    high: float = math.inf


class AddIntegers:
    """The pass, for the ops of device ``tag``.

    Before: ``quantize(relu(dequantize(a) + dequantize(b)))`` of bytes a and b, by constants, with
    ``relu``, ``clip`` or neither. After: ``cpu.integer_add(a, b)``.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag

    def __call__(self, graph: JobGraph) -> JobGraph:
        """The graph with these sums."""
        if not graph.of_kind("dequantize"):
            return graph
        finder = _Finder(graph, self._tag)
        for kind in ("add", "add_n"):
            for op in finder.editor.ops(kind):
                finder.replace(op)
        return finder.editor.finish()


class _Finder:
    """Looks for sums of bytes in one graph."""

    def __init__(self, graph: JobGraph, tag: str) -> None:
        self.editor = GraphEditor(graph, tag)
        self._constants = graph.constants
        self._hints = graph.hints

    def replace(self, add: JobOp) -> None:
        """Put an ``integer_add`` in the place of ``add`` and what is around it, if it is one."""
        shapes = {spec.shape for spec in (*add.call.inputs, *add.call.outputs) if spec is not None}
        if len(add.inputs) != 2 or len(shapes) > 1 or add.call.outputs[0].dtype != float32:
            return
        if add.placement.parallel_num > 1:
            return
        terms = [self._term(name) for name in add.inputs]
        a, b = terms
        end = self._end(add)
        if a is None or b is None or end is None:
            return
        last = end.chain[-1]
        dtype = last.call.outputs[0].dtype
        least, most = (limit - end.zero for limit in limits(dtype))
        low, high = (
            float(np.clip(limit / end.scale + end.zero_before, least, most))
            for limit in (end.low, end.high)
        )
        factors = a.scale / end.scale, b.scale / end.scale
        attrs: Mapping[str, object] = {
            "a_factor": factors[0],
            "b_factor": factors[1],
            "offset": end.zero_before - factors[0] * a.zero - factors[1] * b.zero,
            "low": low,
            "high": high,
            "zero": end.zero,
            "dtype": dtype,
        }
        self.editor.replace([add, *end.chain], IntegerAdd, [a.x, b.x], attrs)

    def _term(self, tensor: str | None) -> _Term | None:
        op = self.editor.maker(tensor)
        if op is None or op.call.op != "dequantize" or op.call.input(0).dtype not in BYTES:
            return None
        known = self._scale(op)
        if known is None or op.inputs[0] is None:
            return None
        return _Term(op.inputs[0], *known)

    def _end(self, add: JobOp) -> _End | None:
        chain: list[JobOp] = []
        low, high = -math.inf, math.inf
        op = self._next(add)
        if op is not None and (limited := self._limits(op)) is not None:
            low, high = limited
            chain.append(op)
            op = self._next(op)
        if op is not None and op.call.op == "divide" and low == -math.inf and high == math.inf:
            return self._zero_first(op)
        if op is None or op.call.op != "quantize" or op.call.outputs[0].dtype not in BYTES:
            return None
        known = self._scale(op)
        if known is None:
            return None
        scale, zero = known
        return _End((*chain, op), scale, zero=zero, low=low, high=high)

    def _zero_first(self, divide: JobOp) -> _End | None:
        """``round(sum / scale + zero)``: the zero point is no part of the rounding."""
        chain, zero = [divide], 0.0
        scale = self._number(divide.inputs[1])
        op = self._next(divide)
        if op is not None and op.call.op == "add":
            other = op.inputs[1] if op.inputs[0] == divide.outputs[0] else op.inputs[0]
            added = self._number(other)
            if added is None or op.call.outputs != divide.call.outputs:
                return None
            zero = added
            chain.append(op)
            op = self._next(op)
        if op is None or op.call.op != "quantize" or op.call.outputs[0].dtype not in BYTES:
            return None
        if self._scale(op) != (1, 0) or scale is None or not 0 < scale < math.inf:
            return None
        return _End((*chain, op), scale, zero_before=zero)

    def _next(self, op: JobOp) -> JobOp | None:
        """The only reader of what ``op`` makes, which nobody else needs."""
        users = self.editor.users(op.outputs[0])
        if len(users) != 1 or not self.editor.is_private(op, users[0]):
            return None
        return None if op.outputs[0] in self._hints else users[0]

    def _limits(self, op: JobOp) -> tuple[float, float] | None:
        if op.call.op == "relu":
            return 0, math.inf
        if op.call.op != "clip":
            return None
        low = -math.inf if op.inputs[1] is None else self._number(op.inputs[1])
        high = math.inf if op.inputs[2] is None else self._number(op.inputs[2])
        return None if low is None or high is None or not low <= high else (low, high)

    def _scale(self, op: JobOp) -> tuple[float, int] | None:
        return scale_and_zero(op, self._constants) if op.call.input(1).dtype == float32 else None

    def _number(self, tensor: str | None) -> float | None:
        value: Array | None = self._constants.get(tensor or "")
        if value is None or value.size != 1:
            return None
        number = float(value.reshape(()))
        return None if math.isnan(number) else number
