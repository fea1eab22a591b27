"""What may happen at the same time in a job."""

from __future__ import annotations

from headrace.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How much of a job may happen at once. None of it changes a bit of any result.

    Attributes:
        width: how many calls may be under way, 1 or more. From 2 on, what goes from stream to
            stream has memory for two calls, so that they overlap.
        compute_streams: over how many streams of its device the ops of a call are spread, 1 or
            more: as many branches of it may be worked on side by side.
    """

    width: int = 1
    compute_streams: int = 1


ONE_AT_A_TIME = Concurrency()
"""Calls follow each other, and so do the ops of a device."""
