"""Plugins that ended a process are kept from doing so again, until somebody says otherwise.

While plugin code of the load phases runs, a breadcrumb lies in the state folder: a locked file. The
operating system drops the lock of a process that dies, so a breadcrumb whose lock can be taken
tells of a plugin that may have taken its process with it. The next process that wants it finds out:
it has a child load it first (``suspects.py``). Where files cannot be locked or the folder cannot be
written there are no breadcrumbs, and only what ``headrace doctor`` found out is remembered.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from headrace.light_tuple import NamedTuple
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import Phase, Refusal, State

try:
    import fcntl
except ImportError:  # not on every platform
    fcntl = None  # type: ignore[assignment]

VARIABLE = "HEADRACE_STATE"


def state_folder() -> Path:
    """Where headrace keeps what must outlive a process; ``HEADRACE_STATE`` overrides it."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "headrace"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/headrace"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "headrace"


class Crash(NamedTuple):
    """A plugin that ended a process.

    Attributes:
        tag, distribution, version: of the plugin; another version is another plugin.
        phase: what was being done with it.
        what: how the process ended: ``signal SIGSEGV``, ``exit code 3``, ``no answer in 30 s``.
        when: local date and time.
    """

    tag: str
    distribution: str
    version: str
    phase: str
    what: str
    when: str


class Quarantine:
    """The crashes that are remembered in one folder. May be used by several processes at once."""

    def __init__(self, folder: Path | Callable[[], Path] | None) -> None:
        """Use ``folder``, which need not exist; None remembers and finds nothing.

        A function is asked where it is each time it is needed.
        """
        self._given = folder

    @property
    def _folder(self) -> Path | None:
        if not callable(self._given):
            return None if self._given is None else self._given.absolute()
        try:
            return self._given().absolute()  # a plugin may change the current folder
        except (RuntimeError, OSError):  # a user without a home; a current folder that is gone
            return None

    def is_kept(self) -> bool:
        """True when crashes are remembered: there is a folder and it can be written."""
        folder = self._folder
        if folder is None:
            return False
        try:
            (folder / "crashed").mkdir(parents=True, exist_ok=True)
            import tempfile

            with tempfile.TemporaryFile(dir=folder / "crashed"):
                return True
        except OSError:
            return False

    def crashes(self) -> tuple[Crash, ...]:
        """Every crash that was not cleared, sorted by tag."""
        folder = self._folder
        if folder is None:
            return ()
        found = []
        for path in _files(folder / "crashed"):
            crash = _read(path)
            if crash is not None:
                found.append(crash)
        return tuple(sorted(found, key=lambda crash: (crash.tag, crash.distribution)))

    def add(self, crash: Crash) -> bool:
        """Remember a crash; False when the folder cannot be written."""
        folder = self._folder
        if folder is None:
            return False
        try:
            _write(folder / "crashed" / f"{_stem(crash)}.json", crash)
        except OSError:
            return False
        return True

    def clear(self, tag: str) -> tuple[Crash, ...]:
        """Forget the crashes of ``tag``, and whom a crash is suspected of; returns the crashes.

        Raises:
            OSError: the folder cannot be written.
        """
        folder = self._folder
        if folder is None:
            return ()
        gone = tuple(crash for crash in self.crashes() if crash.tag == tag)
        for crash in gone:
            (folder / "crashed" / f"{_stem(crash)}.json").unlink(missing_ok=True)
        with _left_behind(folder / "loading", lambda crash: crash.tag == tag) as left:
            for path in left:
                path.unlink(missing_ok=True)
        return gone

    @contextmanager
    def watch(self, backend: InstalledBackend) -> Iterator[Callable[[Phase], None]]:
        """Leave a breadcrumb while the block runs; the function it gives says what is being done.

        However the block is left, the breadcrumb goes, unless the process goes with it. One that a
        process left which is no more has a child load the plugin before the block is entered.

        Raises:
            Refusal: that ended the child; it is remembered.
        """
        folder = self._folder
        if folder is None or not backend.distribution or fcntl is None:
            yield lambda phase: None
            return
        self._examine(folder / "loading", backend)
        crumb = _Breadcrumb(folder / "loading", backend)
        try:
            with contextlib.suppress(OSError):
                crumb.leave()
            yield crumb.say
        finally:
            try:
                crumb.remove()
            finally:
                crumb.remove()  # again: Ctrl-C may have come before

    def _examine(self, folder: Path, backend: InstalledBackend) -> None:
        """Refuse a plugin that a process left a breadcrumb of, if it ends another one as well."""
        name = backend.tag, backend.distribution, backend.version
        with _left_behind(folder, lambda crash: crash[:3] == name) as left:
            if not left:
                return
            from headrace.registry.suspects import load_elsewhere  # seldom needed

            finding = load_elsewhere(backend)
            if finding is None:
                return  # nobody saw it end anything
            when = time.strftime("%Y-%m-%d %H:%M:%S")
            crash = Crash(*name, finding.phase, finding.cause, when)
            if not finding.ended_the_process or self.add(crash):  # else they stay, to ask again
                for path in left:
                    with contextlib.suppress(OSError):
                        path.unlink(missing_ok=True)
            if finding.ended_the_process:
                check_crashes(backend, (crash,))


