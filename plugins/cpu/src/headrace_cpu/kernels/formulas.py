"""Activations that are several steps of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from headrace.device import OpCall
from headrace_cpu.ops.steps import Step


class Steps:
    """The steps of one op, written one after another.

    Args:
        first: how many steps the program has before them.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self.made: list[Step] = []

    def __call__(self, name: str, *operands: str | float) -> str:
        """Add a step; returns the operand that stands for its result."""
        self.made.append((name, *(o if isinstance(o, str) else repr(o) for o in operands)))
        return f"t{self._first + len(self.made) - 1}"


Formula: TypeAlias = Callable[[Steps, OpCall, str], object]
"""Writes an op's steps, of which the last is its result; the text is the operand x."""


def _gelu(f: Steps, call: OpCall, x: str) -> None:
    if call.str_attr("approximate") == "none":
        bend = f("erf", f("multiply", x, math.sqrt(0.5)))
    else:
        cube = f("multiply", f("multiply", x, x), x)
        inner = f("add", x, f("multiply", cube, 0.044715))
        bend = f("tanh", f("multiply", inner, math.sqrt(2 / math.pi)))
    f("multiply", f("multiply", x, 0.5), f("add", bend, 1.0))


def _softplus(f: Steps, call: OpCall, x: str) -> str:
    # Of |x| only exp(-|x|) is taken, which cannot overflow. The quotient makes up for what
    # 1 + exp(-|x|) was rounded by, or a small result would have few digits or none.
    shrunk = f("exp", f("negative", f("abs", x)))
    above = f("add", shrunk, 1.0)
    rounded = f("maximum", f("add", above, -1.0), 2.0**-53)  # which is less than any but 0
    exact = f("multiply", f("log", above), f("divide", shrunk, rounded))
    rest = f("where", f("equal", above, 1.0), shrunk, exact)
    return f("add", f("maximum", x, 0.0), rest)


def _mish(f: Steps, call: OpCall, x: str) -> None:
    f("multiply", x, f("tanh", _softplus(f, call, x)))


def _softsign(f: Steps, call: OpCall, x: str) -> None:
    f("divide", x, f("add", f("abs", x), 1.0))


def _thresholded_relu(f: Steps, call: OpCall, x: str) -> None:
    f("where", f("greater", x, call.float_attr("alpha")), x, 0.0)


def _elu(f: Steps, call: OpCall, x: str) -> str:
    bend = f("multiply", f("add", f("exp", x), -1.0), call.float_attr("alpha"))
    return f("where", f("less", x, 0.0), bend, x)


def _celu(f: Steps, call: OpCall, x: str) -> None:
    alpha = call.float_attr("alpha")
    bend = f("multiply", f("add", f("exp", f("divide", x, alpha)), -1.0), alpha)
    f("add", f("maximum", x, 0.0), f("minimum", bend, 0.0))


def _selu(f: Steps, call: OpCall, x: str) -> None:
    f("multiply", _elu(f, call, x), call.float_attr("gamma"))


def _tan(f: Steps, call: OpCall, x: str) -> None:
    f("divide", f("sin", x), f("cos", x))


def _sign(f: Steps, call: OpCall, x: str) -> None:
    side = f("subtract", f("greater", x, 0.0), f("less", x, 0.0))
    f("where", f("is_nan", x), x, side)


def _is_inf(f: Steps, call: OpCall, x: str) -> None:
    below, above = (call.flag_attr(f"detect_{side}") for side in ("negative", "positive"))
    if below and above:
        f("equal", f("abs", x), math.inf)
    elif below or above:
        f("equal", x, math.inf if above else -math.inf)
    else:
        f("less", x, -math.inf)  # nothing is


FORMULAS: Mapping[str, Formula] = {
    "gelu": _gelu,
    "softplus": _softplus,
    "mish": _mish,
    "softsign": _softsign,
    "thresholded_relu": _thresholded_relu,
    "elu": _elu,
    "celu": _celu,
    "selu": _selu,
    "tan": _tan,
    "sign": _sign,
    "is_inf": _is_inf,
}
"""By op, all of one input x."""
