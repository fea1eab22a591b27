"""What parts of a plan are called, in messages and pictures."""

from __future__ import annotations

from headrace.ids import StreamId
from headrace.plan.model import Plan


def stream_name(plan: Plan, stream_id: StreamId) -> str:
    """A stream by the tag of its device: ``cpu:0/s0``."""
    device = stream_id.device_id
    tag = plan.device_types.tag(device.device_type)
    machine = f"machine {device.rank} " if device.rank else ""
    return f"{machine}{tag}:{device.device_index}/s{stream_id.stream_index}"
