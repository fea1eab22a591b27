"""Checks what a plugin's hooks returned and makes a ``Backend`` of it, whole or not at all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NoReturn

from headrace.data_format import DATA_FORMATS
from headrace.device import (
    API_VERSION,
    CAPABILITIES,
    MAX_ALIGNMENT_BYTES,
    PEER_COPIES,
    AllocatorEntry,
    ConformanceProfile,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    MemoryKind,
    StreamIndexEntry,
)
from headrace.graph.op_source import tag_of
from headrace.ops import OPS
from headrace.registry import check_classes as rules
from headrace.registry.check_collectives import check_collectives
from headrace.registry.check_graph_hooks import check_ops, check_passes
from headrace.registry.guards import Guards
from headrace.registry.hooks import PluginHooks
from headrace.registry.names import describe, name_of_function, name_of_match
from headrace.registry.record import BackendRecord, Phase, Refusal, State
from headrace.registry.tables import Backend, CollectiveTable, KernelTable


def build_backend(record: BackendRecord, hooks: PluginHooks) -> Backend:
    """Ask every hook, check the answers against the contract, and fill in defaults.

    Raises:
        Refusal: a record has the wrong type, tag or fields, there are too few or too many, two
            kernels are the same, or the plugin was written for another contract.
        BaseException: what a hook raises, also half-way through its answer.
    """
    device = hooks.device()
    _check_api_version(device)  # first: an older or newer contract explains all that follows
    _check_callable("headrace_devices", device, "count", "open")
    _check_capabilities(device)
    allocator = hooks.allocator()
    _check_callable("headrace_allocators", allocator, "create")
    _check_allocator(allocator)
    kernels = hooks.kernels()
    ops = hooks.ops()
    check_ops(ops)
    passes = hooks.passes()
    check_passes(passes)
    own = frozenset(entry.name for entry in ops)
    for kernel in kernels:
        _check_kernel(kernel, own)
    _check_distinct(kernels)
    collectives = hooks.collectives()
    check_collectives(collectives)
    context = hooks.context()
    if context is None and allocator.memory_kind is MemoryKind.DEVICE:
        _refuse(
            "it does not implement headrace_device_contexts, and the default context cannot copy "
            "to and from memory of MemoryKind.DEVICE"
        )
    context = context or DeviceContextEntry(record.tag)
    _check_callable("headrace_device_contexts", context, "create")
    streams = hooks.streams() or StreamIndexEntry(record.tag)
    _check_callable("headrace_stream_index_generators", streams, "create")
    profile = hooks.profile() or ConformanceProfile(record.tag)
    _check_profile(profile)
    _check_classes(device, allocator, kernels, context, streams)
    guards = Guards(record.origin, allocator.memory_kind, device.capabilities)
    return Backend(
        distribution=record.distribution,
        version=record.version,
        origin=record.origin,
        device=guards.device(device),
        allocator=guards.allocator(allocator),
        context=guards.context(context),
        streams=guards.streams(streams),
        profile=profile,
        kernels=KernelTable(map(guards.kernel, kernels)),
        ops=MappingProxyType({entry.name: entry for entry in ops}),
        passes=passes,
        collectives=CollectiveTable(map(guards.collective, collectives)),
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


def _check_callable(hook: str, record: object, *names: str) -> None:
    for name in names:
        if not callable(getattr(record, name)):
            _refuse(f"its {hook} returned {record!r}, whose {name} cannot be called")


def _check_classes(
    device: DeviceEntry,
    allocator: AllocatorEntry,
    kernels: Sequence[KernelEntry],
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
    named += [(f"kernel for {k.op}", k.create, rules.fault_of_kernel) for k in kernels]
    for what, create, rule in named:
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


def _check_profile(profile: ConformanceProfile) -> None:
    for name in ("unsupported", "expected_failures"):
        patterns: object = getattr(profile, name)
        if not isinstance(patterns, Mapping) or not all(
            isinstance(text, str) and text for pair in patterns.items() for text in pair
        ):
            _refuse(
                f"{name} of its ConformanceProfile is {patterns!r}; it must map patterns to reasons"
            )


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
        _check_callable("headrace_allocators", allocator, "create_pinned")
        if kind is MemoryKind.HOST:
            _refuse(
                "its AllocatorEntry has create_pinned and memory_kind HOST: nothing is copied "
                "there, so nobody would ask for it; leave create_pinned out"
            )


def _check_kernel(kernel: KernelEntry, own: Set[str]) -> None:
    """An op of another plugin is let pass: that plugin need not be installed."""
    name: object = kernel.op
    foreign = isinstance(name, str) and tag_of(name) not in ("", kernel.tag)
    if kernel.op not in OPS and kernel.op not in own and not foreign:
        from difflib import get_close_matches

        close = get_close_matches(str(kernel.op), [*OPS, *sorted(own)], 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        if isinstance(name, str) and tag_of(name) == kernel.tag:
            _refuse(f"its headrace_kernels offers op {name!r}, which headrace_ops lacks{hint}")
        _refuse(f"its headrace_kernels offers op {kernel.op!r}, which headrace does not have{hint}")
    _check_callable("headrace_kernels", kernel, "create", "match")
    priority: object = kernel.priority
    if not isinstance(priority, int):
        _refuse(f"its kernel for {kernel.op!r} has priority {priority!r}; it must be an int")
    formats: object = kernel.data_formats
    if not isinstance(formats, tuple) or not formats or not set(formats) <= set(DATA_FORMATS):
        known = " and ".join(map(repr, DATA_FORMATS))
        _refuse(
            f"its kernel for {kernel.op!r} has data_formats {formats!r}; it must be a tuple of one "
            f"or both of {known}"
        )


def _check_distinct(kernels: Sequence[KernelEntry]) -> None:
    """Two kernels of one op, format, match and priority: none of them could ever be chosen."""
    groups: dict[tuple[str, int], list[KernelEntry]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.op, kernel.priority), []).append(kernel)
    for (op, priority), group in groups.items():
        for one, other in itertools.combinations(group, 2):
            if one.match == other.match and set(one.data_formats) & set(other.data_formats):
                _refuse(
                    f"its headrace_kernels offers {op!r} twice for {name_of_match(one.match)} "
                    f"with priority {priority}: {name_of_function(one.create)} and "
                    f"{name_of_function(other.create)}; give one a higher priority"
                )


def _refuse(cause: str) -> NoReturn:
    raise Refusal(State.INVALID, Phase.HOOKS, cause)
