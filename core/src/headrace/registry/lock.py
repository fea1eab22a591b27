"""The lock: which plugins may run, in which version, with which files.

``headrace lock`` writes it, and with ``HEADRACE_STRICT=1`` no other plugin is imported: not one
that was installed since, nor one of which a file changed. Files are compared by SHA-256 before any
of them runs; where strict mode is off nothing is read.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import InputError
from headrace.light_tuple import NamedTuple
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import Phase, Refusal, State

FORMAT = 1
STRICT_VARIABLE = "HEADRACE_STRICT"
LOCK_VARIABLE = "HEADRACE_LOCK"
DEFAULT_FILE = "headrace.lock"

# Written by installers at the place of installation: they differ between two equal installs.
_LOCAL = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")


def is_strict() -> bool:
    """What ``HEADRACE_STRICT`` says: on for anything but an empty text, 0, no, off and false."""
    said = os.environ.get(STRICT_VARIABLE, "").strip().lower()
    return said not in ("", "0", "no", "off", "false")


def lock_file() -> Path:
    """The lock of this process: what ``HEADRACE_LOCK`` says, else ``headrace.lock`` here."""
    return Path(os.environ.get(LOCK_VARIABLE) or DEFAULT_FILE)


class LockedPlugin(NamedTuple):
    """A plugin that may run: its entry point, its version, and SHA-256 by file."""

    tag: str
    module: str
    distribution: str
    version: str
    files: Mapping[str, str]


def lock_of(backend: InstalledBackend) -> LockedPlugin:
    """What the lock holds of an installed backend. Reads its files; imports nothing."""
    return LockedPlugin(
        backend.tag,
        backend.module,
        backend.distribution,
        backend.version,
        {name: _sha256(path) for name, path in sorted(_files(backend).items())},
    )


def write_lock(plugins: Iterable[LockedPlugin], path: Path) -> None:
    """Write ``plugins`` to ``path``: JSON, sorted, the same for the same plugins.

    Raises:
        OSError: the file cannot be written.
    """
    listed = sorted((plugin._asdict() for plugin in plugins), key=lambda p: (p["tag"], p["module"]))
    path.write_text(json.dumps({"format": FORMAT, "plugins": listed}, indent=1) + "\n", "utf-8")


def read_lock(path: Path) -> tuple[LockedPlugin, ...]:
    """The plugins that the lock at ``path`` lists.

    Raises:
        InputError: there is no such file, or it is no lock of this format.
    """
    try:
        return _parse(path)
    except _NoLockError as error:
        raise InputError(f"{error}. Try: headrace lock -o {path}") from None


def check_lock(backend: InstalledBackend, path: Path) -> None:
    """Raise Refusal when the lock at ``path`` does not let ``backend`` run as it is."""
    drift = drift_of(backend, path)
    if drift:
        cause = f"{STRICT_VARIABLE} is on, and {drift}"
        raise Refusal(State.BLOCKED, Phase.DISCOVER, cause, f"headrace lock -o {path}")


def drift_of(backend: InstalledBackend, path: Path) -> str:
    """How ``backend`` differs from what the lock at ``path`` says; empty when it does not."""
    try:
        locked = _parse(path)
    except _NoLockError as error:
        return str(error)
    for plugin in locked:
        if (plugin.tag, plugin.distribution) == (backend.tag, backend.distribution):
            return _difference(plugin, lock_of(backend), path)
    return f"{path} does not list {backend.distribution} {backend.version}"


def gone(
    locked: Iterable[LockedPlugin], installed: Iterable[InstalledBackend]
) -> tuple[LockedPlugin, ...]:
    """Of ``locked``, the plugins that are no longer installed."""
    there = {(backend.tag, backend.distribution) for backend in installed}
    return tuple(plugin for plugin in locked if (plugin.tag, plugin.distribution) not in there)


class _NoLockError(Exception):
    """Why a file cannot be used as a lock."""


def _parse(path: Path) -> tuple[LockedPlugin, ...]:
    try:
        document = json.loads(path.read_text("utf-8"))
        if document["format"] != FORMAT:
            raise _NoLockError(
                f"{path} is a lock of format {document['format']!r}; this headrace reads {FORMAT}"
            )
        return tuple(LockedPlugin(**plugin) for plugin in document["plugins"])
    except OSError as error:
        raise _NoLockError(f"there is no lock at {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _NoLockError(f"{path} is no lock: {error!r}") from None


def _difference(locked: LockedPlugin, found: LockedPlugin, path: Path) -> str:
    if locked.version != found.version:
        return f"{path} lists version {locked.version}, and {found.version} is installed"
    if locked.module != found.module:
        return f"{path} lists module {locked.module}, and the entry point names {found.module}"
    names = sorted(locked.files.keys() | found.files.keys())
    for name in names:
        if name not in found.files:
            return f"file {name}, which {path} lists, is gone"
        if name not in locked.files:
            return f"file {name} is not in {path}"
        if locked.files[name] != found.files[name]:
            return f"file {name} is not the one that {path} lists"
    return ""


def _files(backend: InstalledBackend) -> dict[str, Path]:
    """The backend's files by name: what its package lists, and what would be imported.

    They are the same but for editable installs, and for a folder that hides the package.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # in strict mode alone

    found: dict[str, Path] = {}
    try:
        listed = distribution(backend.distribution).files or ()
    except PackageNotFoundError:
        listed = ()
    for file in listed:
        path = Path(str(file.locate()))
        if file.name not in _LOCAL and file.suffix != ".pyc" and path.is_file():
            found[file.as_posix()] = path
    top = backend.module.split(".")[0]
    spec = importlib.util.find_spec(top)  # of a top-level name, this runs nothing
    if spec is not None and spec.submodule_search_locations:
        for root in map(Path, spec.submodule_search_locations):
            for path in root.rglob("*"):
                if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts:
                    found[f"{top}/{path.relative_to(root).as_posix()}"] = path
    elif spec is not None and spec.origin is not None:
        found[Path(spec.origin).name] = Path(spec.origin)
    return found


def _sha256(path: Path) -> str:
    import hashlib  # with it comes OpenSSL

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
