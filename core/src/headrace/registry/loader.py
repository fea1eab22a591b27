"""Loads each backend at most once, on demand, so that no plugin can harm another or its caller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from headrace.registry.check import build_backend, check_count
from headrace.registry.discover import InstalledBackend
from headrace.registry.hooks import PluginHooks, import_plugin
from headrace.registry.interrupt import watched_interrupts
from headrace.registry.record import BackendRecord, Phase, Refusal, State, describe
from headrace.registry.screen import refused
from headrace.registry.tables import Backend


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading gave.

    Attributes:
        record: final.
        backend: the tables; None unless the record's state is ``READY``.
        count: number of devices.
        error: what the plugin raised, for the chain of the exception that a caller gets.
    """

    record: BackendRecord
    backend: Backend | None = None
    count: int = 0
    error: BaseException | None = None


class BeingLoadedError(Exception):
    """A plugin, while it is being loaded, asked for the backend that it brings."""


Screened = tuple[tuple[InstalledBackend, BackendRecord], ...]

Watch = Callable[[InstalledBackend], AbstractContextManager[Callable[[Phase], None]]]


class Loader:
    """The backends of one registry and how far each got.

    One lock for all: a plugin that asks for another backend while it loads cannot meet a thread
    that does the opposite. The lock is held while plugin code runs, so a thread that asks for a
    backend which another thread is loading waits for it and gets the same answer.
    """

    def __init__(self, find: Callable[[], Screened], watch: Watch) -> None:
        """Take ``find``, which is called once, when something is first asked.

        Args:
            find: the installed backends and their records.
            watch: stands around the loading of one, and is told each phase.
        """
        self._find = find
        self._watch = watch
        self._lock = threading.RLock()
        self._entries: Screened | None = None
        self._loaded: dict[str, Loaded] = {}
        self._loading: set[str] = set()

    def records(self) -> tuple[BackendRecord, ...]:
        """One record for each installed backend as things stand; loads nothing."""
        with self._lock:
            return tuple(
                self._loaded[record.tag].record
                if record.state is State.FOUND and record.tag in self._loaded
                else record
                for _, record in self._screened()
            )

    def load(self, tag: str) -> Loaded | None:
        """Load the backend of ``tag``, or say again what came of it; None when there is none.

        Raises:
            BeingLoadedError: this thread is loading it already.
            KeyboardInterrupt: the user stopped the import; the next call tries again.
        """
        with self._lock:
            if tag in self._loaded:
                return self._loaded[tag]
            if tag in self._loading:
                raise BeingLoadedError(tag)
            found = [pair for pair in self._screened() if pair[1].tag == tag]
            usable = [pair for pair in found if pair[1].state is State.FOUND]
            if not usable:
                return Loaded(_most_telling(record for _, record in found)) if found else None
            self._loading.add(tag)
            try:
                installed, record = usable[0]
                with self._watch(installed) as say:
                    loaded = _load(installed, record, say)
            finally:
                self._loading.discard(tag)
            self._loaded[tag] = loaded
            return loaded

    def _screened(self) -> Screened:
        if self._entries is None:
            self._entries = self._find()
        return self._entries


def _load(
    installed: InstalledBackend, record: BackendRecord, say: Callable[[Phase], None]
) -> Loaded:
    """Import, ask, check. Whatever the plugin does, the answer is a record."""
    phase = Phase.IMPORT
    with watched_interrupts() as interrupts:
        try:
            say(phase)
            plugin = import_plugin(installed)
            phase = Phase.HOOKS
            say(phase)
            backend = build_backend(record, PluginHooks(plugin, record.tag))
            phase = Phase.COUNT
            say(phase)
            count = check_count(backend.device.count())
        except Refusal as refusal:
            return Loaded(refused(record, _with_hint(refusal, record)))
        except BaseException as error:
            if interrupts.pressed:
                raise
            # A plugin that calls sys.exit, or raises KeyboardInterrupt itself, ends nothing.
            failure = Refusal(_STATES[phase], phase, describe(error))
            return Loaded(refused(record, _with_hint(failure, record)), error=error)
    return Loaded(replace(record, state=State.READY, phase=phase), backend, count)


_STATES = {
    Phase.IMPORT: State.IMPORT_FAILED,
    Phase.HOOKS: State.INVALID,
    Phase.COUNT: State.NO_HARDWARE,  # a driver that cannot be opened is one that is not here
}


def _with_hint(refusal: Refusal, record: BackendRecord) -> Refusal:
    if not refusal.hint:
        if refusal.state is State.IMPORT_FAILED:
            refusal.hint = f'python -c "import {record.module}"'
        elif refusal.state is State.NO_HARDWARE:
            refusal.hint = f"headrace doctor {record.tag}"
        elif record.distribution:
            refusal.hint = f"pip install --upgrade headrace {record.distribution}"
    return refusal


def _most_telling(records: Iterable[BackendRecord]) -> BackendRecord:
    """Of several refused records of one tag, one that is not merely left out by choice."""
    return min(records, key=lambda record: record.state is State.BLOCKED)
