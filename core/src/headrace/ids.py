"""Identifiers: values that nest, check themselves once, print, and pack into unsigned integers.

Everything that changes a bit layout is here. Packed forms are unsigned and round-trip over their
whole domain; the widths are OneFlow's (19 + 5 + 7 + 12 + 21 = 64 bits).

Device types are open strings. A few have numbers of their own, for good, in ``RESERVED_TYPES``;
any other tag gets a free number when a plan is compiled, and the plan carries the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NewType

from headrace.errors import PlanError
from headrace.light_dataclass import dataclass, setters

__all__ = [
    "HOST_TAG", "HOST_TYPE", "RESERVED_TYPES", "ActorId", "DeviceId", "DeviceTypes",
    "GlobalMemCaseId", "KernelName", "MemCaseId", "MemZoneId", "RegisterId", "StreamId", "TaskId",
]  # fmt: skip

RESERVED_TYPES: Mapping[str, int] = MappingProxyType(
    {"cpu": 1, "cuda": 2, "fakedevice": 3, "cambricon": 4}
)
"""Device tags whose numbers never change. The only place in core that names devices."""

HOST_TYPE = RESERVED_TYPES["cpu"]
"""Device type of host memory and of the tasks that core itself runs on the host."""

HOST_TAG = next(tag for tag, number in RESERVED_TYPES.items() if number == HOST_TYPE)
"""The tag of ``HOST_TYPE``."""

INVALID_TYPE = 0
FIRST_FREE_TYPE = max(RESERVED_TYPES.values()) + 1

RANK_BITS = 19
DEVICE_TYPE_BITS = 5
DEVICE_INDEX_BITS = 7
STREAM_INDEX_BITS = 12
TASK_INDEX_BITS = 21

RegisterId = NewType("RegisterId", int)
"""Number of a register in its plan."""

ActorId = NewType("ActorId", int)
"""Number of an actor (a chain of tasks) in its plan."""

KernelName = tuple[str, str, tuple[tuple[str, "KernelName"], ...]]
"""What makes a kernel: module, qualified name, and the named arguments that are given in advance,
each by what makes it."""


def _check(name: str, value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{name} {value} is outside 0..{(1 << bits) - 1}")


def _take(packed: int, bits: int) -> tuple[int, int]:
    """Split off the lowest ``bits``: (what is left, the field)."""
    return packed >> bits, packed & ((1 << bits) - 1)


@dataclass(frozen=True, slots=True, order=True)
class DeviceId:
    """One device of one process: rank 19 bits, device type 5, device index 7."""

    rank: int
    device_type: int
    device_index: int

    def __post_init__(self) -> None:
        _check("rank", self.rank, RANK_BITS)
        _check("device type", self.device_type, DEVICE_TYPE_BITS)
        _check("device index", self.device_index, DEVICE_INDEX_BITS)

    def packed(self) -> int:
        """31 bits, rank highest."""
        high = self.rank << DEVICE_TYPE_BITS | self.device_type
        return high << DEVICE_INDEX_BITS | self.device_index

    @staticmethod
    def unpack(packed: int) -> DeviceId:
        """The inverse of ``packed``."""
        rest, index = _take(packed, DEVICE_INDEX_BITS)
        rank, device_type = _take(rest, DEVICE_TYPE_BITS)
        return DeviceId(rank, device_type, index)

    @property
    def zone(self) -> MemZoneId:
        """The memory zone of this device."""
        return MemZoneId(self.device_type, self.device_index)

    def __str__(self) -> str:
        return f"{self.rank}:t{self.device_type}:{self.device_index}"


@dataclass(frozen=True, slots=True, order=True)
class StreamId:
    """One in-order queue of work on a device: DeviceId 31 bits, stream index 12."""

    device_id: DeviceId
    stream_index: int

    def __post_init__(self) -> None:
        _check("stream index", self.stream_index, STREAM_INDEX_BITS)

    def packed(self) -> int:
        """43 bits, device highest."""
        return self.device_id.packed() << STREAM_INDEX_BITS | self.stream_index

    @staticmethod
    def unpack(packed: int) -> StreamId:
        """The inverse of ``packed``."""
        device, index = _take(packed, STREAM_INDEX_BITS)
        return StreamId(DeviceId.unpack(device), index)

    def __str__(self) -> str:
        return f"{self.device_id}/s{self.stream_index}"


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One task on a stream: StreamId 43 bits, task index 21."""

    stream_id: StreamId
    task_index: int

    def __init__(self, stream_id: StreamId, task_index: int) -> None:
        _check("task index", task_index, TASK_INDEX_BITS)
        _put_stream_id(self, stream_id)
        _put_task_index(self, task_index)

    def packed(self) -> int:
        """64 bits, unsigned, stream highest."""
        return self.stream_id.packed() << TASK_INDEX_BITS | self.task_index

    @staticmethod
    def unpack(packed: int) -> TaskId:
        """The inverse of ``packed``."""
        stream, index = _take(packed, TASK_INDEX_BITS)
        return TaskId(StreamId.unpack(stream), index)

    def __str__(self) -> str:
        return f"{self.stream_id}/{self.task_index}"


_put_stream_id, _put_task_index = setters(TaskId)


