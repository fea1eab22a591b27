"""SBP: how a logical tensor lies on several devices: Split, Broadcast or PartialSum."""

from __future__ import annotations

import re

from headrace.errors import SbpError
from headrace.light_dataclass import dataclass

REDUCTIONS = ("sum", "max", "min")


@dataclass(frozen=True, slots=True, order=True)
class Split:
    """Each device holds a contiguous, balanced slice along ``axis`` (never negative)."""

    axis: int

    def __post_init__(self) -> None:
        if self.axis < 0:
            raise SbpError(f"a split axis counts from 0; got {self.axis}")

    def __str__(self) -> str:
        return f"S({self.axis})"


@dataclass(frozen=True, slots=True, order=True)
class Broadcast:
    """Each device holds the whole tensor."""

    def __str__(self) -> str:
        return "B"


@dataclass(frozen=True, slots=True, order=True)
class PartialSum:
    """Each device holds a tensor of full shape; their elementwise reduction is the tensor."""

    reduction: str = "sum"

    def __post_init__(self) -> None:
        if self.reduction not in REDUCTIONS:
            raise SbpError(f"partial reductions are {REDUCTIONS}; got {self.reduction!r}")

    def __str__(self) -> str:
        return "P" if self.reduction == "sum" else f"P({self.reduction})"


Sbp = Split | Broadcast | PartialSum

_TEXT = re.compile(r"S\((?P<axis>[0-9]+)\)|B|P(?:\((?P<reduction>max|min|sum)\))?")


def parse_sbp(text: str) -> Sbp:
    """Read what ``str`` prints of one ``Sbp``; spaces around it do not matter.

    Raises:
        SbpError: the text is no SBP.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise SbpError(f"{text.strip()!r} is no SBP; write S(axis), B, P, P(max), P(min)")
    if match["axis"] is not None:
        return Split(int(match["axis"]))
    return Broadcast() if match[0] == "B" else PartialSum(match["reduction"] or "sum")


@dataclass(frozen=True, slots=True, order=True)
class NdSbp:
    """One ``Sbp`` for each axis of a placement's hierarchy.

    Example:
        >>> print(NdSbp.parse("S(0),B"))
        S(0),B
    """

    axes: tuple[Sbp, ...]

    @staticmethod
    def broadcast(rank: int) -> NdSbp:
        """Broadcast along each of ``rank`` hierarchy axes."""
        return NdSbp((Broadcast(),) * rank)

    @staticmethod
    def parse(text: str) -> NdSbp:
        """Read what ``str`` prints.

        Raises:
            SbpError: the text is no SBP.
        """
        return NdSbp(tuple(map(parse_sbp, text.split(","))))

    def __str__(self) -> str:
        return ",".join(map(str, self.axes))
