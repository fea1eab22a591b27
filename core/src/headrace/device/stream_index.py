"""``StreamIndexGenerator``: which stream of a device a task runs on."""

from __future__ import annotations


class StreamIndexGenerator:
    """Numbers the streams of one device, 0 to 4095. Used while a job is compiled, by one thread.

    The defaults are one stream for each purpose; override ``compute`` to spread work over several.
    Equal calls in equal order must give equal numbers, so that plans are reproducible. What is no
    ``int`` in this range is a ``PluginError``.
    """

    def __init__(self, device_index: int = 0) -> None:
        self.device_index = device_index
        self._named: dict[str, int] = {}

    def compute(self) -> int:
        """Stream for the next compute task."""
        return 0

    def h2d(self) -> int:
        """Stream for copies from the host to the device."""
        return 1

    def d2h(self) -> int:
        """Stream for copies from the device to the host."""
        return 2

    def named(self, name: str) -> int:
        """Stream for the purpose ``name``: the same number for the same name."""
        return self._named.setdefault(name, 3 + len(self._named))
