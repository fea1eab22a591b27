"""``GroupContext``: streams of several devices that a collective runs on, as one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from headrace.device import DeviceContext, Event


class GroupEvent(Event):
    """A point in the streams of a group: one event of each."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = tuple(events)

    def synchronize(self) -> None:
        """Block until all are reached; raises the first error."""
        with ExitStack() as last_first:
            for event in reversed(self.events):
                last_first.callback(event.synchronize)


def wait_for(context: DeviceContext, event: Event) -> None:
    """Let a stream, or those of a group, wait for an event, which may be that of a group."""
    members = context.members if isinstance(context, GroupContext) else (context,)
    events = event.events if isinstance(event, GroupEvent) else (event,)
    for member in members:
        for one in events:
            member.wait_event(one)


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

    def record_event(self) -> Event:
        """Mark this point of all members."""
        return GroupEvent([member.record_event() for member in self.members])

    def close(self) -> None:
        """Close all members, whatever one of them raises."""
        with ExitStack() as last_first:
            for member in self.members:
                last_first.callback(member.close)
