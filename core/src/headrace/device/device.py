"""``Device``: one opened device of a plugin."""

from __future__ import annotations


class Device:
    """What ``DeviceEntry.open`` returns: the plugin's handle of one device.

    Subclass it to hold driver handles. Opened at most once for each index in a process, closed
    when the last session that uses it closes. Contexts and allocators are created for it.
    """

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def close(self) -> None:
        """Release driver handles. Called once, after all its contexts and buffers are gone."""
