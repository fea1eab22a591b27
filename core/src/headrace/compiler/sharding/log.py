"""The boxing log: what was done to bring each tensor to its readers, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.compiler.sharding.topology import COST, Link
from headrace.light_dataclass import dataclass
from headrace.placement import Placement
from headrace.sbp import NdSbp


@dataclass(frozen=True, slots=True)
class BoxedTensor:
    """One tensor laid another way for the ops that read it so.

    Attributes:
        tensor: its name in the job.
        readers: the ops that read it laid like this, and ``result NAME`` for the caller.
        source_sbp, source: how it lay, over which devices.
        sbp, placement: how they read it.
        rule: what brought it: ``one-to-one``, ``assemble``, a collective of the plugin by its name,
            one that core makes of copies and sums (``all_reduce by halves``), or several of them.
        received: bytes that devices receive in each run, by link.
    """

    tensor: str
    readers: tuple[str, ...]
    source_sbp: NdSbp
    source: Placement
    sbp: NdSbp
    placement: Placement
    rule: str
    received: Mapping[Link, int]

    @property
    def cost(self) -> float:
        """Bytes times what a byte costs on their links."""
        return sum(nbytes * COST[link] for link, nbytes in self.received.items())

    @property
    def moves(self) -> bool:
        """True when it is more than a tensor read where it lies."""
        return (self.source_sbp, self.source) != (self.sbp, self.placement)

    def __str__(self) -> str:
        bytes_ = ", ".join(
            f"{self.received[link]} bytes over {link}" for link in Link if self.received.get(link)
        )
        return (
            f"{self.tensor}: {self.source_sbp} on {self.source} -> {self.sbp} on {self.placement} "
            f"by {self.rule}: {bytes_ or 'nothing moves'}, cost {self.cost:g}; "
            f"for {', '.join(self.readers)}"
        )


@dataclass(frozen=True, slots=True)
class BoxingLog:
    """What boxing did for a job, in the order of the job.

    ``str`` has a line for each tensor that moves, and one with what all of them cost.
    """

    job: str
    tensors: tuple[BoxedTensor, ...]

    def __str__(self) -> str:
        moving = [boxed for boxed in self.tensors if boxed.moves]
        total = sum(boxed.cost for boxed in moving)
        title = f"boxing of {self.job!r}: {len(moving)} tensors, cost {total:g}"
        return "\n".join([title, *(f"  {boxed}" for boxed in moving)]) + "\n"
