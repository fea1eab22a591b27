"""Distributions by what is in their metadata, as ``importlib.metadata`` finds them, but sooner.

That makes an object of every distribution, and a table of all of them the first time one is asked
for by name; a process that starts with a plan out of the cache would spend as long on it as on all
else that it does before it runs. Here folders are listed, and a file is opened in each folder of
metadata. What is not in folders (archives, eggs, finders of others) is left to ``importlib``, which
is not even imported where there is nothing of that kind: that, too, takes its time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from headrace.light_tuple import NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_ENTRY_POINTS = "entry_points.txt"
_ENDINGS = (".dist-info", ".egg-info")


class Metadata(Protocol):
    """The metadata of a distribution; ``importlib.metadata.Distribution`` is one."""

    def read_text(self, filename: str) -> str | None:
        """What is in one of its files; None when there is none, or it cannot be opened.

        Raises:
            ValueError: it is no text.
        """

    @property
    def requires(self) -> list[str] | None:
        """Its requirements; None when it states none."""


class MetadataFolder:
    """The metadata in a folder.

    Attributes:
        folder: its path; the folder around it has the packages, or leads to them.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def read_text(self, filename: str) -> str | None:
        """As ``Metadata.read_text``."""
        try:
            with open(os.path.join(self.folder, filename), encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
            return None

    @property
    def version(self) -> str:
        """The version, as installers write it into the folder's name; empty for an egg's."""
        name, ending = os.path.splitext(os.path.basename(self.folder))
        return name.partition("-")[2] if ending == ".dist-info" else ""

    @property
    def requires(self) -> list[str] | None:
        """As ``Metadata.requires``: of an egg, in a file of their own."""
        if not self.folder.endswith(".egg-info"):
            return None
        from importlib.metadata import Distribution

        return Distribution.at(self.folder).requires


def normal_name(name: str) -> str:
    """The name of a distribution, in the one way of all to write it that packages agreed on."""
    words = name.lower().replace("_", "-").replace(".", "-").split("-")
    return "-".join(filter(None, words))  # a pattern takes longer to compile than all names


def mentioning(text: str, path: Sequence[str] | None = None) -> Iterator[Metadata]:
    """The distributions whose entry points have ``text`` in them, in the order of the path.

    Args:
        text: ASCII.
        path: folders to search; None means ``sys.path``.
    """
    for entry in sys.path if path is None else path:
        listed = _listed(entry)
        if listed is None:
            yield from (d for d in _in_archive(entry) if text in _entry_points(d))
            continue
        for name in listed.names:
            folder = os.path.join(entry, name)
            if text.encode() in _bytes(os.path.join(folder, _ENTRY_POINTS)):
                yield MetadataFolder(folder)
    for found in _elsewhere(path):
        if text in _entry_points(found):
            yield found


def distribution_of(name: str) -> Metadata | None:
    """An installed distribution by its name; None when it is not installed."""
    wanted = normal_name(name)
    for entry in sys.path:
        found = _listed(entry)
        if found is None:  # it may be there, and comes before what follows
            break
        if wanted in found.by_name:
            return MetadataFolder(os.path.join(entry, found.by_name[wanted]))
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _in_archive(entry: str) -> Iterator[Distribution]:
    from importlib.metadata import distributions

    return iter(distributions(path=[entry]))


class _Listing(NamedTuple):
    """The folders of metadata in a folder, and the first of each distribution's name."""

    names: Sequence[str] = ()
    by_name: Mapping[str, str] = MappingProxyType({})


def _listed(entry: str) -> _Listing | None:
    """What is in a folder of the path; None for what is no plain folder."""
    # "" is where the process is, which may change.
    folder = entry if os.path.isabs(entry) else os.path.abspath(entry)
    try:
        changed_ns = os.stat(folder).st_mtime_ns
        return None if folder.endswith(".egg") else _listing(folder, changed_ns)
    except (FileNotFoundError, PermissionError):
        return _Listing()
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _listing(folder: str, changed_ns: int) -> _Listing:
    names = [name for name in os.listdir(folder) if name.endswith(_ENDINGS)]
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(normal_name(name.rpartition(".")[0].partition("-")[0]), name)
    return _Listing(names, by_name)


def _elsewhere(path: Sequence[str] | None) -> Iterator[Distribution]:
    """What finders other than that of the path know of."""
    finders = [f for f in sys.meta_path if f is not PathFinder and hasattr(f, "find_distributions")]
    if not finders:
        return
    from importlib.metadata import DistributionFinder

    context = DistributionFinder.Context()
    if path is not None:
        context = DistributionFinder.Context(path=list(path))
    for finder in finders:
        yield from finder.find_distributions(context)


def _entry_points(found: Metadata) -> str:
    try:
        return found.read_text(_ENTRY_POINTS) or ""
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")  # whose they are can be seen all the same
    except OSError:
        return ""


def _bytes(path: str) -> bytes:
    """What is in a file; nothing where there is none, or it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        with open(file, "rb", buffering=0) as opened:
            return opened.read()
    except OSError:
        return b""
