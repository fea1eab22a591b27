"""``BackendRegistry``: the one place to ask for a backend, and the errors it answers with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UnknownOpError
from headrace.graph import CORE_OPS, OpEntry
from headrace.graph.op_source import tag_of
from headrace.op_call import OpCall
from headrace.registry.discover import InstalledBackend, discover, version_of
from headrace.registry.driver import Driver
from headrace.registry.loader import BeingLoadedError, Loaded, Loader, Screened, Watch
from headrace.registry.lock import is_strict, lock_file
from headrace.registry.quarantine import Quarantine, state_folder
from headrace.registry.record import BackendRecord, State
from headrace.registry.screen import CORE, Choice, screen
from headrace.registry.unavailable import (
    being_loaded,
    no_such_index,
    not_installed,
    refused_backend,
)

if TYPE_CHECKING:
    from headrace.registry.tables import Backend


class BackendRegistry:
    """Knows which backends are installed, and loads one the first time its tag is asked for.

    What it finds out it keeps. May be used from any thread.

    Example:
        >>> BackendRegistry(installed=()).records()
        ()
    """

    def __init__(
        self,
        installed: Iterable[InstalledBackend] | None = None,
        *,
        allow: Iterable[str] | None = None,
        block: Iterable[str] | None = None,
        core_version: str | None = None,
        strict: bool | None = None,
        lock: Path | None = None,
        quarantine: Quarantine | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Make a registry. Nothing is searched and nothing imported before something is asked.

        Args:
            installed: the backends there are; None means those that are installed.
            allow: tags or distributions to allow, all others are left out; None means what
                ``HEADRACE_BACKENDS`` says.
            block: tags or distributions to leave out; None means what ``HEADRACE_DISABLE`` says.
            core_version: version of headrace that plugins must fit; None means this one.
            strict: run no plugin but those in the lock; None means what ``HEADRACE_STRICT`` says,
                or no when ``installed`` is given.
            lock: the lock; None means what ``HEADRACE_LOCK`` says, else ``headrace.lock``.
            quarantine: what crashed before; None means what is in the state folder of the user
                (``HEADRACE_STATE``), or nothing when ``installed`` is given.
            watch: stands around the loading of a plugin; None means the quarantine, which takes
                note of a plugin that ends the process.
        """
        fixed = None if installed is None else tuple(installed)
        wanted = None if allow is None else tuple(allow)
        unwanted = None if block is None else tuple(block)

        if quarantine is None:
            quarantine = Quarantine(state_folder if fixed is None else None)
        crashed = quarantine

        def find() -> Screened:
            backends = discover() if fixed is None else fixed
            choice = Choice.of(wanted, unwanted)
            version = core_version or installed_version()
            locked = is_strict() if strict is None and fixed is None else bool(strict)
            file = (lock or lock_file()) if locked else None
            records = screen(backends, choice, version, crashed.crashes(), file)
            return tuple(zip(backends, records, strict=True))

        self._loader = Loader(find, watch or quarantine.watch)
        # What was found stays; compilers ask for the same things several times for each op.
        self._backends: dict[str, Backend] = {}
        self._drivers: dict[str, Driver] = {}
        self._ops: dict[str, OpEntry] = {}

    @classmethod
    def from_modules(cls, modules: Mapping[str, object]) -> BackendRegistry:
        """A registry of exactly these backends, whatever is installed and set in the environment.

        Args:
            modules: device tag to the module, or any object, that holds hook implementations.
        """
        installed = [
            InstalledBackend(
                tag, getattr(module, "__name__", type(module).__name__), implementation=module
            )
            for tag, module in sorted(modules.items())
        ]
        return cls(installed, allow=modules, block=())

    def records(self) -> tuple[BackendRecord, ...]:
        """One record for each installed backend, sorted by tag, as things stand; loads nothing."""
        return self._loader.records()

    def requirements(self) -> tuple[str, ...]:
        """What the installed backends require, as their packages say it; loads nothing."""
        return self._loader.requirements()

    def driver(self, tag: str) -> Driver:
        """Return what runs plans on devices of a tag; load that much if it was not done before.

        Hooks whose answers only compilers look at are not called.

        Raises:
            DeviceUnavailableError: none is installed, or it cannot be used; says why, and what
                to do.
        """
        driver = self._drivers.get(tag)
        if driver is None:
            loaded = self._load(tag, whole=False)
            if loaded.driver is None:
                raise refused_backend(loaded.record) from loaded.error
            driver = self._drivers[tag] = loaded.driver
        return driver

    def backend(self, tag: str) -> Backend:
        """Return the backend of a device tag; load it if that was not done before.

        Raises:
            DeviceUnavailableError: none is installed, or it cannot be used; says why, and what
                to do.
        """
        backend = self._backends.get(tag)
        if backend is None:
            loaded = self._load(tag, whole=True)
            if loaded.backend is None:
                raise refused_backend(loaded.record) from loaded.error
            self._drivers[tag] = backend = self._backends[tag] = loaded.backend
        return backend

    def op(self, name: str) -> OpEntry:
        """Return the op called ``name``; for one of a plugin (``hello.swish``), load the plugin.

        Raises:
            UnknownOpError: neither core nor the plugin has it; names those that look alike.
            DeviceUnavailableError: as ``backend``.
        """
        entry = self._ops.get(name)
        if entry is None:
            entry = self._ops[name] = self._find_op(name)
        return entry

    def has_kernel(self, tag: str, call: OpCall) -> bool:
        """Whether the backend of ``tag`` has a kernel for ``call``.

        Raises:
            DeviceUnavailableError: as ``backend``.
        """
        return self.backend(tag).kernels.select(call) is not None

    def _find_op(self, name: str) -> OpEntry:
        tag = tag_of(name)
        if not tag:
            return CORE_OPS.op(name)
        ops = self.backend(tag).ops
        if name not in ops:
            from difflib import get_close_matches

            close = get_close_matches(name, ops, 1)
            known = f"did you mean {close[0]}?" if close else f"it has {', '.join(ops) or 'none'}"
            raise UnknownOpError(f"device {tag!r} brings no op called {name!r}; {known}")
        return ops[name]

    def device_count(self, tag: str) -> int:
        """How many devices of ``tag`` there are; at least 1.

        Raises:
            DeviceUnavailableError: as ``driver``.
        """
        self.driver(tag)
        return self._load(tag, whole=False).count

    def check_index(self, tag: str, index: int) -> None:
        """Refuse a device that does not exist.

        Raises:
            DeviceUnavailableError: as ``driver``, or there are fewer devices than that.
        """
        count = self.device_count(tag)
        if not 0 <= index < count:
            raise no_such_index(self._load(tag, whole=False).record, index, count)

    def _load(self, tag: str, whole: bool) -> Loaded:
        try:
            loaded = self._loader.load(tag, whole)
        except BeingLoadedError as error:
            (record,) = (r for r in self.records() if r.tag == tag and r.state is State.FOUND)
            raise being_loaded(record, error.by_way_of) from None
        if loaded is None:
            raise not_installed(tag, self.records())
        return loaded


_DEFAULT = BackendRegistry()


def default_registry() -> BackendRegistry:
    """The registry of the installed backends, the same for the life of the process."""
    return _DEFAULT


def replace_default_registry(registry: BackendRegistry) -> BackendRegistry:
    """Let ``default_registry`` give ``registry`` from now on, and return what it gave before.

    For tests, which put the first one back: jobs that were compiled keep the registry they had.
    """
    global _DEFAULT
    before, _DEFAULT = _DEFAULT, registry
    return before


def installed_version() -> str | None:
    """The version of headrace that plugins must fit; None when it is not installed."""
    return version_of(CORE)  # None in a source folder: no version that a range could be about
