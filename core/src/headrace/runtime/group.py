"""``GroupContext``: streams of several devices that a collective runs on, as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from headrace.device import DeviceContext, Event
from headrace.runtime.patience import is_reached


class GroupEvent(Event):
    """A point in the work of all members: the points of each.

    Attributes:
        parts: the events of the members; streams wait for them one by one.
    """

    def __init__(self, parts: Sequence[Event]) -> None:
        self.parts = tuple(parts)

    def synchronize(self) -> None:
        """Wait for all parts, also when one has failed; raises the first error."""
        with ExitStack() as last_first:
            for part in reversed(self.parts):
                last_first.callback(part.synchronize)

    def is_reached(self) -> bool | None:
        """Whether all parts are; None where one cannot be asked."""
        answers = [is_reached(part) for part in self.parts]
        return None if None in answers else all(answers)


class GroupContext(DeviceContext):
    """One stream on each of several devices: what is launched on it is work of all of them.

    Only collectives are launched on it; it has no copies of its own.

    Attributes:
        members: the streams, in the order of the collective's devices.
    """

    def __init__(self, members: Sequence[DeviceContext]) -> None:
        super().__init__(members[0].device, members[0].stream_index)
        self.members = tuple(members)
        self.host_synchronous = all(member.host_synchronous for member in members)

    def synchronize(self) -> None:
        """Wait for all members, also when one has failed; raises the first error."""
        with ExitStack() as last_first:
            for member in reversed(self.members):
                last_first.callback(member.synchronize)

    def record_event(self) -> GroupEvent:
        """Mark the point that all members have come to."""
        return GroupEvent([member.record_event() for member in self.members])

    def wait_event(self, event: Event) -> None:
        """Let the work of all members wait: what one of them reads, another one holds."""
        for member in self.members:
            member.wait_event(event)

    def close(self) -> None:
        """Close all members, whatever one of them raises."""
        with ExitStack() as last_first:
            for member in self.members:
                last_first.callback(member.close)
