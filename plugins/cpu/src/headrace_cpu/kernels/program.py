"""Elementwise work of float32, each one pass over memory: programs, and single ops as programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.dtypes import bool_, float32, int32, int64
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.program import STEPS, Step, parse, place_of

ATTRS: Mapping[str, tuple[str, ...]] = {
    "leaky_relu": ("alpha",),
    "hard_sigmoid": ("alpha", "beta"),
    "swish": ("alpha",),
}
"""Op -> attributes that are operands of its step, after the inputs."""

SAME_NAME = tuple(op for op in STEPS if op not in ("clip", "identity"))
"""Ops that are one step of their name."""


class ProgramKernel(NativeKernel):
    """``cpu.elementwise``: as the op says; y may be an input's memory. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The steps."""
        return parse(self._call)

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        call, steps = self._call, self.steps()
        numbers: dict[str, int] = {}
        for _, *operands in steps:
            for operand in operands:
                if place_of(operand) is None:
                    numbers.setdefault(operand, len(call.inputs) + len(numbers))
        firm = len(call.inputs) + len(numbers)

        def register(operand: str) -> int:
            place = place_of(operand)
            if place is None:
                return numbers[operand]
            return firm + place if operand[0] == "t" else place

        return _native.program(
            [(name, [register(operand) for operand in operands]) for name, *operands in steps],
            [float(number) for number in numbers],
            views.inputs(),
            views.output(),
        )


class SingleStep(ProgramKernel):
    """An op that is one step; y may be an input's memory. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The one step."""
        operands = [f"i{index}" for index in range(len(self._call.inputs))]
        return [step_of(self._call, operands)]


def step_of(call: OpCall, operands: Sequence[str]) -> Step:
    """The step that an op of ``SAME_NAME``, or a cast, is."""
    if call.op == "cast":
        return ("identity", operands[0])
    attrs = (repr(call.float_attr(name)) for name in ATTRS.get(call.op, ()))
    return (call.op, *operands, *attrs)


def is_step(call: OpCall) -> bool:
    """Whether a call is one step of a program."""
    if call.op == "cast":
        known = call.input(0).dtype in (float32, bool_, int32, int64)
        return known and call.outputs[0].dtype == float32
    if call.op not in SAME_NAME or any(
        math.isnan(call.float_attr(name)) for name in ATTRS.get(call.op, ())
    ):
        return False
    return all(
        spec is not None and spec.dtype == (bool_ if _is_truth(call.op, index) else float32)
        for index, spec in enumerate(call.inputs)
    )


def _is_truth(op: str, index: int) -> bool:
    return op.startswith("logical_") or (op == "where" and index == 0)


one_step = SomeCalls("floats of 32 bits", dtypes("float32", "bool", "int32", "int64"), is_step)


def program_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "cpu.elementwise", ProgramKernel)
    for op in (*SAME_NAME, "cast"):
        yield KernelEntry(tag, op, SingleStep, one_step, priority=1)
