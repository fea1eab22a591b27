"""What a plan depends on besides the model: code, versions, environment.

Code is told apart by the names, sizes and times of its files, installed or edited in place: reading
all of it took longer than compiling a small model, versions do not change when somebody edits, and
the list of hashes that a wheel brings (RECORD) stays as it was then too. The time of change of an
inode cannot be set back, so a file that was replaced by one as long is noticed.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np

import headrace
from headrace.device import API_VERSION
from headrace.registry.record import State
from headrace.registry.registry import BackendRegistry, installed_version

_USABLE = (State.FOUND, State.READY, State.NO_HARDWARE)

# Variables of headrace that change no plan, or are part of keys by themselves.
_WITHOUT_EFFECT = frozenset(
    f"HEADRACE_{name}"
    for name in (
        "CACHE", "DEVICE", "FALLBACK", "LOCK", "MEMORY_LIMIT", "PLAN_CACHE", "STATE", "STRICT",
        "TRACEBACK",
    )
)  # fmt: skip


def identity_of(registry: BackendRegistry, tags: Iterable[str]) -> str | None:
    """A text that differs when plans for devices ``tags`` may; None when that cannot be told.

    It cannot for backends that are no installed package, for code that is in no plain files, and
    when a file was changed after this process imported it.

    Raises:
        DeviceUnavailableError: the device cannot be had.
    """
    records = [record for record in registry.records() if record.state in _USABLE]
    if any(not record.distribution for record in records):
        return None
    packages = ("headrace", *sorted({record.module.partition(".")[0] for record in records}))
    code = _code(packages)
    if code is None:
        return None
    parts = [
        f"core {installed_version()} api {API_VERSION}",
        f"python {sys.version} {platform.machine()}",
        f"numpy {np.__version__} ml_dtypes {ml_dtypes.__version__}",
        *(f"plugin {r.tag} {r.module} {r.distribution} {r.version}" for r in records),
        *(f"driver {t} {_drivers(registry, t)}" for t in sorted(tags)),
        *(
            f"{name}={value}"
            for name, value in sorted(os.environ.items())
            if name.startswith("HEADRACE_") and name not in _WITHOUT_EFFECT
        ),
        code,
    ]
    return "\n".join(parts)


def _drivers(registry: BackendRegistry, tag: str) -> list[tuple[str, str]]:
    usable = any(r.tag == tag and r.state in _USABLE for r in registry.records())
    return sorted(registry.backend(tag).device.versions.items()) if usable else []


@functools.cache
def _code(packages: tuple[str, ...]) -> str | None:
    """A digest of the names, sizes and times of the packages' files, and of onnx's."""
    digest = hashlib.sha256()
    try:
        for package in packages:
            newest = 0
            for name, size, changed in sorted(_files(package)):
                digest.update(f"{package}/{name} {size} {changed}\n".encode())
                newest = max(newest, *changed)
            # What is imported may then be older than what is there.
            if newest >= headrace.IMPORTED_NS:
                return None
        spec = importlib.util.find_spec("onnx")
        if spec is not None and spec.origin is not None:
            digest.update(f"onnx {_stamp(os.stat(spec.origin))}".encode())
    except (ImportError, OSError, ValueError, _NoFilesError):
        return None
    return digest.hexdigest()


class _NoFilesError(Exception):
    """A package is in no plain files."""


def _files(package: str) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Name, size and times of each file of a package; of a top-level name, finding runs nothing."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise _NoFilesError
    if not spec.submodule_search_locations:
        if spec.origin is None:
            raise _NoFilesError
        yield (Path(spec.origin).name, *_stamp(os.stat(spec.origin)))
        return
    pending = [(folder, "") for folder in spec.submodule_search_locations]
    while pending:
        folder, inside = pending.pop()
        if not inside and not os.path.isdir(folder):
            raise _NoFilesError
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        pending.append((entry.path, f"{inside}{entry.name}/"))
                elif not entry.name.endswith(".pyc"):
                    yield (inside + entry.name, *_stamp(entry.stat()))


def _stamp(status: os.stat_result) -> tuple[int, tuple[int, int]]:
    return status.st_size, (status.st_mtime_ns, status.st_ctime_ns)
