"""Changes of dtype: by casts of the library, and by the bytes of integers.

Which casts the library has was seen where it is called. What an integer becomes that does not fit
into fewer bits is not documented, and need not be: its low bytes are moved, as is an integer
without sign into a wider one, before zeros.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headrace.device import KernelEntry, OpCall
from headrace.dtypes import INTS, dtype_of
from headrace_cambricon.enums import find
from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.bits import BY_SIZE, PAIR
from headrace_cambricon.kernels.indices import number
from headrace_cambricon.kernels.kernel import (
    Operand,
    Recorder,
    WithWorkspace,
    between_bytes,
)
from headrace_cambricon.kernels.match import Takes, available
from headrace_cambricon.kernels.movement import bits

_MANTISSAS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_EXPONENTS = {"float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}
_WHOLE = tuple(sorted(dtype.name for dtype in INTS))
_KNOWN = ("bool", *_WHOLE, *_MANTISSAS)
_CLAMPED = {"uint16": 65535}
"""What is kept within the range of an integer that the library casts no float to, as an int32."""
_CLAMPS = Takes((), ("cnnlMaximum", "cnnlMinimum"))


class Step(NamedTuple):
    """From one dtype to the next: ``vendor``, ``low`` bytes, ``zeros`` before, or ``clamp``."""

    way: str
    target: str


def cast_steps(source: str, target: str) -> tuple[Step, ...]:
    """The shortest way from a dtype to another whose only loss is in its last step.

    Returns:
        The steps; none when there is no way, or none is needed. Which enumerators are known is not
        asked here.
    """
    if source == target or source not in _KNOWN or target not in _KNOWN:
        return ()
    if target in _CLAMPED and dtype_of(source).is_float:
        first = cast_steps(source, "int32")
        return (*first, Step("clamp", "int32"), Step("low", target)) if first else ()
    ways: dict[str, tuple[Step, ...]] = {source: ()}
    queue = deque([source])
    while queue:
        here = queue.popleft()
        for step in _steps_from(here, target):
            if step.target == target:
                return (*ways[here], step)
            if step.target not in ways and holds(step.target, source):
                ways[step.target] = (*ways[here], step)
                queue.append(step.target)
    return ()


def _steps_from(here: str, target: str) -> Iterator[Step]:
    a = dtype_of(here)
    for name in vendor.CASTS.get(here, ()):
        b = dtype_of(name)
        if b.kind == "b" or (a.is_int and b.is_int and not holds(name, here)):
            continue  # what is no 0 is True; what does not fit is not said
        yield Step("vendor", name)
    if a.kind not in "biu":
        return
    for name in (target, "int16", "int32", "int64"):
        b = dtype_of(name)
        if not b.is_int or b == a or name not in _WHOLE:
            continue
        if b.itemsize <= a.itemsize:
            yield Step("low", name)
        elif a.kind != "i":
            yield Step("zeros", name)


def holds(target: str, source: str) -> bool:
    """True when every number of ``source`` is one of ``target``."""
    a, b = dtype_of(source), dtype_of(target)
    if a.is_float:
        return (
            target in _MANTISSAS
            and _MANTISSAS[target] >= _MANTISSAS[source]
            and _EXPONENTS[target] >= _EXPONENTS[source]
        )
    of_a = 1 if a.kind == "b" else 8 * a.itemsize - (a.kind == "i")
    if b.is_float:
        return of_a <= _MANTISSAS.get(target, 0)
    return b.is_int and of_a <= 8 * b.itemsize - (b.kind == "i") and (a.kind, b.kind) != ("i", "u")


def convert(r: Recorder, x: Operand, steps: Sequence[Step], y: Operand | None = None) -> Operand:
    """Record the steps, the last into ``y``; without it, into the workspace."""
    for index, (way, target) in enumerate(steps, 1):
        into = y if y is not None and index == len(steps) else r.between(x.shape, target)
        if way == "vendor":
            vendor.cast(r, x, into)
        elif way == "low":
            low_bytes(r, x, into)
        elif way == "zeros":
            before_zeros(r, x, into)
        else:
            clamp(r, x, into, _CLAMPED[steps[-1].target])
        x = into
    return x


def convert_bytes(count: int, steps: Sequence[Step]) -> int:
    """What ``convert`` takes of the workspace at most."""
    clamps = sum(step.way == "clamp" for step in steps)
    between = [step.target for step in steps] + ["int32"] * clamps
    return sum(between_bytes((count,), name) for name in between)


class Cast(WithWorkspace):
    """One dtype as another, in as many steps as it takes."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        self._steps = cast_steps(call.input(0).dtype.name, call.outputs[0].dtype.name)

    def between_bytes(self) -> int:
        return convert_bytes(self.call.input(0).elements, self._steps[:-1])

    def record(self, r: Recorder) -> None:
        if self._steps:
            convert(r, r.x(0), self._steps, r.y())
        else:
            r.copy(r.outputs[0], r.input(0), self.call.input(0).nbytes)


