"""Checks what a plugin's hooks returned and makes a ``Backend`` of it, whole or not at all."""

from __future__ import annotations

import difflib
import itertools
from typing import NoReturn, TypeVar

from headrace.device import (
    API_VERSION,
    AllocatorEntry,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    MemoryKind,
    StreamIndexEntry,
)
from headrace.ops import OPS
from headrace.registry.gather import Answers
from headrace.registry.record import BackendRecord, Phase, Refusal, State
from headrace.registry.tables import Backend, KernelTable

_Record = TypeVar(
    "_Record", DeviceEntry, AllocatorEntry, KernelEntry, DeviceContextEntry, StreamIndexEntry
)


def build_backend(record: BackendRecord, answers: Answers) -> Backend:
    """Check every answer against the contract and fill in defaults.

    Raises:
        Refusal: a record has the wrong type, tag or fields, there are too few or too many, two
            kernels are the same, or the plugin was written for another contract.
    """
    tag = record.tag
    device = _one("headrace_devices", answers, DeviceEntry, tag)
    _check_api_version(device)  # first: an older or newer contract explains all that follows
    _check_callable("headrace_devices", device, "count", "open")
    allocator = _one("headrace_allocators", answers, AllocatorEntry, tag)
    _check_callable("headrace_allocators", allocator, "create")
    _check_allocator(allocator)
    kernels = _records("headrace_kernels", answers, KernelEntry, tag)
    for kernel in kernels:
        _check_kernel(kernel)
    _check_distinct(kernels)
    context = _at_most_one("headrace_device_contexts", answers, DeviceContextEntry, tag)
    streams = _at_most_one("headrace_stream_index_generators", answers, StreamIndexEntry, tag)
    return Backend(
        distribution=record.distribution,
        version=record.version,
        device=device,
        allocator=allocator,
        context=context or DeviceContextEntry(tag),
        streams=streams or StreamIndexEntry(tag),
        kernels=KernelTable(kernels),
    )


def check_count(count: object) -> int:
    """Return how many devices a plugin says there are.

    Raises:
        Refusal: it is no number, or there is none.
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        cause = f"count of its DeviceEntry returned {count!r}; it must be a number of devices"
        raise Refusal(State.INVALID, Phase.COUNT, cause)
    if count == 0:
        raise Refusal(State.NO_HARDWARE, Phase.COUNT, "it finds no device on this machine")
    return count


def _records(hook: str, answers: Answers, kind: type[_Record], tag: str) -> list[_Record]:
    found: list[_Record] = []
    for item in answers.get(hook, ()):
        if not isinstance(item, kind):
            _refuse(f"its {hook} returned {item!r}; it must return {kind.__name__} records")
        if item.tag != tag:
            _refuse(
                f"its {hook} returned a {kind.__name__} for device {item.tag!r}; "
                f"the entry point is named {tag!r}, and a backend answers for its own device only"
            )
        found.append(item)
    return found


def _at_most_one(hook: str, answers: Answers, kind: type[_Record], tag: str) -> _Record | None:
    found = _records(hook, answers, kind, tag)
    if len(found) > 1:
        _refuse(f"its {hook} returned {len(found)} records; at most one is allowed")
    if not found:
        return None
    _check_callable(hook, found[0], *(["create"] if hasattr(found[0], "create") else []))
    return found[0]


def _one(hook: str, answers: Answers, kind: type[_Record], tag: str) -> _Record:
    found = _records(hook, answers, kind, tag)
    if len(found) != 1:
        _refuse(f"its {hook} returned {len(found)} records; it must return exactly one")
    return found[0]


def _check_callable(hook: str, record: object, *names: str) -> None:
    for name in names:
        if not callable(getattr(record, name)):
            _refuse(f"its {hook} returned {record!r}, whose {name} cannot be called")


def _check_api_version(device: DeviceEntry) -> None:
    """Same major. An older minor is served through defaults; a newer one may need what we lack."""
    version: object = device.api_version
    match version:
        case (int(major), int(minor)):
            pass
        case _:
            _refuse(f"its api_version is {version!r}; it must be (major, minor)")
    if (major, minor) > API_VERSION or major != API_VERSION[0]:
        theirs, ours = f"{major}.{minor}", ".".join(map(str, API_VERSION))
        cause = (
            f"it is written for version {theirs} of the plugin contract; this headrace has {ours}"
        )
        raise Refusal(State.INCOMPATIBLE, Phase.HOOKS, cause)


def _check_allocator(allocator: AllocatorEntry) -> None:
    kind: object = allocator.memory_kind
    if not isinstance(kind, MemoryKind):
        _refuse(f"memory_kind of its AllocatorEntry is {kind!r}; it must be a MemoryKind")
    alignment: object = allocator.alignment_bytes
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        _refuse(
            f"alignment_bytes of its AllocatorEntry is {alignment!r}; it must be a power of two"
        )


def _check_kernel(kernel: KernelEntry) -> None:
    if kernel.op not in OPS:
        close = difflib.get_close_matches(str(kernel.op), OPS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        _refuse(f"its headrace_kernels offers op {kernel.op!r}, which headrace does not have{hint}")
    _check_callable("headrace_kernels", kernel, "create", "match")
    priority: object = kernel.priority
    if not isinstance(priority, int):
        _refuse(f"its kernel for {kernel.op!r} has priority {priority!r}; it must be an int")


def _check_distinct(kernels: list[KernelEntry]) -> None:
    """Two kernels of one op, match and priority: none of them could ever be chosen."""
    groups: dict[tuple[str, int], list[KernelEntry]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.op, kernel.priority), []).append(kernel)
    for (op, priority), group in groups.items():
        for one, other in itertools.combinations(group, 2):
            if one.match == other.match:
                _refuse(
                    f"its headrace_kernels offers {op!r} twice for {one.match} with priority "
                    f"{priority}: {one.create!r} and {other.create!r}; give one a higher priority"
                )


def _refuse(cause: str) -> NoReturn:
    raise Refusal(State.INVALID, Phase.HOOKS, cause)
