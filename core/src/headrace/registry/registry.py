"""``BackendRegistry``: the one place to ask for a backend, and the errors it answers with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from headrace.errors import PluginError, UnknownDeviceError
from headrace.registry.discover import InstalledBackend, discover
from headrace.registry.loader import BeingLoadedError, Loaded, Loader, Screened
from headrace.registry.record import BackendRecord, State
from headrace.registry.screen import CORE, TAG, Choice, screen
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
    ) -> None:
        """Make a registry. Nothing is searched and nothing imported before something is asked.

        Args:
            installed: the backends there are; None means those that are installed.
            allow: tags or distributions to allow, all others are left out; None means what
                ``HEADRACE_BACKENDS`` says.
            block: tags or distributions to leave out; None means what ``HEADRACE_DISABLE`` says.
            core_version: version of headrace that plugins must fit; None means this one.
        """
        fixed = None if installed is None else tuple(installed)
        wanted = None if allow is None else tuple(allow)
        unwanted = None if block is None else tuple(block)

        def find() -> Screened:
            backends = discover() if fixed is None else fixed
            choice = Choice.of(wanted, unwanted)
            records = screen(backends, choice, core_version or _installed_version())
            return tuple(zip(backends, records, strict=True))

        self._loader = Loader(find)

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

    def backend(self, tag: str) -> Backend:
        """Return the backend of a device tag; load it if that was not done before.

        Raises:
            UnknownDeviceError: no backend of this tag is installed.
            PluginError: it is installed and cannot be used; says why, and what to do.
        """
        loaded = self._load(tag)
        if loaded.backend is None:
            raise _plugin_error(loaded.record) from loaded.error
        return loaded.backend

    def device_count(self, tag: str) -> int:
        """How many devices of ``tag`` there are; at least 1.

        Raises:
            UnknownDeviceError, PluginError: as ``backend``.
        """
        self.backend(tag)
        return self._load(tag).count

    def _load(self, tag: str) -> Loaded:
        try:
            loaded = self._loader.load(tag)
        except BeingLoadedError:
            raise PluginError(
                f"backend {tag!r} is being loaded and asks for itself; "
                "a plugin must not use its own device while it is imported"
            ) from None
        if loaded is None:
            raise _unknown(tag, self.records())
        return loaded


_DEFAULT = BackendRegistry()


def default_registry() -> BackendRegistry:
    """The registry of the installed backends, the same for the life of the process."""
    return _DEFAULT


def _installed_version() -> str | None:
    try:
        return version(CORE)
    except PackageNotFoundError:
        return None  # run from a source folder: there is no version that a range could be about


def _unknown(tag: str, records: Iterable[BackendRecord]) -> UnknownDeviceError:
    tags = list(dict.fromkeys(record.tag for record in records))
    if tags:
        text = f"no backend {tag!r}; installed backends are {', '.join(tags)}"
    else:
        text = f"no backend {tag!r}; no backend is installed"
    close = difflib.get_close_matches(tag, tags, 1)
    if close:
        text += f". Did you mean {close[0]!r}?"
        text += f" If not: pip install {CORE}-{tag}" if TAG.match(tag) else ""
    elif TAG.match(tag):
        text += f". Try: pip install {CORE}-{tag}"
    return UnknownDeviceError(text)


_SAYS = {
    State.BLOCKED: "is blocked",
    State.INCOMPATIBLE: "does not fit this headrace",
    State.DUPLICATE: "is ambiguous",
    State.IMPORT_FAILED: "did not load",
    State.INVALID: "breaks the plugin contract",
    State.NO_HARDWARE: "has no device here",
}


def _plugin_error(record: BackendRecord) -> PluginError:
    text = f"backend {record.tag!r} is installed ({record.origin}) but {_SAYS[record.state]}"
    if record.cause:
        text += f": {record.cause}"
    if record.hint:
        text += f". Try: {record.hint}"
    return PluginError(text)
