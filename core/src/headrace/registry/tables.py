"""``Backend``: what one loaded plugin gave, as tables that compilation and execution look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from headrace.data_format import format_of
from headrace.device import (
    AllocatorEntry,
    ConformanceProfile,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    MemoryKind,
    OpCall,
    StreamIndexEntry,
)
from headrace.errors import PluginError
from headrace.graph import OpEntry, PassEntry
from headrace.registry.names import name_of_function


class KernelTable:
    """The kernels of one device by op; immutable."""

    def __init__(self, entries: Iterable[KernelEntry]) -> None:
        by_op: dict[str, list[KernelEntry]] = {}
        for entry in entries:
            by_op.setdefault(entry.op, []).append(entry)
        self._by_op: Mapping[str, tuple[KernelEntry, ...]] = {
            op: tuple(sorted(found, key=lambda entry: -entry.priority))
            for op, found in sorted(by_op.items())
        }

    def ops(self) -> tuple[str, ...]:
        """Names of the ops that have a kernel, sorted."""
        return tuple(self._by_op)

    def entries(self, op: str) -> tuple[KernelEntry, ...]:
        """The kernels of ``op``, highest priority first; empty when there is none."""
        return self._by_op.get(op, ())

    def select(self, call: OpCall) -> KernelEntry | None:
        """The matching kernel of highest priority; None when none matches. Deterministic.

        Raises:
            PluginError: two that match have the same priority; or a match raised, or answered
                neither yes nor no.
        """
        data_format = format_of(call)
        matching = [
            entry
            for entry in self.entries(call.op)
            if (data_format is None or data_format in entry.data_formats) and _matches(entry, call)
        ]
        if not matching:
            return None
        best = [entry for entry in matching if entry.priority == matching[0].priority]
        if len(best) > 1:
            names = " and ".join(
                f"{name_of_function(entry.create)} for {entry.match}" for entry in best
            )
            raise PluginError(
                f"{call}: device {best[0].tag!r} offers two kernels of priority "
                f"{best[0].priority} for it: {names}; give one a higher priority"
            )
        return best[0]


def _matches(entry: KernelEntry, call: OpCall) -> bool:
    """Ask ``entry``; its answer may come from numpy, whose booleans are no ``bool``."""
    try:
        answer: object = entry.match(call)
    except Exception as error:
        raise PluginError(
            f"{call}: match {entry.match} of a kernel that device {entry.tag!r} offers for "
            f"{entry.op!r} raised {error!r}"
        ) from error
    if not isinstance(answer, bool | np.bool_):
        raise PluginError(
            f"{call}: match {entry.match} of a kernel that device {entry.tag!r} offers for "
            f"{entry.op!r} returned {answer!r}; it must return True or False"
        )
    return bool(answer)


@dataclass(frozen=True, slots=True)
class Backend:
    """One loaded plugin, checked and complete; hooks that it left out are filled with defaults.

    Attributes:
        distribution, version: of the installed package.
        origin: both, or the module where there is no package, for messages.
        device, allocator, context, streams, profile: its records.
        kernels: its kernel table.
        ops: its own ops, by their whole names.
        passes: its passes, in order.
    """

    distribution: str
    version: str
    origin: str
    device: DeviceEntry
    allocator: AllocatorEntry
    context: DeviceContextEntry
    streams: StreamIndexEntry
    profile: ConformanceProfile
    kernels: KernelTable
    ops: Mapping[str, OpEntry]
    passes: tuple[PassEntry, ...]

    @property
    def tag(self) -> str:
        """The device tag."""
        return self.device.tag

    @property
    def works_in_host_memory(self) -> bool:
        """True when nothing has to be copied between the host and this device."""
        return self.allocator.memory_kind is MemoryKind.HOST
