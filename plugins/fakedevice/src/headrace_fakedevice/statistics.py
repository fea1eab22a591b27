"""What the fake devices did: counters per device index, for tests and for the curious."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statistics:
    """What one device did since the process began.

    Attributes:
        live_allocations, live_bytes: memory that is not freed; 0 when no session is open.
        allocations: all that were made.
        pinned_bytes: host memory that is pinned for the device and not freed.
        pinned_allocations: all that were made of it.
        launches: kernels that ran.
        copies_h2d, copies_d2h, copies_d2d: copies that ran, by direction.
        copies_pageable: those between it and host memory that is not pinned, queued so far.
        copies_peer: copies from other devices to this one.
        collectives: exchanges among several devices, of which this is the first.
        opened, closed: how often it was opened and closed.
    """

    live_allocations: int
    live_bytes: int
    allocations: int
    pinned_bytes: int
    pinned_allocations: int
    launches: int
    copies_h2d: int
    copies_d2h: int
    copies_d2d: int
    copies_pageable: int
    copies_peer: int
    collectives: int
    opened: int
    closed: int


class Counters:
    """The same numbers while they change.

    The allocator is called by one thread at a time, and work runs under the lock of the streams;
    each writes to its own fields, so no lock is needed here.
    """

    def __init__(self) -> None:
        self.live_allocations = 0
        self.live_bytes = 0
        self.allocations = 0
        self.pinned_bytes = 0
        self.pinned_allocations = 0
        self.launches = 0
        self.copies_h2d = 0
        self.copies_d2h = 0
        self.copies_d2d = 0
        self.copies_pageable = 0
        self.copies_peer = 0
        self.collectives = 0
        self.opened = 0
        self.closed = 0

    def allocated(self, nbytes: int) -> None:
        """Count one allocation."""
        self.allocations += 1
        self.live_allocations += 1
        self.live_bytes += nbytes

    def freed(self, nbytes: int) -> None:
        """Count one allocation less that is live."""
        self.live_allocations -= 1
        self.live_bytes -= nbytes

    def pinned(self, nbytes: int) -> None:
        """Count one allocation of pinned memory."""
        self.pinned_allocations += 1
        self.pinned_bytes += nbytes

    def unpinned(self, nbytes: int) -> None:
        """Count pinned memory that is not there any more."""
        self.pinned_bytes -= nbytes


# By index and not by opened device: a device that is opened again is the same device.
_COUNTERS: dict[int, Counters] = {}


def counters(index: int) -> Counters:
    """The counters of device ``index``."""
    return _COUNTERS.setdefault(index, Counters())


def statistics(index: int = 0) -> Statistics:
    """What device ``index`` did so far.

    Example:
        >>> statistics(127).launches
        0
    """
    return Statistics(**vars(counters(index)))
