"""Opened devices: each at most once in a process, closed when its last user closes."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from headrace.device import Device
from headrace.registry.registry import BackendRegistry
from headrace.runtime.bus import new_lock


class DevicePool:
    """The opened devices of one registry, with counts of their users.

    Attributes:
        allocating: held while an allocator is called: plugins are promised one call at a time.
    """

    def __init__(self, registry: BackendRegistry) -> None:
        self.allocating = new_lock()
        self._registry = registry
        self._lock = new_lock()
        self._open: dict[tuple[str, int], tuple[Device, int]] = {}

    def acquire(self, tag: str, index: int) -> Device:
        """The opened device; opens it when nobody has it open.

        Raises:
            DeviceError: the tag cannot be used.
            Exception: what the plugin's ``open`` raised.
        """
        with self._lock:
            found = self._open.get((tag, index))
            device = found[0] if found else self._registry.backend(tag).device.open(index)
            self._open[tag, index] = (device, (found[1] if found else 0) + 1)
            return device

    def release(self, tag: str, index: int) -> None:
        """Give a device back; closes it when nobody else has it open."""
        with self._lock:
            device, users = self._open.pop((tag, index))
            if users > 1:
                self._open[tag, index] = (device, users - 1)
            else:
                device.close()


_POOLS: WeakKeyDictionary[BackendRegistry, DevicePool] = WeakKeyDictionary()
_POOLS_LOCK = new_lock()


def pool_of(registry: BackendRegistry) -> DevicePool:
    """The pool that all executors with this registry share."""
    with _POOLS_LOCK:
        if registry not in _POOLS:
            _POOLS[registry] = DevicePool(registry)
        return _POOLS[registry]
