"""Loads each backend on demand and keeps it, so that no plugin can harm another or its caller."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.collector import collector_rests
from headrace.errors import SessionError, SettingError
from headrace.light_dataclass import dataclass
from headrace.registry.check import build_driver, check_count
from headrace.registry.discover import InstalledBackend
from headrace.registry.driver import Driver
from headrace.registry.hooks import PluginHooks, import_plugin
from headrace.registry.interrupt import watched_interrupts
from headrace.registry.record import (
    BackendRecord,
    Phase,
    Refusal,
    State,
    closer_look,
    describe,
)
from headrace.registry.screen import refused
from headrace.signals import let_handlers_through

if TYPE_CHECKING:
    from headrace.registry.tables import Backend


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading gave.

    Attributes:
        record: final, unless only the driver is there.
        driver: what runs plans; None when the plugin was refused.
        backend: the driver with the tables; None unless the record's state is ``READY``.
        count: number of devices.
        error: what the plugin raised, for the chain of the exception that a caller gets.
        hooks: those that were not called yet, when only the driver is there.
    """

    record: BackendRecord
    driver: Driver | None = None
    backend: Backend | None = None
    count: int = 0
    error: BaseException | None = None
    hooks: PluginHooks | None = None

    def is_enough(self, whole: bool) -> bool:
        """True when nothing is left to load of what is asked for: all of it, or the driver."""
        return self.hooks is None or not whole


class BeingLoadedError(Exception):
    """A plugin, while it is being loaded, asked for the backend that it brings.

    Attributes:
        by_way_of: the tags that it asked for in between: none when it asked by itself.
    """

    def __init__(self, by_way_of: tuple[str, ...]) -> None:
        super().__init__()
        self.by_way_of = by_way_of


Screened = tuple[tuple[InstalledBackend, BackendRecord], ...]

Watch = Callable[[InstalledBackend], AbstractContextManager[Callable[[Phase], None]]]


