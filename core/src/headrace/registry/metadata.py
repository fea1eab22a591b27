"""Distributions by what is in their metadata, as ``importlib.metadata`` finds them, but sooner.

That makes an object of every distribution, and a table of all of them the first time one is asked
for by name; a process that starts with a plan out of the cache would spend as long on it as on all
else that it does before it runs. Here folders are listed, and a file is opened in each folder of
metadata. What is not in folders (archives, eggs, finders of others) is left to ``importlib``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, DistributionFinder, distribution, distributions

_ENTRY_POINTS = "entry_points.txt"
_ENDINGS = (".dist-info", ".egg-info")


def mentioning(text: str, path: Sequence[str] | None = None) -> Iterator[Distribution]:
    """The distributions whose entry points have ``text`` in them, in the order of the path.

    Args:
        text: ASCII.
        path: folders to search; None means ``sys.path``.
    """
    for entry in sys.path if path is None else path:
        names = _listed(entry)
        if names is None:
            yield from (d for d in distributions(path=[entry]) if text in _entry_points(d))
            continue
        for name in names:
            folder = os.path.join(entry, name)
            if text.encode() in _bytes(os.path.join(folder, _ENTRY_POINTS)):
                yield Distribution.at(folder)
    for found in _elsewhere(path):
        if text in _entry_points(found):
            yield found


def distribution_of(name: str) -> Distribution:
    """An installed distribution by its name.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    wanted = _normal(name)
    for entry in sys.path:
        names = _listed(entry)
        if names is None:  # it may be there, and comes before what follows
            break
        for folder in names:
            if _normal(folder.rpartition(".")[0].partition("-")[0]) == wanted:
                return Distribution.at(os.path.join(entry, folder))
    return distribution(name)


def _listed(entry: str) -> Sequence[str] | None:
    """The folders of metadata in a folder of the path; None for what is no plain folder."""
    folder = os.path.abspath(entry)  # "" is where the process is, which may change
    try:
        changed_ns = os.stat(folder).st_mtime_ns
        return None if folder.endswith(".egg") else _names(folder, changed_ns)
    except (FileNotFoundError, PermissionError):
        return ()
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=64)
def _names(folder: str, changed_ns: int) -> Sequence[str]:
    return [name for name in os.listdir(folder) if name.endswith(_ENDINGS)]


def _elsewhere(path: Sequence[str] | None) -> Iterator[Distribution]:
    """What finders other than that of the path know of."""
    context = DistributionFinder.Context()
    if path is not None:
        context = DistributionFinder.Context(path=list(path))
    for finder in sys.meta_path:
        find = getattr(finder, "find_distributions", None)
        if find is not None and finder is not PathFinder:
            yield from find(context)


def _entry_points(found: Distribution) -> str:
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


def _normal(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").lower()
