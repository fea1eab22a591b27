"""Opened devices: each at most once in a process, closed when its last user closes."""

from __future__ import annotations

import os
from weakref import WeakKeyDictionary, ref

from headrace.collector import held
from headrace.device import Device
from headrace.errors import DeviceError
from headrace.registry.registry import BackendRegistry
from headrace.runtime.bus import new_lock
from headrace.runtime.memories import Memories


class DevicePool:
    """The opened devices of one registry, with counts of their users. Asked within a ``Shelter``.

    Attributes:
        memories: what jobs hold of their memories, and what is kept.
    """

    def __init__(self, registry: BackendRegistry) -> None:
        self.memories = Memories()
        self._registry = ref(registry)  # a pool is kept as long as its registry, and no longer
        self._lock = new_lock()
        self._open: dict[tuple[str, int], tuple[Device, int]] = {}
        self._forked = False

    def acquire(self, tag: str, index: int) -> Device:
        """The opened device; opens it when nobody has it open.

        Raises:
            DeviceError: the tag cannot be used, or this process was forked from one that has
                devices open.
            Exception: what the plugin's ``open`` raised.
        """
        if self._forked:
            raise DeviceError(
                f"device '{tag}:{index}' cannot be opened: this process was forked while devices "
                "were open, which drivers and their threads do not survive; start it with "
                "multiprocessing's 'spawn' method, or fork before the first job is compiled"
            )
        registry = self._registry()
        assert registry is not None, "who acquires a device holds the registry"
        with held(self._lock):
            device, users = self._open.get((tag, index), (None, 0))
            if device is None:
                device = registry.driver(tag).device.open(index)
            self._open[tag, index] = (device, users + 1)
        return device

    def release(self, tag: str, index: int) -> None:
        """Give a device back. When nobody else has it open, its memory goes back and it is closed.

        Raises:
            Exception: what the plugin raised; the device is closed all the same.
        """
        with held(self._lock):
            device, users = self._open.pop((tag, index))
            if users > 1:
                self._open[tag, index] = (device, users - 1)
                return
            try:
                self.memories.release(tag, index)
            finally:
                device.close()

    def forget(self) -> None:
        """In a forked child: what is open is the parent's, and no thread holds a lock."""
        self._forked = self._forked or bool(self._open)
        self._open.clear()
        self._lock, self.memories = new_lock(), Memories()


_POOLS: WeakKeyDictionary[BackendRegistry, DevicePool] = WeakKeyDictionary()
_POOLS_LOCK = new_lock()


def pool_of(registry: BackendRegistry) -> DevicePool:
    """The pool that all executors with this registry share."""
    with held(_POOLS_LOCK):
        if registry not in _POOLS:
            _POOLS[registry] = DevicePool(registry)
        return _POOLS[registry]


def _after_fork() -> None:
    global _POOLS_LOCK
    _POOLS_LOCK = new_lock()
    for pool in tuple(_POOLS.values()):
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
