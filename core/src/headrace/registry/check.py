"""Checks what a plugin's hooks say about devices and makes a ``Driver`` of it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NoReturn

from headrace.device import (
    API_VERSION,
    CAPABILITIES,
    MAX_ALIGNMENT_BYTES,
    PEER_COPIES,
    AllocatorEntry,
    DeviceContextEntry,
    DeviceEntry,
    MemoryKind,
    StreamIndexEntry,
)
from headrace.registry import check_classes as rules
from headrace.registry.driver import Driver
from headrace.registry.guards import Guards
from headrace.registry.hooks import PluginHooks
from headrace.registry.named_kernels import NamedKernels
from headrace.registry.names import describe
from headrace.registry.record import BackendRecord, Phase, Refusal, State


def build_driver(record: BackendRecord, hooks: PluginHooks) -> Driver:
    """Ask the hooks about devices, check the answers against the contract, fill in defaults.

    Raises:
        Refusal: a record has the wrong type, tag or fields, there are too few or too many, or the
            plugin was written for another contract.
        BaseException: what a hook raises, also half-way through its answer.
    """
    device = hooks.device()
    _check_api_version(device)  # first: an older or newer contract explains all that follows
    check_callable("headrace_devices", device, "count", "open")
    _check_capabilities(device)
    allocator = hooks.allocator()
    check_callable("headrace_allocators", allocator, "create")
    _check_allocator(allocator)
    context = hooks.context()
    if context is None and allocator.memory_kind is MemoryKind.DEVICE:
        _refuse(
            "it does not implement headrace_device_contexts, and the default context cannot copy "
            "to and from memory of MemoryKind.DEVICE"
        )
    context = context or DeviceContextEntry(record.tag)
    check_callable("headrace_device_contexts", context, "create")
    streams = hooks.streams() or StreamIndexEntry(record.tag)
    check_callable("headrace_stream_index_generators", streams, "create")
    _check_classes(device, allocator, context, streams)
    guards = Guards(record.origin, allocator.memory_kind, device.capabilities)
    return Driver(
        distribution=record.distribution,
        version=record.version,
        origin=record.origin,
        device=guards.device(device),
        allocator=guards.allocator(allocator),
        context=guards.context(context),
        streams=guards.streams(streams),
        named=NamedKernels(record.tag, record.module, guards.kernel),
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


def check_callable(hook: str, record: object, *names: str) -> None:
    """Refuse a record of ``hook`` with a field that should be a function and is none."""
    for name in names:
        if not callable(getattr(record, name)):
            _refuse(f"its {hook} returned {record!r}, whose {name} cannot be called")


def _check_classes(
    device: DeviceEntry,
    allocator: AllocatorEntry,
    context: DeviceContextEntry,
    streams: StreamIndexEntry,
) -> None:
    """Look at the classes that records name; what functions make is looked at later."""
    memory, peers = allocator.memory_kind, PEER_COPIES in device.capabilities
    named: list[tuple[str, object, Callable[[type], str]]] = [
        ("Device", device.open, rules.fault_of_device),
        ("Allocator", allocator.create, lambda kind: rules.fault_of_allocator(kind, memory)),
        (
            "Allocator of pinned memory",
            allocator.create_pinned,
            lambda kind: rules.fault_of_allocator(kind, MemoryKind.HOST, pinned=True),
        ),
        ("StreamIndexGenerator", streams.create, rules.fault_of_streams),
        (
            "DeviceContext",
            context.create,
            lambda kind: rules.fault_of_context(
                kind, memory, getattr(kind, "host_synchronous", None), peers
            ),
        ),
    ]
    for what, create, rule in named:
        check_class(what, create, rule)


def check_class(what: str, create: object, rule: Callable[[type], str]) -> None:
    """Refuse a class that a record names for ``what`` and that ``rule`` finds fault with."""
    fault = rule(create) if isinstance(create, type) else ""
    if fault and isinstance(create, type):
        _refuse(f"its {what} ({describe(create)}) {fault}")


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


def _check_capabilities(device: DeviceEntry) -> None:
    names: object = device.capabilities
    if not isinstance(names, Set):  # a text would be taken for the set of its letters
        _refuse(f"capabilities of its DeviceEntry is {names!r}; it must be a set of names")
    for name in names:
        if name not in CAPABILITIES:
            known = ", ".join(sorted(CAPABILITIES))
            _refuse(f"its DeviceEntry claims capability {name!r}; capabilities are {known}")


def _check_allocator(allocator: AllocatorEntry) -> None:
    kind: object = allocator.memory_kind
    if not isinstance(kind, MemoryKind):
        _refuse(f"memory_kind of its AllocatorEntry is {kind!r}; it must be a MemoryKind")
    alignment: object = allocator.alignment_bytes
    if (
        not isinstance(alignment, int)
        or not 1 <= alignment <= MAX_ALIGNMENT_BYTES
        or alignment & (alignment - 1)
    ):
        _refuse(
            f"alignment_bytes of its AllocatorEntry is {alignment!r}; it must be a power of two, "
            f"of at most {MAX_ALIGNMENT_BYTES}"
        )
    if allocator.create_pinned is not None:
        check_callable("headrace_allocators", allocator, "create_pinned")
        if kind is MemoryKind.HOST:
            _refuse(
                "its AllocatorEntry has create_pinned and memory_kind HOST: nothing is copied "
                "there, so nobody would ask for it; leave create_pinned out"
            )


def _refuse(cause: str) -> NoReturn:
    raise Refusal(State.INVALID, Phase.HOOKS, cause)
