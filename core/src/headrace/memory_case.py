"""``MemoryCase``: which memory a register lives in, and how two wishes for it are merged."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import lru_cache

from headrace.errors import PlanError
from headrace.ids import HOST_TAG, DeviceTypes, MemCaseId, MemZoneId
from headrace.light_dataclass import dataclass


class MemoryKind(Enum):
    """Whether the host can read and write the memory directly."""

    HOST = "host"
    DEVICE = "device"


@dataclass(frozen=True, slots=True, order=True)
class MemoryCase:
    """A kind of memory of one device.

    Attributes:
        tag: device tag that owns the memory; for host memory the tag of the host's device type.
        device_index: index of that device; for pinned host memory, of the device it is pinned for.
        kind: ``MemoryKind`` value, ``"host"`` or ``"device"``.
        pinned_for: tag of the device that host memory is page-locked for; empty when pageable.
        used_by_network: host memory that a transport registers.
        machine: the number of the machine that the memory is of.
    """

    tag: str
    device_index: int = 0
    kind: str = MemoryKind.DEVICE.value
    pinned_for: str = ""
    used_by_network: bool = False
    machine: int = 0

    def __post_init__(self) -> None:
        if (self.pinned_for or self.used_by_network) and self.kind != MemoryKind.HOST.value:
            raise PlanError(f"device memory of {self.tag!r} cannot be pinned or used by a network")

    @staticmethod
    @lru_cache(maxsize=64)
    def host(machine: int = 0) -> MemoryCase:
        """Pageable host memory of a machine."""
        return MemoryCase(HOST_TAG, 0, MemoryKind.HOST.value, machine=machine)

    @staticmethod
    def pinned(tag: str, device_index: int, machine: int = 0) -> MemoryCase:
        """Host memory that is page-locked for a device of its machine."""
        host = MemoryKind.HOST.value
        return MemoryCase(HOST_TAG, device_index, host, pinned_for=tag, machine=machine)

    @property
    def is_host(self) -> bool:
        """True when the host can read and write this memory."""
        return self.kind == MemoryKind.HOST.value

    @property
    def zone(self) -> str:
        """Whose it is, as short as names of tensors have it: ``tag:index``, after its machine."""
        device = f"{self.tag}:{self.device_index}"
        return f"{self.machine}:{device}" if self.machine else device

    @property
    def place(self) -> str:
        """What has the memory, in words: the host, or a device."""
        return "the host's memory" if self.is_host else f"the memory of {self.zone}"

    def merge(self, other: MemoryCase) -> MemoryCase:
        """The memory that satisfies both wishes.

        Raises:
            PlanError: no memory does: two devices, kinds or machines, or pinned for two devices.
        """
        if self == other:
            return self
        if not self.fits(other):
            raise PlanError(f"one register cannot live both in {self} and in {other}")
        pinned_for, index = self._pinning() or other._pinning() or ("", self.device_index)
        network = self.used_by_network or other.used_by_network
        return replace(self, pinned_for=pinned_for, device_index=index, used_by_network=network)

    def fits(self, other: MemoryCase) -> bool:
        """True when one memory satisfies both wishes."""
        if self == other:
            return True
        if (self.tag, self.kind, self.machine) != (other.tag, other.kind, other.machine):
            return False
        mine, theirs = self._pinning(), other._pinning()
        return mine is None or theirs is None or mine == theirs

    def satisfies(self, wish: MemoryCase) -> bool:
        """True when a register that asks for ``wish`` may live here: it may lack what this has."""
        return self.fits(wish) and self.merge(wish) == self

    def _pinning(self) -> tuple[str, int] | None:
        """(device tag, index) that ties the case to one device; None when any will do."""
        if self.is_host and not self.pinned_for:
            return None
        return self.pinned_for, self.device_index

    def id(self, types: DeviceTypes) -> MemCaseId:
        """The packed identity under a plan's table of device types."""
        zone = MemZoneId(types.number(self.tag), self.device_index)
        pinned = types.number(self.pinned_for) if self.pinned_for else 0
        return MemCaseId(zone, pinned, self.used_by_network)

    def __str__(self) -> str:
        text = f"{self.kind} memory of {self.tag}:{self.device_index}"
        if self.pinned_for:
            text = f"host memory pinned for {self.pinned_for}:{self.device_index}"
        text += f" of machine {self.machine}" if self.machine else ""
        return text + (" (network)" if self.used_by_network else "")
