"""``Device``: one opened device of a plugin."""

from __future__ import annotations


class Device:
    """What ``DeviceEntry.open`` returns: the plugin's handle of one device.

    Subclass it to hold driver handles. Never open twice at a time for one index; closed when the
    last session that uses it closes, and opened again for the next; from any thread, one at a time.
    Contexts and allocators are created for it.

    Attributes:
        index: as ``DeviceEntry.open`` was given it; another one is a ``PluginError``.
    """

    def __init__(self, index: int = 0) -> None:
        self.index = index

    def free_bytes(self) -> int | None:
        """How many bytes could be allocated now; None when the plugin cannot tell. Since 1.3.

        Asked once before the memory of a plan is allocated, from any thread: a plan that needs
        more is refused as a whole, with the tensors that make it large.
        """
        return None

    def close(self) -> None:
        """Release driver handles. Called once, after all its contexts and buffers are gone."""
