"""``Backend``: what one loaded plugin gave, as tables that are looked up; a part is its ``Driver``.

A job that is compiled asks for what a plugin lists: kernels, ops, passes, collectives. One whose
plan was kept asks for no list, and the hooks that would make them are not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import numpy as np

from headrace.data_format import format_of
from headrace.device import (
    CollectiveEntry,
    ConformanceProfile,
    KernelEntry,
    OpCall,
    any_call,
)
from headrace.errors import PluginError
from headrace.graph import OpEntry, PassEntry
from headrace.registry.driver import Driver
from headrace.registry.names import name_of_function
from headrace.registry.record import RAISED, deed
from headrace.signals import let_handlers_through

_Entry = TypeVar("_Entry", KernelEntry, CollectiveEntry)


class _Table(Generic[_Entry]):
    """Entries by what they compute; immutable."""

    def __init__(self, entries: Iterable[tuple[str, _Entry]], kind: str) -> None:
        by_name: dict[str, list[_Entry]] = {}
        for name, entry in entries:
            by_name.setdefault(name, []).append(entry)
        self._kind = kind
        self._by_name: Mapping[str, tuple[_Entry, ...]] = {
            name: tuple(sorted(found, key=lambda entry: -entry.priority))
            for name, found in sorted(by_name.items())
        }

    def names(self) -> tuple[str, ...]:
        """What has an entry, sorted."""
        return tuple(self._by_name)

    def entries(self, name: str) -> tuple[_Entry, ...]:
        """The entries of ``name``, highest priority first; empty when there is none."""
        return self._by_name.get(name, ())

    def _candidates(self, call: OpCall) -> Iterable[_Entry]:
        """The entries that may be asked whether they match."""
        return self.entries(call.op)

    def select(self, call: OpCall) -> _Entry | None:
        """The matching entry of highest priority; None when none matches. Deterministic.

        Raises:
            PluginError: two that match have the same priority; or a match raised, or answered
                neither yes nor no.
        """
        best: _Entry | None = None
        for entry in self._candidates(call):
            if best is not None and entry.priority < best.priority:
                break  # what is not chosen is not asked
            if _matches(entry, call):
                if best is not None:
                    self._refuse(call, best, entry)
                best = entry
        return best

    def _refuse(self, call: OpCall, *best: _Entry) -> NoReturn:
        names = " and ".join(
            f"{name_of_function(entry.create)} for {entry.match}" for entry in best
        )
        raise PluginError(
            f"{call}: device {best[0].tag!r} offers two {self._kind}s of priority "
            f"{best[0].priority} for it: {names}; give one a higher priority"
        )


def _matches(entry: KernelEntry | CollectiveEntry, call: OpCall) -> bool:
    """Ask ``entry``; its answer may come from numpy, whose booleans are no ``bool``."""
    if entry.match is any_call:
        return True
    try:
        answer: object = entry.match(call)
    except RAISED as error:
        let_handlers_through(error)
        who = f"match {entry.match} of a kernel that device {entry.tag!r} offers for {call.op!r}"
        raise PluginError(f"{call}: {who} {deed(error)}") from error
    if answer is True or answer is False:
        return answer
    if not isinstance(answer, bool | np.bool_):
        raise PluginError(
            f"{call}: match {entry.match} of a kernel that device {entry.tag!r} offers for "
            f"{call.op!r} returned {answer!r}; it must return True or False"
        )
    return bool(answer)


class KernelTable(_Table[KernelEntry]):
    """The kernels of one device by op; immutable."""

    def __init__(self, entries: Iterable[KernelEntry]) -> None:
        super().__init__(((entry.op, entry) for entry in entries), "kernel")
        self._shown: dict[tuple[str, str | None], tuple[KernelEntry, ...]] = {}

    def ops(self) -> tuple[str, ...]:
        """Names of the ops that have a kernel, sorted."""
        return self.names()

    def takes(self, op: str, data_format: str) -> bool:
        """True when a kernel of ``op`` takes calls of this format."""
        return any(data_format in entry.data_formats for entry in self.entries(op))

    def takes_all(self, op: str) -> bool:
        """True when a kernel of ``op``, which has no format, takes every call."""
        return any(entry.match is any_call for entry in self.entries(op))

    def _candidates(self, call: OpCall) -> Iterable[KernelEntry]:
        data_format = format_of(call)
        return self._shown.get((call.op, data_format)) or self._of_format(call.op, data_format)

    def _of_format(self, op: str, data_format: str | None) -> tuple[KernelEntry, ...]:
        """The entries that are shown calls of a format."""
        shown = self.entries(op)
        if data_format is not None:
            shown = tuple([entry for entry in shown if data_format in entry.data_formats])
        self._shown[op, data_format] = shown
        return shown


class CollectiveTable(_Table[CollectiveEntry]):
    """The collectives of one tag by name; immutable."""

    def __init__(self, entries: Iterable[CollectiveEntry]) -> None:
        super().__init__(((entry.name, entry) for entry in entries), "collective")


@dataclass(frozen=True, slots=True)
class Backend(Driver):
    """One plugin loaded whole: a driver, and all that compilers choose from.

    Attributes:
        profile: what the conformance suite is told.
        kernels: its kernel table.
        ops: its own ops, by their whole names.
        passes: its passes, in order.
        collectives: what its devices exchange among themselves.
    """

    profile: ConformanceProfile
    kernels: KernelTable
    ops: Mapping[str, OpEntry]
    passes: tuple[PassEntry, ...]
    collectives: CollectiveTable
