"""``PlanStore``: plan files and small notes by key, in one folder, bounded in size.

Any number of processes may use a folder at once. There are no locks: a file is put in place whole,
under a name that says all that it depends on, so two processes that make it make the same. What is
read is checked byte for byte; what is damaged is dropped, and made again by whoever wanted it. A
folder that cannot be written costs the cache and nothing else.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.digest import digest_of
from headrace.errors import PlanError
from headrace.frontend.cache_folder import PLAN_CACHE, cache_folder
from headrace.frontend.plan_file import PlanFile, read_kept_file, write_plan_file
from headrace.light_tuple import NamedTuple
from headrace.plan.kept_codec import EQUAL_FOR_EQUAL
from headrace.plan.saved import SavedPlan
from headrace.settings import nbytes
from headrace.tensor_spec import Array

if TYPE_CHECKING:
    from logging import Logger

DEFAULT_BYTES = 1 << 30
MODE = 0o600
"""Of the files: what a model computes is for those who may read the model."""

_NAME = re.compile(r"[0-9a-f]{64}\.(plan|note)|\.[0-9a-f]{64}\..*")
_ABANDONED_SECONDS = 3600


def plan_store() -> PlanStore | None:
    """The store of this user; None when ``HEADRACE_PLAN_CACHE`` is 0, or the user has no home.

    Raises:
        SettingError: the variable is not a number of bytes.
    """
    limit = limit_bytes()
    folder = plan_folder() if limit else None
    return None if folder is None else PlanStore(folder, limit)


def limit_bytes() -> int:
    """What ``HEADRACE_PLAN_CACHE`` says that plans may take; 0 for none at all.

    Raises:
        SettingError: the variable is not a number of bytes.
    """
    given = nbytes(PLAN_CACHE, "0 for no cache, or its size in bytes")
    return DEFAULT_BYTES if given is None else given


def plan_folder() -> Path | None:
    """Where the plans of this user are kept; None when there is no such place."""
    try:
        return cache_folder().absolute() / "plans"
    except (OSError, RuntimeError):  # no home; a current folder that is gone
        return None


class StoredFile(NamedTuple):
    """A file of the store, whether or not it can be used.

    Attributes:
        used_ns: when it was made, or taken last.
        nbytes: its length.
        path: where it is.
    """

    used_ns: int
    nbytes: int
    path: Path

    @property
    def is_plan(self) -> bool:
        """True for a plan; False for a note, or what a process left that was killed."""
        return self.path.suffix == ".plan"


class PlanStore:
    """What was kept in ``folder``, of at most ``limit`` bytes together.

    When there is more, what was used longest ago goes first. May be used from any thread.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_BYTES) -> None:
        self.folder = folder
        self.limit = limit
        self._prefix = os.fspath(folder)

    def plan(self, key: str) -> PlanFile | None:
        """The plan that was kept under ``key``; None when there is none, or it is damaged."""
        path = self._path(key, "plan")
        if not _is_ours(path):
            return None
        try:
            file = read_kept_file(path)
        except PlanError as error:
            self._drop(path, error)
            return None
        _touch(path)
        return file

    def keep_plan(self, key: str, saved: SavedPlan, blobs: Sequence[Array]) -> None:
        """Keep a plan; or do not, where that cannot be done."""
        nbytes = sum(blob.nbytes for blob in blobs)
        if nbytes > self.limit:
            _log().debug("not kept: %d bytes of weights, over %d", nbytes, self.limit)
            return
        path = self._path(key, "plan")
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            write_plan_file(Path(path), saved, blobs, MODE, kept=True)
        except (OSError, PlanError) as error:
            _log().debug("not kept: %s", error)
            return
        _log().debug("kept %s", path)
        self._trim()

    def drop_plan(self, key: str, reason: Exception) -> None:
        """Forget a plan that turned out not to be usable."""
        self._drop(self._path(key, "plan"), reason)

    def note(self, key: str) -> object:
        """The note that was kept under ``key``; None when there is none, or it is damaged."""
        path = self._path(key, "note")
        if not _is_ours(path):
            return None
        try:
            with open(path, "rb", buffering=0) as file:
                digest, _, text = file.read().partition(b"\n")
            if digest != _digest(text):
                raise ValueError("its checksum does not fit")
            value: object = marshal.loads(text)
        except (OSError, EOFError, TypeError, ValueError) as error:
            self._drop(path, error)
            return None
        _touch(path)
        return value

    def keep_note(self, key: str, value: Any) -> None:
        """Keep a plain value; or do not, where that cannot be done."""
        text = marshal.dumps(value, EQUAL_FOR_EQUAL)
        scratch = self.folder / f".{key}.{os.getpid()}-{os.urandom(4).hex()}"
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE), "wb") as f:
                f.write(_digest(text) + b"\n" + text)
            scratch.replace(self._path(key, "note"))
        except OSError as error:
            _log().debug("not kept: %s", error)
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _path(self, key: str, kind: str) -> str:
        # As text: to make a `Path` takes longer than to ask the system for the file.
        return os.path.join(self._prefix, f"{key}.{kind}")

    def _drop(self, path: str, error: Exception) -> None:
        _log().warning("%s cannot be used and is made again: %s", path, error)
        with contextlib.suppress(OSError):
            os.unlink(path)

    def files(self) -> list[StoredFile]:
        """Everything that is there, used longest ago first. What others put there is left out."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    with contextlib.suppress(OSError):  # another process removed it
                        status = entry.stat(follow_symlinks=False)
                        path = Path(entry.path)
                        found.append(StoredFile(status.st_mtime_ns, status.st_size, path))
        return sorted(found)

    def clear(self) -> list[StoredFile]:
        """Remove everything; returns what could not be removed.

        Processes that use a plan keep what they have of it.
        """
        left = []
        for file in self.files():
            try:
                file.path.unlink(missing_ok=True)
            except OSError:
                left.append(file)
        return left

    def _trim(self) -> None:
        """Remove what was used longest ago until the rest is small enough.

        And what was never finished: a process that is killed while it writes leaves a part behind.
        """
        files = self.files()
        total = sum(file.nbytes for file in files)
        abandoned_ns = time.time_ns() - _ABANDONED_SECONDS * 10**9
        for file in files:
            unfinished = file.path.name.startswith(".")
            if total > self.limit or (unfinished and file.used_ns < abandoned_ns):
                with contextlib.suppress(OSError):
                    file.path.unlink()
                    _log().debug("removed %s: over %d bytes, or unfinished", file.path, self.limit)
                total -= file.nbytes


def _is_ours(path: str) -> bool:
    """True when there is such a file and this user, or the administrator, put it there."""
    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return False
    return not hasattr(os, "getuid") or owner in (0, os.getuid())


def _log() -> Logger:
    from logging import getLogger  # seldom needed

    return getLogger("headrace.plan_cache")


def _touch(path: str) -> None:
    with contextlib.suppress(OSError):
        os.utime(path)


def _digest(text: bytes) -> bytes:
    return digest_of(text).hex().encode()
