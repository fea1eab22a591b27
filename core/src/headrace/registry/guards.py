"""Records whose functions look at what they make before they hand it on.

They stand between a plugin and everybody who opens a device or compiles a job; a launch does not
pass through here. A class was looked at when the plugin loaded; only what its objects answer to
core, buffers and numbers of streams, is looked at later (``guarded.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn

from headrace.device import (
    PEER_COPIES,
    Allocator,
    AllocatorEntry,
    Collective,
    CollectiveEntry,
    Device,
    DeviceContext,
    DeviceContextEntry,
    DeviceEntry,
    Kernel,
    KernelEntry,
    MemoryKind,
    OpCall,
    StreamIndexEntry,
    StreamIndexGenerator,
    any_call,
)
from headrace.errors import PluginError
from headrace.registry import check_classes as rules
from headrace.registry.guarded import GuardedAllocator, GuardedStreams, NamedMatch
from headrace.registry.names import describe
from headrace.registry.record import RAISED, plugin_error


class Guards:
    """Makes guarded records of one plugin.

    Args:
        origin: the plugin, for messages: ``headrace-toy 1.2``.
        memory: where its kernels work.
        capabilities: what its device claims.
    """

    def __init__(self, origin: str, memory: MemoryKind, capabilities: frozenset[str]) -> None:
        self._origin = origin
        self._memory = memory
        self._peers = PEER_COPIES in capabilities
        self._matches: dict[int, NamedMatch] = {}  # by the identity of what each holds

    def device(self, entry: DeviceEntry) -> DeviceEntry:
        """``open`` returns a device of the index that was asked for."""
        if entry.open is Device:  # core's own
            return entry

        def opened(index: int) -> Device:
            held: list[Device] = []
            try:
                with self._named(f"open({index}) of its DeviceEntry"):
                    held.append(entry.open(index))
                device = held[0]
                self._check("open of its DeviceEntry", device, rules.fault_of_device(type(device)))
                found = getattr(device, "index", None)
                if found != index:
                    text = f"open({index}) of its DeviceEntry returned a device of index {found}"
                    self._refuse(text)
            except BaseException:
                _close(held)
                raise
            return device

        return replace(entry, open=opened)

    def allocator(self, entry: AllocatorEntry) -> AllocatorEntry:
        """``create`` and ``create_pinned`` return allocators whose buffers can be used."""

        def guarded(field: str, memory: MemoryKind, device: Device) -> Allocator:
            what = f"{field} of its AllocatorEntry"
            with self._named(what):
                made = getattr(entry, field)(device)
            pinned = field == "create_pinned"
            self._check(what, made, rules.fault_of_allocator(type(made), memory, pinned))
            return GuardedAllocator(made, device, memory, entry.alignment_bytes, self._refuse)

        create = partial(guarded, "create", self._memory)
        if entry.create_pinned is None:
            return replace(entry, create=create)
        pinned = partial(guarded, "create_pinned", MemoryKind.HOST)
        return replace(entry, create=create, create_pinned=pinned)

    def context(self, entry: DeviceContextEntry) -> DeviceContextEntry:
        """``create`` returns a context that does what it says, and whose events can be waited for.

        An event is recorded on the new, idle stream to look at it.
        """

        def create(device: Device, stream_index: int) -> DeviceContext:
            what = "create of its DeviceContextEntry"
            held: list[DeviceContext] = []
            try:
                with self._named(what):
                    held.append(entry.create(device, stream_index))
                made = held[0]
                said = getattr(made, "host_synchronous", None)
                fault = rules.fault_of_context(type(made), self._memory, said, self._peers)
                self._check(what, made, fault)
                if not said:
                    with self._named(f"record_event of {describe(type(made))}"):
                        event = made.record_event()
                    fault = rules.fault_of_event(event)
                    if fault:
                        self._refuse(f"record_event of {describe(type(made))} {fault}")
            except BaseException:
                _close(held)
                raise
            return made

        return replace(entry, create=create)

    def streams(self, entry: StreamIndexEntry) -> StreamIndexEntry:
        """``create`` returns a generator of stream indices that are numbers of streams."""
        if entry.create is StreamIndexGenerator:
            return entry

        def create(device_index: int) -> StreamIndexGenerator:
            what = "create of its StreamIndexEntry"
            with self._named(what):
                made = entry.create(device_index)
            self._check(what, made, rules.fault_of_streams(type(made)))
            return GuardedStreams(made, device_index, self._refuse)

        return replace(entry, create=create)

    def kernel(self, entry: KernelEntry) -> KernelEntry:
        """``create`` returns a kernel, and ``match`` prints as a name."""
        match = entry.match
        if match is not any_call:  # many kernels share one
            match = self._matches.setdefault(id(match), NamedMatch(match))
        make, is_class = entry.create, isinstance(entry.create, type)
        what = f"create of its kernel for {entry.op}"

        def create(call: OpCall) -> Kernel:
            try:  # as `_named`, which takes longer than most kernels: there are thousands of calls
                made = make(call)
            except RAISED as error:
                raise plugin_error(f"{self._origin}: {what}", error) from error
            if not is_class:  # a class was looked at when the plugin loaded
                self._check(what, made, rules.fault_of_kernel(type(made)))
            return made

        create.__wrapped__ = make  # type: ignore[attr-defined] # as `functools.wraps` has it
        # As `replace`, which takes three times as long: a plugin has hundreds of them.
        return KernelEntry(entry.tag, entry.op, create, match, entry.priority, entry.data_formats)

    def collective(self, entry: CollectiveEntry) -> CollectiveEntry:
        """``create`` returns a collective."""
        make = entry.create
        what = f"create of its collective {entry.name}"

        def create(call: OpCall) -> Collective:
            with self._named(what):
                made = make(call)
            if not isinstance(make, type):  # a class was looked at when the plugin loaded
                self._check(what, made, rules.fault_of_collective(type(made)))
            return made

        return replace(entry, create=create)

    @contextmanager
    def _named(self, what: str) -> Iterator[None]:
        """What the plugin raises in here says whose it is; errors of headrace are passed on."""
        try:
            yield
        except RAISED as error:
            raise plugin_error(f"{self._origin}: {what}", error) from error

    def _check(self, what: str, made: object, fault: str) -> None:
        if made is None:
            self._refuse(f"{what} returned None")
        if fault:
            self._refuse(f"{what} returned a {describe(type(made))}, which {fault}")

    def _refuse(self, text: str) -> NoReturn:
        raise PluginError(f"{self._origin}: {text}")


def _close(held: Sequence[Device | DeviceContext]) -> None:
    """Close what cannot be used, or what nobody got, as far as that can be done."""
    for one in held:
        with suppress(Exception):  # a class that is refused need not have it
            one.close()
