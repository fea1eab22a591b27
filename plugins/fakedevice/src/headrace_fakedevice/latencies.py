"""``Latencies``: how long work takes, in virtual seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Latencies:
    """Virtual seconds that each kind of work takes on its stream; nothing by default.

    Attributes:
        h2d, d2h, d2d, peer: a copy in this direction.
        launch: a kernel.
        collective: an exchange among several devices.
        ops: kernels of these ops, in place of ``launch``.
        bytes_per_second: what a copy takes beside that, by its length; None means nothing.

    Example:
        >>> Latencies(h2d=1.0, bytes_per_second=100).of("h2d", "", 50)
        1.5
        >>> Latencies(launch=1.0, ops={"matmul": 3.0}).of("launch", "matmul", 0)
        3.0
    """

    h2d: float = 0.0
    d2h: float = 0.0
    d2d: float = 0.0
    peer: float = 0.0
    launch: float = 0.0
    collective: float = 0.0
    ops: Mapping[str, float] = field(default_factory=dict)
    bytes_per_second: float | None = None

    def of(self, kind: str, op: str, nbytes: int) -> float:
        """What one piece of work takes: ``kind`` is one of the attributes, ``op`` of a kernel."""
        if op in self.ops:
            return self.ops[op]
        seconds: float = getattr(self, kind)
        return seconds + (nbytes / self.bytes_per_second if self.bytes_per_second else 0.0)
