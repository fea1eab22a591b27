"""``Device``: one opened device of a plugin."""

from __future__ import annotations


class Device:
    """What ``DeviceEntry.open`` returns: the plugin's handle of one device.

    Subclass it to hold driver handles. Never open twice at a time for one index; closed when the
    last session that uses it closes, and opened again for the next. Contexts and allocators are
    created for it.
    """

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def close(self) -> None:
        """Release driver handles. Called once, after all its contexts and buffers are gone."""
