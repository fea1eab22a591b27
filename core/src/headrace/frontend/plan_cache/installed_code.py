"""Which code is there: of a wheel what was installed, of any other code the state of its files.

A wheel leaves a list of its files behind, with a hash of each (RECORD). Whatever is installed over
it, the same version built anew as well, brings another list, so the list tells code apart, and it
is one file to read. Looking at each of the files instead took a quarter of a small model's second
start. What is edited in place is not in such a list: an editable install has its code elsewhere,
and so has a folder on the path. There, names, sizes and times of all files count. Reading them took
longer than compiling a small model. The time of change of an inode cannot be set back, so a file
that was replaced by one as long is noticed.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import operator
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import headrace
from headrace.digest import digest_of
from headrace.registry.metadata import MetadataFolder, distribution_of

# Parts of headrace that take no part in compiling; half of its files. The runtime runs what a plan
# says, which is the same whoever runs it.
_IDLE = frozenset(
    f"headrace/{name}"
    for name in ("bench", "cli", "doctor", "page", "runtime", "scaffold", "testing", "timeline")
)


@functools.cache
def code_of(packages: tuple[tuple[str, str], ...]) -> str | None:
    """A digest of the code of some packages, and of onnx; None when it cannot be told.

    It cannot for code that is in no plain files, and when some of it was changed after this process
    imported headrace: what is imported may be older than what is there.

    Args:
        packages: of each the name of its module, at the top level, and of its distribution.
    """
    found: list[object] = []
    try:
        found += [(name, _installed(name, of) or _edited(name)) for name, of in packages]
        spec = importlib.util.find_spec("onnx")
        if spec is not None and spec.origin is not None:
            found.append(_stamp("onnx", os.stat(spec.origin)))
    except (ImportError, OSError, ValueError, _UnknownError):
        return None
    return digest_of(marshal.dumps(found, _PLAIN)).hex()


_PLAIN = 2
"""The version of ``marshal`` that writes equal values alike; ``repr`` takes ten times as long."""


class _UnknownError(Exception):
    """A package is in no plain files, or was changed under this process."""


def _installed(package: str, distribution: str) -> bytes | None:
    """A digest of the hashes that a wheel was installed with; None for other code."""
    metadata = distribution_of(distribution)
    if not isinstance(metadata, MetadataFolder):
        return None
    site = os.path.dirname(metadata.folder)
    if _folders(package) != [os.path.join(site, package)]:
        return None  # it lies elsewhere, or files of it do
    try:
        with open(os.path.join(metadata.folder, "RECORD"), "rb", buffering=0) as file:
            _check_age(os.fstat(file.fileno()))
            record = file.read()
    except FileNotFoundError:
        return None
    first = f"{package}/__init__.py,sha256=".encode()
    return digest_of(record) if record.startswith(first) or b"\n" + first in record else None


def _check_age(*states: os.stat_result) -> None:
    if any(max(s.st_mtime_ns, s.st_ctime_ns) >= headrace.IMPORTED_NS for s in states):
        raise _UnknownError


_Stamp = tuple[str, int, int, int]
"""Name, size, and the times in nanoseconds at which a file and its inode were changed."""

_MODIFIED, _CHANGED = operator.itemgetter(2), operator.itemgetter(3)


def _edited(package: str) -> list[_Stamp]:
    """The files of a package."""
    files = sorted(_files(package))
    if max(max(map(_MODIFIED, files)), max(map(_CHANGED, files))) >= headrace.IMPORTED_NS:
        raise _UnknownError
    return files


def _folders(package: str) -> list[str]:
    """Where a package is; of a top-level name, finding it runs nothing. Empty for a lone file."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise _UnknownError
    return list(spec.submodule_search_locations or ())


def _files(package: str) -> Iterator[_Stamp]:
    folders = _folders(package)
    if not folders:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise _UnknownError
        yield _stamp(Path(spec.origin).name, os.stat(spec.origin))
    if not all(map(os.path.isdir, folders)):
        raise _UnknownError
    pending = [(folder, "") for folder in folders]
    while pending:
        folder, inside = pending.pop()
        with _entries(folder) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir():
                    if name != "__pycache__" and f"{package}/{inside}{name}" not in _IDLE:
                        pending.append((os.path.join(folder, name), f"{inside}{name}/"))
                elif not name.endswith(".pyc"):
                    yield _stamp(inside + name, entry.stat())


@contextmanager
def _entries(folder: str) -> Iterator[Iterable[os.DirEntry[str]]]:
    """What is in a folder: the way there is looked up once, where the system can, not per file."""
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as entries:
            yield entries
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        with os.scandir(opened) as found:
            yield found
    finally:
        os.close(opened)


def _stamp(name: str, status: os.stat_result) -> _Stamp:
    return name, status.st_size, status.st_mtime_ns, status.st_ctime_ns