@dataclass(frozen=True, slots=True, order=True)
class MemZoneId:
    """Where memory lies: device type 5 bits, device index 7. The host is (HOST_TYPE, 0)."""

    device_type: int
    device_index: int

    def __post_init__(self) -> None:
        _check("device type", self.device_type, DEVICE_TYPE_BITS)
        _check("device index", self.device_index, DEVICE_INDEX_BITS)

    @staticmethod
    def host() -> MemZoneId:
        """The zone of host memory."""
        return MemZoneId(HOST_TYPE, 0)

    def packed(self) -> int:
        """12 bits, device type highest."""
        return self.device_type << DEVICE_INDEX_BITS | self.device_index

    @staticmethod
    def unpack(packed: int) -> MemZoneId:
        """The inverse of ``packed``."""
        return MemZoneId(*_take(packed, DEVICE_INDEX_BITS))


@dataclass(frozen=True, slots=True, order=True)
class MemCaseId:
    """A kind of memory in a zone: zone 12 bits, page-locked-for device type 5, network 1.

    Host memory pinned for a device stores that device's index in the zone, so that memory pinned
    for two devices is two cases; ``page_locked_device_type`` 0 means pageable.
    """

    zone: MemZoneId
    page_locked_device_type: int = INVALID_TYPE
    registered_by_network: bool = False

    def __post_init__(self) -> None:
        _check("page-locked device type", self.page_locked_device_type, DEVICE_TYPE_BITS)
        special = self.page_locked_device_type != INVALID_TYPE or self.registered_by_network
        if special and self.zone.device_type != HOST_TYPE:
            raise ValueError("only host memory can be page-locked or registered by the network")

    def packed(self) -> int:
        """18 bits, zone highest."""
        high = self.zone.packed() << DEVICE_TYPE_BITS | self.page_locked_device_type
        return high << 1 | self.registered_by_network

    @staticmethod
    def unpack(packed: int) -> MemCaseId:
        """The inverse of ``packed``."""
        rest, network = _take(packed, 1)
        zone, page_locked = _take(rest, DEVICE_TYPE_BITS)
        return MemCaseId(MemZoneId.unpack(zone), page_locked, bool(network))


@dataclass(frozen=True, slots=True, order=True)
class GlobalMemCaseId:
    """A memory case of one process: rank 19 bits, MemCaseId 18."""

    rank: int
    mem_case: MemCaseId

    def __post_init__(self) -> None:
        _check("rank", self.rank, RANK_BITS)

    def packed(self) -> int:
        """37 bits, rank highest."""
        return self.rank << 18 | self.mem_case.packed()

    @staticmethod
    def unpack(packed: int) -> GlobalMemCaseId:
        """The inverse of ``packed``."""
        rank, mem_case = _take(packed, 18)
        return GlobalMemCaseId(rank, MemCaseId.unpack(mem_case))


class DeviceTypes:
    """The tag-to-number table of one plan: reserved numbers, then free ones in sorted order.

    Example:
        >>> table = DeviceTypes.assign(["zeta", "cpu", "alpha"])
        >>> table.number("alpha"), table.number("zeta"), table.tag(1)
        (5, 6, 'cpu')
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        """Take a table as a plan stores it.

        Raises:
            PlanError: a number is used twice, out of range, or a reserved tag has another one.
        """
        tags: dict[int, str] = {}
        for tag, number in sorted(numbers.items()):
            if not 1 <= number < 1 << DEVICE_TYPE_BITS:
                raise PlanError(f"device type {tag!r} has number {number}, outside 1..31")
            if RESERVED_TYPES.get(tag, number) != number:
                raise PlanError(
                    f"device type {tag!r} has number {number}, but {RESERVED_TYPES[tag]} is "
                    "reserved for it"
                )
            if number in tags:
                raise PlanError(f"device types {tags[number]!r} and {tag!r} share number {number}")
            tags[number] = tag
        self._numbers = dict(sorted(numbers.items()))
        self._tags = tags

    @staticmethod
    def assign(tags: Iterable[str]) -> DeviceTypes:
        """Give every tag a number: its reserved one, or the next free one in sorted order.

        Raises:
            PlanError: more tags than the 5-bit field has numbers for.
        """
        wanted = sorted({*tags, HOST_TAG})
        free = iter(range(FIRST_FREE_TYPE, 1 << DEVICE_TYPE_BITS))
        numbers: dict[str, int] = {}
        for tag in wanted:
            number = RESERVED_TYPES.get(tag) or next(free, None)
            if number is None:
                raise PlanError(f"a plan holds at most 31 device types; {len(wanted)} were asked")
            numbers[tag] = number
        return DeviceTypes(numbers)

    def number(self, tag: str) -> int:
        """The number of ``tag``; KeyError when the plan does not use it."""
        return self._numbers[tag]

    def tag(self, number: int) -> str:
        """The tag of ``number``; KeyError when the plan does not use it."""
        return self._tags[number]

    def items(self) -> Iterable[tuple[str, int]]:
        """(tag, number) pairs, sorted by tag."""
        return self._numbers.items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceTypes) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(tuple(self._numbers.items()))

    def __repr__(self) -> str:
        return f"DeviceTypes({self._numbers})"