def low_bytes(r: Recorder, x: Operand, y: Operand) -> None:
    """The low bytes of integers; they lie first."""
    a, b, count = dtype_of(x.dtype), dtype_of(y.dtype), math.prod(x.shape)
    if a.itemsize == b.itemsize:
        r.copy(y.address, x.address, count * a.itemsize)
        return
    parts = r.tensor(x.address, (count, a.itemsize // b.itemsize), bits(b))
    low = r.tensor(y.address, (count, 1), bits(b))
    vendor.strided_slice(r, [0, 0], [count, 1], [1, 1], parts, low)


def before_zeros(r: Recorder, x: Operand, y: Operand) -> None:
    """Integers without sign as the low bytes of wider ones."""
    a, b, count = dtype_of(x.dtype), dtype_of(y.dtype), math.prod(x.shape)
    r.fill(y.address, 0, count * b.itemsize)
    source = r.tensor(x.address, (count, 1), bits(a), strides=(1, 1))
    low = r.tensor(y.address, (count, 1), bits(a), strides=(b.itemsize // a.itemsize, 1))
    vendor.strided_copy(r, source, low)


def clamp(r: Recorder, x: Operand, y: Operand, highest: int) -> None:
    """Between 0 and ``highest``, in int32."""
    above = r.between(x.shape, "int32")
    vendor.binary(r, "Maximum", x, number(r, 0), above)
    vendor.binary(r, "Minimum", above, number(r, highest), y)


class ToBool(WithWorkspace):
    """True where ``x`` is not zero: what bits that are not all zero mean does not matter."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        dtype = call.input(0).dtype
        self._dtype = dtype.name if dtype.is_float else BY_SIZE[dtype.itemsize]
        self._pairs = dtype.is_int and dtype.itemsize == PAIR

    def between_bytes(self) -> int:
        zero = between_bytes((1,), self._dtype)
        count = self.call.input(0).elements
        return zero + (between_bytes((count, 2), "bool") if self._pairs else 0)

    def record(self, r: Recorder) -> None:
        count = self.call.input(0).elements
        zero = r.between((1,), self._dtype)
        r.fill(zero.address, 0, dtype_of(self._dtype).itemsize)
        if not self._pairs:
            x = r.tensor(r.input(0), (count,), self._dtype)
            vendor.logic(r, "NE", x, zero, r.tensor(r.outputs[0], (count,), "bool"))
            return
        halves, some = r.tensor(r.input(0), (count, 2), "int32"), r.between((count, 2), "bool")
        vendor.logic(r, "NE", halves, zero, some)
        vendor.reduce(r, "OR", [1], some, r.tensor(r.outputs[0], (count, 1), "bool"))


def _is_cast(call: OpCall) -> bool:
    source, target = call.input(0).dtype.name, call.outputs[0].dtype.name
    return source == target or is_known(source, cast_steps(source, target))


def is_known(source: str, steps: Sequence[Step]) -> bool:
    """True when there is a way, and what it needs is said and at hand."""
    names = [source, *(step.target for step in steps)]
    if any(step.way == "clamp" for step in steps) and _CLAMPS.missing():
        return False
    return (
        bool(steps)
        and all(map(available, names))
        and all(
            step.way != "vendor" or find(vendor.cast_enum(before, step.target)) is not None
            for before, step in zip(names, steps, strict=False)
        )
    )


def _is_to_bool(call: OpCall) -> bool:
    return call.outputs[0].dtype.name == "bool" and call.input(0).dtype.name != "bool"


def cast_entries(tag: str) -> Iterator[KernelEntry]:
    """Kernels for casts whose every step is known."""
    functions = ("cnnlCastDataType", *vendor.SLICE, *vendor.COPY)
    match = Takes((), functions, where=_is_cast, text="what the library is known to cast, in steps")
    yield KernelEntry(tag, "cast", Cast, match)
    names = ("float32", "float16", "bfloat16", *_WHOLE)
    needs = (*vendor.LOGIC, *vendor.REDUCE)
    match = Takes(names, needs, ("CNNL_LOGIC_OP_NE",), _is_to_bool, "to bool")
    yield KernelEntry(tag, "cast", ToBool, match)
