"""Elementwise work of float32, each one pass over memory: programs, and single ops as programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce

from headrace.device import KernelEntry, Launch, OpCall, dtypes
from headrace.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
)
from headrace.ops.axes import per_tensor
from headrace.tensor_spec import Array
from headrace_cpu.extension import native
from headrace_cpu.kernels.elementwise import aligned_bias
from headrace_cpu.kernels.formulas import FORMULAS, Steps
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.steps import COMPUTED, RESULTS, STEPS, TRUTHS, Step, parse, place_of

ATTRS: Mapping[str, tuple[str, ...]] = {
    "leaky_relu": ("alpha",),
    "hard_sigmoid": ("alpha", "beta"),
    "swish": ("alpha",),
}
"""Op -> attributes that are operands of its step, after the inputs."""

CASTS: Mapping[DType, frozenset[DType]] = {
    float32: COMPUTED,
    float16: COMPUTED,
    bfloat16: COMPUTED - {int32, int64},
}
"""Dtype -> what programs cast to it: what is float32 first must not be rounded twice. Integers that
float32 rounds are too large for float16."""

_WHOLE = (int8, uint8, int16, uint16)
LINEAR = ("quantize", "dequantize")
OTHER_NAME = ("cast", "prelu", "add_n", *LINEAR)
_NO_OPS = ("clip", "identity", *LINEAR, *RESULTS.keys() - TRUTHS)
SAME_NAME = tuple(op for op in STEPS if op not in _NO_OPS)
"""Ops that are one step, some of their name."""
_SINGLE = frozenset((*SAME_NAME, "prelu", "add_n"))
MOST_INPUTS = 12
"""So many tensors are read at once at most."""


class ProgramKernel(NativeKernel):
    """``cpu.elementwise``: as the op says; y may be an input's memory. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The steps."""
        return parse(self._call)

    def _make(self, views: Views) -> Launch:
        inputs = self._inputs(views)
        steps, numbers = in_registers(tuple(self.steps()), len(inputs))
        return native.program(steps, numbers, inputs, views.output())

    def _inputs(self, views: Views) -> list[Array]:
        return views.inputs()


@lru_cache(maxsize=256)
def in_registers(
    steps: tuple[Step, ...], inputs: int
) -> tuple[list[tuple[str, list[int]]], list[float]]:
    """Steps whose operands are numbers of registers, and what the registers of numbers hold.

    Registers are of inputs, then of numbers, then of what steps make.
    """
    numbers: dict[str, int] = {}
    for _, *operands in steps:
        for operand in operands:
            if place_of(operand) is None:
                numbers.setdefault(operand, inputs + len(numbers))
    firm = inputs + len(numbers)

    def register(operand: str) -> int:
        place = place_of(operand)
        if place is None:
            return numbers[operand]
        return firm + place if operand[0] == "t" else place

    wired = [(name, [register(operand) for operand in operands]) for name, *operands in steps]
    return wired, [float(number) for number in numbers]


class SingleOp(ProgramKernel):
    """An op that is a step or a few; y may be an input's memory. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The steps of the one op."""
        given = [spec for spec in self._call.inputs if spec is not None]
        operands = [f"i{index}" for index in range(len(given))]
        return steps_of(self._call, operands, 0)


class ClipStep(ProgramKernel):
    """``clip`` as a step; y may be x. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The one step: absent limits are infinite."""
        low, high = (self._call.has_input(index) for index in (1, 2))
        return [("clip", "i0", "i1" if low else "-inf", f"i{1 + low}" if high else "inf")]

    def _inputs(self, views: Views) -> list[Array]:
        limits = (views.optional(index) for index in (1, 2))
        return [views.input(), *(limit.reshape(()) for limit in limits if limit is not None)]


class BiasAddStep(ProgramKernel):
    """``bias_add`` as a step; y may be x. Needs no workspace."""

    def steps(self) -> Sequence[Step]:
        """The one step."""
        return [("add", "i0", "i1")]

    def _inputs(self, views: Views) -> list[Array]:
        return [views.input(), aligned_bias(self._call, views)]


def steps_of(call: OpCall, operands: Sequence[str], first: int) -> list[Step]:
    """The steps that an op is, after ``first`` others."""
    formula = FORMULAS.get(call.op)
    steps = Steps(first)
    if call.op == "add_n" and len(operands) > 1:
        reduce(partial(steps, "add"), operands)
    elif formula is not None:
        formula(steps, call, operands[0])
    else:
        return [_step_of(call, operands)]
    return steps.made


def _step_of(call: OpCall, operands: Sequence[str]) -> Step:
    """The step that an op of ``SAME_NAME`` or ``OTHER_NAME`` is."""
    if call.op == "cast":
        made = call.outputs[0].dtype
        return ("identity" if made == float32 else made.name, operands[0])
    if call.op == "prelu":
        return ("leaky_relu", *operands)
    if call.op == "add_n":
        return ("identity", *operands)
    if call.op in LINEAR:
        x, scale, *zero = operands
        made = call.outputs[0].dtype
        name = "dequantize" if call.op == "dequantize" else f"quantize_{made}"
        return (name, x, scale, *(zero or ["0"]))
    attrs = (repr(call.float_attr(name)) for name in ATTRS.get(call.op, ()))
    return (call.op, *operands, *attrs)


def is_written(call: OpCall) -> bool:
    """Whether a call is a step of a program, or a few."""
    if call.op == "cast":
        return call.input(0).dtype in CASTS.get(call.outputs[0].dtype, ())
    if call.op in LINEAR:
        return _is_linear_step(call)
    if call.op in FORMULAS:
        numbers = (value for value in call.attrs.values() if isinstance(value, float))
        return call.input(0).dtype == float32 and not any(map(math.isnan, numbers))
    if call.op not in _SINGLE or len(call.inputs) > MOST_INPUTS:
        return False
    if any(math.isnan(call.float_attr(name)) for name in ATTRS.get(call.op, ())):
        return False
    for index, spec in enumerate(call.inputs):
        if spec is None or spec.dtype != (bool_ if _is_truth(call.op, index) else float32):
            return False
    return True


def _is_linear_step(call: OpCall) -> bool:
    """Whether integers are quantized to or dequantized, as a whole or by the last axis."""
    x, scale, y = call.input(0), call.input(1), call.outputs[0]
    quantized, other = (y, x) if call.op == "quantize" else (x, y)
    last = scale.rank == 1 and call.int_attr("axis") % max(x.rank, 1) == x.rank - 1
    fits = quantized.dtype in _WHOLE and {other.dtype, scale.dtype} == {float32}
    fits = fits and all(spec is None or spec.rank <= x.rank for spec in call.inputs[1:])
    return fits and (per_tensor(call) or (last and not call.int_attr("block_size")))


def _is_truth(op: str, index: int) -> bool:
    return op.startswith("logical_") or (op == "where" and index == 0)


written = SomeCalls("floats of 32 bits", dtypes(*map(str, sorted(COMPUTED))), is_written)


def program_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    yield KernelEntry(tag, "cpu.elementwise", ProgramKernel)
    for op in (*SAME_NAME, *OTHER_NAME, *FORMULAS):
        yield KernelEntry(tag, op, SingleOp, written, priority=1)
    yield KernelEntry(tag, "clip", ClipStep, dtypes("float32"))
    yield KernelEntry(tag, "bias_add", BiasAddStep, dtypes("float32"))
