"""``Fault``: something that is to fail, by its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.errors import DeviceError

KINDS = ("allocation", "copy", "launch", "event", "synchronize")


class InjectedFault(DeviceError):
    """What work raises that was told to fail. Memory that cannot be had is ``OutOfMemoryError``."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The ``number``-th thing of its kind fails, on all devices counted together.

    Attributes:
        kind: ``allocation``; ``copy``, in any direction; ``launch``, of a kernel or a collective;
            ``event``, a stream that comes to it has failed; ``synchronize`` of a stream.
        number: which one, from 1 on.
        lasting: all that follow fail as well.
        at_once: a copy or launch raises when it is asked for; otherwise its work fails, which is
            heard of when somebody waits.

    Raises:
        ValueError: there is no such kind or number.
    """

    kind: str
    number: int
    lasting: bool = False
    at_once: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.number < 1:
            raise ValueError(f"{self}: a kind is one of {', '.join(KINDS)}, numbers begin with 1")


class FaultCounter:
    """Counts what is done, and says when it is to fail.

    Attributes:
        counts: how often each kind was done.
        struck: the faults that came to pass, as often as they did.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.counts = Counter[str]()
        self.struck: list[Fault] = []
        self._faults = tuple(faults)

    def next(self, kind: str) -> Fault | None:
        """Count one more of ``kind``; the fault that strikes it."""
        self.counts[kind] += 1
        number = self.counts[kind]
        for fault in self._faults:
            if fault.kind == kind and (
                number == fault.number or (fault.lasting and number > fault.number)
            ):
                self.struck.append(fault)
                return fault
        return None
