"""Hints: how a user wants a tensor distributed over the devices of the op that makes it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import SbpError
from headrace.light_dataclass import dataclass
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split, parse_sbp
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Auto:
    """No wish: the compiler chooses."""

    def __str__(self) -> str:
        return "auto"


Wish = Sbp | Auto
"""What is wanted along one axis of a hierarchy."""


@dataclass(frozen=True, slots=True)
class SbpHint:
    """A wish for one tensor: one ``Wish`` for each axis of the hierarchy, and who asked for it.

    ``location`` is where the user wrote it, for messages; two hints that differ in it alone are
    equal.
    """

    axes: tuple[Wish, ...]
    location: str = ""

    @staticmethod
    def of(wish: object, location: str = "") -> SbpHint:
        """Read one wish, a sequence with one for each axis of a hierarchy, or a text of them.

        Raises:
            SbpError: it is none.

        Example:
            >>> print(SbpHint.of("S(0),auto"), SbpHint.of(Split(1)), SbpHint.of(["B", Split(0)]))
            S(0),auto S(1) B,S(0)
        """
        items: Sequence[object]
        match wish:
            case str():
                items = wish.split(",")
            case NdSbp():
                items = wish.axes
            case list() | tuple():
                items = wish
            case _:
                items = (wish,)
        if not items:
            raise SbpError("an empty list has no distribution for any axis of the hierarchy")
        return SbpHint(tuple(map(_wish, items)), location)

    def check(self, tensor: str, spec: TensorSpec) -> None:
        """Check that ``tensor`` has the axes that it is to be split along.

        Raises:
            SbpError: it has not.
        """
        for wish in self.axes:
            if isinstance(wish, Split) and wish.axis >= spec.rank:
                raise SbpError(
                    f"{self.said_of(tensor)}, and {spec} has no axis {wish.axis}: its axes are "
                    f"0 to {spec.rank - 1}"
                    if spec.rank
                    else f"{self.said_of(tensor)}, and a scalar {spec} has no axis to be split"
                )

    def said_of(self, tensor: str) -> str:
        """For messages: ``tensor 'x' is to be distributed as S(0) (job.py:12)``."""
        return f"tensor {tensor!r} is to be distributed as {self}{self._where()}"

    def agrees(self, other: SbpHint) -> bool:
        """True when both want the same."""
        return self.axes == other.axes

    def or_whole(self) -> NdSbp:
        """The distribution where nobody else has a say: whole, where nothing is wanted."""
        return NdSbp(tuple(Broadcast() if isinstance(w, Auto) else w for w in self.axes))

    def _where(self) -> str:
        return f" ({self.location})" if self.location else ""

    def __str__(self) -> str:
        return ",".join(map(str, self.axes))


def _wish(item: object) -> Wish:
    match item:
        case Split() | Broadcast() | PartialSum() | Auto():
            return item
        case str():
            return Auto() if item.strip() == "auto" else parse_sbp(item)
        case NdSbp(axes=(alone,)):
            return alone
    raise SbpError(
        f"{item!r} is no distribution; write headrace.distribute.split(axis), "
        "broadcast() or auto(), or a text such as 'S(0),B'"
    )