@contextmanager
def _left_behind(folder: Path, is_meant: Callable[[Crash], bool]) -> Iterator[list[Path]]:
    """The breadcrumbs of processes that are no more, locked, so that nobody else deals with them.

    One whose owner lives is locked by that.
    """
    with contextlib.ExitStack() as locked:
        left = []
        for path in _files(folder):  # none where files cannot be locked
            crash = _read(path)
            if crash is not None and is_meant(crash):
                with contextlib.suppress(OSError):
                    file = locked.enter_context(path.open("r+b"))
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.append(path)
        yield left


_ROOM = 1024
"""Bytes of a breadcrumb, so that a later text covers an earlier one."""

_LONGEST = 1 << 16
"""Bytes of a file that are read: many times what any of ours has."""


class _Breadcrumb:
    """A locked file. It is named when it is locked, so nobody finds it without its lock.

    Its name holds a random part: threads share their process's number, and so do processes of
    different containers that share a state folder. Only leaving it can fail. A disk that fills up
    later, or a plugin that closes files which are not its own, costs the breadcrumb and not the
    load.
    """

    def __init__(self, folder: Path, backend: InstalledBackend) -> None:
        self._backend = backend
        name = f"{_stem(backend)}-{os.getpid()}-{os.urandom(4).hex()}"
        self._hidden = folder / f".{name}"
        self._path = folder / f"{name}.json"
        self._file: FileIO | None = None

    def leave(self) -> None:
        """Put it where others find it; to be removed also where this fails or is interrupted."""
        self._hidden.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._hidden.open("wb", buffering=0)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.say(Phase.IMPORT)
        self._hidden.rename(self._path)

    def say(self, phase: Phase) -> None:
        backend, file = self._backend, self._file
        if file is None:
            return
        crash = Crash(
            backend.tag,
            backend.distribution,
            backend.version,
            str(phase),
            "the process ended",
            time.strftime("%Y-%m-%d %H:%M:%S"),
        )
        text = json.dumps(crash._asdict()).encode().ljust(_ROOM)
        with contextlib.suppress(OSError):
            # One write over the old text: a file that is emptied first is, on ext4, flushed to the
            # disk when it is closed, which costs milliseconds.
            os.pwrite(file.fileno(), text, 0)

    def remove(self) -> None:
        for path in (self._path, self._hidden):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()


def check_crashes(backend: InstalledBackend, crashes: tuple[Crash, ...]) -> None:
    """Raise Refusal when ``backend``, in this version, ended a process before."""
    for crash in crashes:
        if (crash.tag, crash.distribution, crash.version) == (
            backend.tag,
            backend.distribution,
            backend.version,
        ):
            raise Refusal(
                State.BLOCKED,
                Phase.DISCOVER,
                f"it is in quarantine: {crash.what} in phase {crash.phase!r} on {crash.when}",
                f"headrace doctor --clear {backend.tag}",
            )


def _stem(plugin: Crash | InstalledBackend) -> str:
    text = f"{plugin.distribution}-{plugin.version}-{plugin.tag}"
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in text)


def _files(folder: Path) -> list[Path]:
    """The files of JSON in ``folder``, sorted; none when it cannot be read.

    What else lies there is not ours: to open a FIFO may take for ever.
    """
    try:
        return sorted(path for path in folder.glob("*.json") if path.is_file())
    except OSError:
        return []


def _read(path: Path) -> Crash | None:
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST)
        return Crash(**{k: str(v) for k, v in json.loads(text).items()})
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None  # damaged, or somebody cleared it this moment


def _write(path: Path, crash: Crash) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}-{os.urandom(4).hex()}")
    scratch.write_text(json.dumps(crash._asdict()), "utf-8")
    try:
        scratch.replace(path)
    except OSError:
        scratch.unlink()
        raise