class Loader:
    """The backends of one registry and how far each got.

    One lock for all: a plugin that asks for another backend while it loads cannot meet a thread
    that does the opposite. The lock is held while plugin code runs, so a thread that asks for a
    backend which another thread is loading waits for it and gets the same answer.

    Backends may ask for each other. One that asks for a backend which is itself waiting for it is
    told so, and may do without. If it fails instead, that is for now: it might have worked had it
    been asked for first. It is loaded again when the backend that was waiting is done. So what is
    refused does not depend on who was asked first. To refuse both at once was turned down: one of
    them may need the other merely to do better.
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
        # Outermost first; to each, those further out that were refused while it was being loaded.
        self._loading: dict[str, set[str]] = {}
        # What failed for now, and those whose being loaded may be why.
        self._again: dict[str, tuple[Loaded, set[str]]] = {}

    def records(self) -> tuple[BackendRecord, ...]:
        """One record for each installed backend as things stand; loads nothing."""
        with self._lock:
            return tuple(
                self._loaded[record.tag].record
                if record.state is State.FOUND and record.tag in self._loaded
                else record
                for _, record in self._screened()
            )

    def requirements(self) -> tuple[str, ...]:
        """The ``Requires-Dist`` lines of all installed backends, sorted; loads nothing."""
        with self._lock:
            return tuple(sorted({need for entry, _ in self._screened() for need in entry.requires}))

    def load(self, tag: str, whole: bool = True) -> Loaded | None:
        """Load the backend of ``tag``, or say again what came of it; None when there is none.

        Args:
            tag: of the device.
            whole: with the lists that compilers choose from; else the driver will do. What is
                there of it is not asked for again.

        Raises:
            BeingLoadedError: this thread is loading it already, further out.
            SessionError: Python is at its end, where another thread may hold the lock for ever.
            BaseException: Ctrl-C, or another signal's handler that raised, stopped the import; the
                next call tries again.
        """
        there = self._loaded.get(tag)
        if there is not None and there.is_enough(whole):
            return there
        if sys.is_finalizing():
            raise SessionError(f"device {tag!r} cannot be loaded any more: Python is at its end")
        with self._lock:
            there = self._loaded.get(tag)
            if there is not None and there.is_enough(whole):
                return there
            if tag in self._loading:
                outer = list(self._loading)
                self._blame({tag})
                raise BeingLoadedError(tuple(outer[outer.index(tag) + 1 :]))
            if tag in self._again and self._again[tag][1] <= self._loading.keys():
                loaded, blamed = self._again[tag]
                self._blame(blamed)
                return loaded  # it would come to the same
            found = [pair for pair in self._screened() if pair[1].tag == tag]
            usable = [pair for pair in found if pair[1].state is State.FOUND]
            if not usable:
                return Loaded(_most_telling(record for _, record in found)) if found else None
            loaded = self._load(*usable[0], there, whole)
            if self._again and not self._loading:
                self.load(min(self._again))  # which does the same for the next
            return loaded

    def _load(
        self, installed: InstalledBackend, record: BackendRecord, there: Loaded | None, whole: bool
    ) -> Loaded:
        """Load it, and keep what came of it: for good, or for as long as another is waiting."""
        tag = record.tag
        waiting = self._loading[tag] = set()
        try:
            with self._watch(installed) as say:
                phases = _Phases(say)
                ask = partial(_ask, installed, record, phases, there, whole)
                loaded = _load(record, phases, ask)
        except Refusal as refusal:  # it is not to be run at all
            loaded = Loaded(refused(record, refusal))
        finally:
            del self._loading[tag]
        if loaded.driver is None and waiting:
            self._again[tag] = loaded, waiting
            self._blame(waiting)
        else:
            self._again.pop(tag, None)
            self._loaded[tag] = loaded
        return loaded

    def _blame(self, tags: set[str]) -> None:
        """Remember of the one that asks that it did not get an answer because ``tags`` wait."""
        if self._loading:
            asking = next(reversed(self._loading))
            self._loading[asking] |= tags - {asking}

    def _screened(self) -> Screened:
        if self._entries is None:
            self._entries = self._find()
        return self._entries


class _Phases:
    """Tells how far loading got, and remembers it."""

    def __init__(self, say: Callable[[Phase], None]) -> None:
        self._say = say
        self.last = Phase.IMPORT

    def begin(self, phase: Phase) -> None:
        self.last = phase
        self._say(phase)


def _load(record: BackendRecord, phases: _Phases, ask: Callable[[], Loaded]) -> Loaded:
    """What ``ask`` gives. Whatever the plugin does, the answer is a record."""
    with watched_interrupts() as interrupts, collector_rests(lasting=True):
        try:
            return ask()
        except BeingLoadedError:
            raise
        except Refusal as refusal:
            return Loaded(refused(record, _with_hint(refusal, record)))
        except SettingError as error:  # the user's doing, not the plugin's
            hint = f"unset {error.variable}"
            failure = Refusal(State.IMPORT_FAILED, phases.last, str(error), hint)
            return Loaded(refused(record, failure), error=error)
        except BaseException as error:
            if interrupts.pressed:
                raise
            let_handlers_through(error)
            # A plugin that calls sys.exit, or raises KeyboardInterrupt itself, ends nothing.
            # What a hook lists is imported where it is listed.
            is_import = isinstance(error, ImportError)
            state = State.IMPORT_FAILED if is_import else _STATES[phases.last]
            failure = Refusal(state, phases.last, describe(error))
            return Loaded(refused(record, _with_hint(failure, record)), error=error)


def _ask(
    installed: InstalledBackend,
    record: BackendRecord,
    phases: _Phases,
    there: Loaded | None,
    whole: bool,
) -> Loaded:
    """Import, ask, check; raises what the plugin raises."""
    if there is None or there.driver is None or there.hooks is None:
        phases.begin(Phase.IMPORT)
        plugin = import_plugin(installed)
        if _is_being_imported(plugin):
            raise BeingLoadedError(())  # it asks for itself, by way of another registry
        phases.begin(Phase.HOOKS)
        hooks = PluginHooks(plugin, record.tag)
        driver = build_driver(record, hooks)
    else:
        phases.begin(Phase.HOOKS)
        hooks, driver = there.hooks, there.driver
    backend = _build_backend(driver, hooks) if whole else None
    phases.begin(Phase.COUNT)
    count = check_count(driver.device.count())
    if backend is None:
        return Loaded(record, driver, count=count, hooks=hooks)
    return Loaded(replace(record, state=State.READY, phase=Phase.COUNT), backend, backend, count)


def _build_backend(driver: Driver, hooks: PluginHooks) -> Backend:
    from headrace.registry.check_lists import build_backend  # not needed to run a kept plan

    return build_backend(driver, hooks)


def _is_being_imported(plugin: object) -> bool:
    """Is ``plugin`` a module whose own code, further out in this thread, is not done yet?

    ``importlib`` hands such a module to whoever imports it in a circle, and waits for it in every
    other thread. Half of its hooks may not be there, which must not be taken for its last word.
    """
    return bool(getattr(getattr(plugin, "__spec__", None), "_initializing", False))


_STATES = {
    Phase.IMPORT: State.IMPORT_FAILED,
    Phase.HOOKS: State.INVALID,
    Phase.COUNT: State.NO_HARDWARE,  # a driver that cannot be opened is one that is not here
}


def _with_hint(refusal: Refusal, record: BackendRecord) -> Refusal:
    if not refusal.hint:
        if refusal.phase is Phase.IMPORT:
            refusal.hint = f'python -c "import {record.module}"'
        elif refusal.state in (State.IMPORT_FAILED, State.NO_HARDWARE):
            refusal.hint = closer_look(record.tag)
        elif record.distribution:
            refusal.hint = f"pip install --upgrade headrace {record.distribution}"
    return refusal


def _most_telling(records: Iterable[BackendRecord]) -> BackendRecord:
    """Of several refused records of one tag, one that is not merely left out by choice."""
    return min(records, key=lambda record: record.state is State.BLOCKED)
