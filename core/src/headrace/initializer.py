"""``Initializer``: the value that a variable begins with, and how it is drawn.

An initializer is a value, so that jobs can be compared and a plan can carry it; ``initial_value``
draws what it says. The same initializer, spec and seed give the same array on every machine and
with every version of numpy: numbers come from ``numpy.random.RandomState``, the Mersenne twister of
OneFlow, whose stream numpy has frozen (NEP 19), which it has not for its newer generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from headrace.dtypes import DType
from headrace.errors import VariableError
from headrace.light_dataclass import dataclass
from headrace.op_call import Attrs, AttrValue
from headrace.tensor_spec import Array, TensorSpec

TRUNCATED_STDDEV = 0.87962566103423978
"""Standard deviation of the standard normal distribution cut off at 2 on either side."""

MODES = ("fan_in", "fan_out", "fan_avg")


@dataclass(frozen=True, slots=True)
class Initializer:
    """A distribution by name, with its parameters. Made by ``headrace.frontend.initializers``.

    Example:
        >>> print(Initializer("random_normal", Attrs({"mean": 0.0, "stddev": 1.0})))
        random_normal(mean=0.0, stddev=1.0)
    """

    name: str
    attrs: Attrs

    def number(self, name: str) -> float | int:
        """A parameter that is a number."""
        value = self.attrs[name]
        assert isinstance(value, (float, int)), name
        return value

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.attrs.items())})"


def initializer(name: str, **attrs: AttrValue) -> Initializer:
    """An initializer with these parameters."""
    return Initializer(name, Attrs(attrs))


def check_initializer(rule: Initializer, spec: TensorSpec) -> None:
    """Check that a tensor of ``spec`` can begin with ``rule``.

    Raises:
        VariableError: it cannot; says why, and what would do.
    """
    if rule.name not in _DISTRIBUTIONS:
        known = ", ".join(_DISTRIBUTIONS)
        raise VariableError(f"there is no initializer {rule.name!r}; there are {known}")
    # A tensor of the same rank with next to no elements is drawn in the same way, in no time; its
    # fans would be others, so those of the whole are looked at as well.
    if rule.name == "variance_scaling":
        _deviation(rule, spec)
    _DISTRIBUTIONS[rule.name](rule, spec, np.random.RandomState(0), (1,) * spec.rank)


def initial_value(rule: Initializer, spec: TensorSpec, seed: int) -> Array:
    """The value of a tensor of ``spec``.

    Args:
        rule: the initializer.
        spec: the whole tensor, wherever its parts may lie.
        seed: 0 to 2**32 - 1; means nothing to initializers that draw nothing.

    Raises:
        VariableError: the tensor cannot begin with ``rule``.
    """
    check_initializer(rule, spec)
    drawn = _DISTRIBUTIONS[rule.name](rule, spec, np.random.RandomState(seed), spec.shape)
    return np.ascontiguousarray(drawn.astype(spec.dtype.numpy, copy=False)).reshape(spec.shape)


Shape = tuple[int, ...]

if TYPE_CHECKING:  # numpy loads its random numbers when they are first asked for
    Distribution = Callable[[Initializer, TensorSpec, np.random.RandomState, Shape], Array]


def _constant(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    return np.full(shape, _exactly(rule, rule.number("value"), spec.dtype))


def _range(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    axis = int(rule.number("axis"))
    if not -spec.rank <= axis < spec.rank:
        raise VariableError(f"{rule} counts along axis {axis}, which {spec} does not have")
    start, step = rule.number("start"), rule.number("stride")
    for number in (start, start + step * max(spec.shape[axis] - 1, 0)):
        _exactly(rule, number, spec.dtype)
    along = np.arange(shape[axis]) * np.array(step) + np.array(start)
    tail = (1,) * (spec.rank - 1 - axis % spec.rank)
    return np.broadcast_to(along.reshape(-1, *tail), shape)


def _uniform(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    low, high = rule.number("minval"), rule.number("maxval")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise VariableError(f"{rule} has no value to draw: minval must be less than maxval")
    if spec.dtype.is_float:
        return random.uniform(low, high, shape)
    if not spec.dtype.is_int:
        raise VariableError(f"{rule} draws numbers; the variable is {spec}")
    least = int(_exactly(rule, low, spec.dtype))
    last = int(_exactly(rule, high - 1 if isinstance(high, int) else math.ceil(high) - 1,
                        spec.dtype))  # fmt: skip
    wide = np.uint64 if spec.dtype.kind == "u" else np.int64
    return np.asarray(random.randint(least, last + 1, shape, dtype=wide))


def _normal(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    mean, stddev = _moments(rule, spec)
    return random.normal(mean, stddev, shape)


def _truncated_normal(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    mean, stddev = _moments(rule, spec)
    return mean + stddev * _cut_off(random, shape)


def _variance_scaling(
    rule: Initializer, spec: TensorSpec, random: np.random.RandomState, shape: Shape
) -> Array:
    stddev = _deviation(rule, spec)
    match rule.attrs["distribution"]:
        case "random_uniform":
            limit = math.sqrt(3) * stddev  # the uniform distribution of that deviation
            return random.uniform(-limit, limit, shape)
        case "random_normal":
            return random.normal(0, stddev, shape)
        case "truncated_normal":
            return stddev / TRUNCATED_STDDEV * _cut_off(random, shape)
        case other:
            raise VariableError(
                f"{rule} draws from {other!r}; it can from random_uniform, random_normal and "
                "truncated_normal"
            )


_DISTRIBUTIONS: Mapping[str, Distribution] = {
    "constant": _constant,
    "random_uniform": _uniform,
    "random_normal": _normal,
    "truncated_normal": _truncated_normal,
    "variance_scaling": _variance_scaling,
    "range": _range,
}


def _exactly(rule: Initializer, number: float, dtype: DType) -> Array:
    """``number`` as one of ``dtype``: floats round, all else must hold it."""
    try:
        value = np.array(number, dtype.numpy)
        if dtype.is_float or value == number:
            return value
    except (OverflowError, TypeError, ValueError):
        pass
    raise VariableError(f"{rule} needs {number!r}, which is no value of {dtype}")


def _moments(rule: Initializer, spec: TensorSpec) -> tuple[float, float]:
    mean, stddev = float(rule.number("mean")), float(rule.number("stddev"))
    if not (math.isfinite(mean) and math.isfinite(stddev) and stddev >= 0):
        raise VariableError(f"{rule} has a mean or a deviation that is no number from 0 on")
    _needs_float(rule, spec)
    return mean, stddev


def _needs_float(rule: Initializer, spec: TensorSpec) -> None:
    if not spec.dtype.is_float:
        raise VariableError(
            f"{rule} draws real numbers and the variable is {spec}; use a floating dtype, or "
            "constant, range or random_uniform"
        )


def _deviation(rule: Initializer, spec: TensorSpec) -> float:
    """The standard deviation ``sqrt(scale / fan)``."""
    _needs_float(rule, spec)
    scale, mode = float(rule.number("scale")), rule.attrs["mode"]
    if mode not in MODES:
        raise VariableError(f"{rule} scales by {mode!r}; it can by {', '.join(MODES)}")
    if not (math.isfinite(scale) and scale >= 0):
        raise VariableError(f"{rule} has scale {scale}; it must be a number from 0 on")
    if spec.rank < 2:
        raise VariableError(
            f"{rule} scales by the number of inputs and outputs, which a variable {spec} of rank "
            f"{spec.rank} does not have; it takes rank 2 at least, as in [outputs, inputs, ...]"
        )
    fan_in = math.prod(spec.shape[1:])
    window = spec.shape[1:-1] if rule.attrs["channels_last"] else spec.shape[2:]
    fan_out = spec.shape[0] * math.prod(window)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[str(mode)]
    if fan == 0:
        raise VariableError(f"{rule} divides by {mode}, which is 0 for a variable {spec}")
    return math.sqrt(scale / fan)


def _cut_off(random: np.random.RandomState, shape: Shape) -> Array:
    """Standard normal numbers, drawn again where they are further than 2 from 0."""
    drawn = np.asarray(random.normal(size=shape))
    while (outside := np.abs(drawn) > 2).any():
        drawn[outside] = random.normal(size=np.count_nonzero(outside))
    return drawn
