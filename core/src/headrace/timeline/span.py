"""``TaskSpan``: one task of one call, from its launch to the end of its work."""

from __future__ import annotations

from headrace.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """One task of one act, in nanoseconds of ``time.perf_counter_ns``.

    Attributes:
        task: its position in the plan.
        number: the act, which counts the calls of its job.
        begin_ns: when it was launched.
        end_ns: when its work was done.
    """

    task: int
    number: int
    begin_ns: int
    end_ns: int

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.begin_ns
