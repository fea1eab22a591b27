"""What compiling decided, kept to be shown: which passes of plugins ran, and how each op runs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from headrace.device import CollectiveEntry, KernelEntry
from headrace.light_tuple import NamedTuple
from headrace.op_call import OpCall
from headrace.placement import Placement
from headrace.plan.saved import PassRun

__all__ = ["Decision", "Fallback", "How", "PassRun", "kernels_of"]


class Fallback(StrEnum):
    """What becomes of an op that its device cannot run."""

    ERROR = "error"
    """The job is refused."""
    WARN = "warn"
    """It runs on the host's device, with a ``FallbackWarning``."""
    ALLOW = "allow"
    """It runs on the host's device."""


class How(StrEnum):
    """How an op runs."""

    KERNEL = "kernel"
    """By a kernel of its device."""
    DECOMPOSED = "decomposed"
    """Said in other ops, each of which has a kernel on its device."""
    FALLBACK = "fallback"
    """On the host's device, since its own cannot."""
    UNSUPPORTED = "unsupported"
    """Not at all."""


class Decision(NamedTuple):
    """What was decided for one op.

    Attributes:
        call: the op as the job had it.
        asked: the device that the job placed it on.
        placed: the device that it runs on.
        how: how it runs there.
        ops: names of the ops that it became, in order; its own where it stayed.
        kernels: (op, entry) of each of them.
        why: what the device has instead; empty for an op with a kernel of its own.
    """

    call: OpCall
    asked: Placement
    placed: Placement
    how: How
    ops: tuple[str, ...]
    kernels: tuple[tuple[str, KernelEntry | CollectiveEntry], ...]
    why: str = ""


def kernels_of(decisions: Iterable[Decision]) -> dict[str, KernelEntry]:
    """What makes the kernel of each op that was decided on, by the names of what they became."""
    return {
        name: entry
        for decision in decisions
        for name, (_, entry) in zip(decision.ops, decision.kernels, strict=True)
        if isinstance(entry, KernelEntry)
    }
