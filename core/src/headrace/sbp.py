"""SBP: how a logical tensor lies on several devices: Split, Broadcast or PartialSum."""

from __future__ import annotations

import re
from dataclasses import dataclass

REDUCTIONS = ("sum", "max", "min")


@dataclass(frozen=True, slots=True, order=True)
class Split:
    """Each device holds a contiguous, balanced slice along ``axis`` (never negative)."""

    axis: int

    def __post_init__(self) -> None:
        if self.axis < 0:
            raise ValueError(f"a split axis counts from 0; got {self.axis}")

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
            raise ValueError(f"partial reductions are {REDUCTIONS}; got {self.reduction!r}")

    def __str__(self) -> str:
        return "P" if self.reduction == "sum" else f"P({self.reduction})"


Sbp = Split | Broadcast | PartialSum

_TEXT = re.compile(r"S\((\d+)\)|B|P(?:\((max|min|sum)\))?")


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
            ValueError: the text is no SBP.
        """
        parts: list[Sbp] = []
        for part in text.split(","):
            match = _TEXT.fullmatch(part.strip())
            if match is None:
                raise ValueError(f"{part.strip()!r} is no SBP; write S(axis), B, P, P(max), P(min)")
            if match[1] is not None:
                parts.append(Split(int(match[1])))
            else:
                parts.append(Broadcast() if match[0] == "B" else PartialSum(match[2] or "sum"))
        return NdSbp(tuple(parts))

    def __str__(self) -> str:
        return ",".join(map(str, self.axes))
