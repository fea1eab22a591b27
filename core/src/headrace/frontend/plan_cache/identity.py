"""What a plan depends on besides the model: code, versions, devices, environment.

Of a device counts all that its plugin registered here, which the compiler looks at, and nothing
that it does not ask: how much memory there is decides whether a plan runs, not what is in it.

Code is told apart by the names, sizes and times of its files, installed or edited in place: reading
all of it took longer than compiling a small model, versions do not change when somebody edits, and
the list of hashes that a wheel brings (RECORD) stays as it was then too. The time of change of an
inode cannot be set back, so a file that was replaced by one as long is noticed.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
import operator
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import numpy as np

import headrace
from headrace.device import API_VERSION, CollectiveEntry, KernelEntry
from headrace.digest import digest_of
from headrace.errors import DeviceUnavailableError
from headrace.registry.discover import version_of
from headrace.registry.names import name_of_match
from headrace.registry.record import State
from headrace.registry.registry import BackendRegistry, installed_version

_FEATURES = ("flags", "Features", "isa")  # as /proc/cpuinfo calls them on x86, Arm, RISC-V
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KNOWN = frozenset({"headrace", "numpy"})
# Parts of headrace that take no part in compiling; half of its files. The runtime runs what a plan
# says, which is the same whoever runs it.
_IDLE = frozenset(
    f"headrace/{name}"
    for name in ("bench", "cli", "doctor", "page", "runtime", "scaffold", "testing", "timeline")
)
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
        f"python {sys.version} {platform.machine()} {processor()}",
        f"numpy {np.__version__} ml_dtypes {version_of('ml_dtypes')}",
        *(f"plugin {r.tag} {r.module} {r.distribution} {r.version}" for r in records),
        *(f"needs {need}" for need in sorted(_needs(registry.requirements()))),
        *(line for tag in sorted(tags) for line in _device(registry, tag)),
        *(
            f"{name}={value}"
            for name, value in sorted(os.environ.items())
            if name.startswith("HEADRACE_") and name not in _WITHOUT_EFFECT
        ),
        code,
    ]
    return "\n".join(parts)


@functools.cache
def processor() -> str:
    """What the host's processor can do: kernels are chosen by it, and constants computed on it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first, _, _ = file.read(1 << 14).partition("\n\n")
    except OSError:
        return platform.processor()
    lines = [line for line in first.splitlines() if line.startswith(_FEATURES)]
    return " ".join(lines) or platform.processor()


def _needs(requirements: Iterable[str]) -> Iterator[str]:
    """The version of each package that plugins require; part of what they do may be in there."""
    lines = [line for line in requirements if "extra" not in line]
    names = {found[0] for line in lines if (found := _NAME.match(line))}
    for name in names - _KNOWN:
        yield f"{name} {version_of(name)}"


def _device(registry: BackendRegistry, tag: str) -> Iterator[str]:
    """What there is of a tag, and all that its plugin registered, as far as it can be told."""
    try:
        backend, count = registry.backend(tag), registry.device_count(tag)
    except DeviceUnavailableError as error:
        yield f"device {tag} {error.reason}"
        return
    yield f"{count} devices"
    for record in (backend.device, backend.allocator, backend.context, backend.streams):
        yield from (f"{f.name}={_shown(getattr(record, f.name))}" for f in fields(record))
    kernels, collectives = backend.kernels, backend.collectives
    matches: dict[int, str] = {}  # there are fewer than kernels, and what they say of themselves
    for op in kernels.ops():  # takes longer than the rest
        for kernel in kernels.entries(op):
            yield f"{op} {kernel.data_formats} {_entry(kernel, matches)}"
    for name in collectives.names():
        for collective in collectives.entries(name):
            yield f"{name} {_entry(collective, matches)}"
    yield f"ops {tag} {sorted(backend.ops)} passes {[entry.name for entry in backend.passes]}"


def _shown(value: object) -> str:
    """A field of a record, without an address; of a function, that there is one."""
    if callable(value):
        return "a function"
    if isinstance(value, frozenset):
        value = sorted(value)
    elif isinstance(value, Mapping):
        value = sorted(value.items())
    return repr(value)


def _entry(entry: KernelEntry | CollectiveEntry, matches: dict[int, str]) -> str:
    match = entry.match
    if id(match) not in matches:
        matches[id(match)] = name_of_match(match)
    return f"{entry.tag} {entry.priority} {matches[id(match)]}"


@functools.cache
def _code(packages: tuple[str, ...]) -> str | None:
    """A digest of the names, sizes and times of the packages' files, and of onnx's."""
    found: list[object] = []
    try:
        for package in packages:
            files = sorted(_files(package))
            # What is imported may be older than what is there.
            if max(max(map(_MODIFIED, files)), max(map(_CHANGED, files))) >= headrace.IMPORTED_NS:
                return None
            found.append((package, files))
        spec = importlib.util.find_spec("onnx")
        if spec is not None and spec.origin is not None:
            found.append(_stamp("onnx", os.stat(spec.origin)))
    except (ImportError, OSError, ValueError, _NoFilesError):
        return None
    return digest_of(marshal.dumps(found, _PLAIN)).hex()


_PLAIN = 2
"""The version of ``marshal`` that writes equal values alike; ``repr`` takes ten times as long."""


class _NoFilesError(Exception):
    """A package is in no plain files."""


_Stamp = tuple[str, int, int, int]
"""Name, size, and the times in nanoseconds at which a file and its inode were changed."""

_MODIFIED, _CHANGED = operator.itemgetter(2), operator.itemgetter(3)


def _files(package: str) -> list[_Stamp]:
    """Those of a package; of a top-level name, finding it runs nothing."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise _NoFilesError
    if not spec.submodule_search_locations:
        if spec.origin is None:
            raise _NoFilesError
        return [_stamp(Path(spec.origin).name, os.stat(spec.origin))]
    stamps: list[_Stamp] = []
    pending = [(folder, "") for folder in spec.submodule_search_locations]
    if not all(os.path.isdir(folder) for folder, _ in pending):
        raise _NoFilesError
    while pending:
        folder, inside = pending.pop()
        with _entries(folder) as entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir():
                    if name != "__pycache__" and f"{package}/{inside}{name}" not in _IDLE:
                        pending.append((os.path.join(folder, name), f"{inside}{name}/"))
                elif not name.endswith(".pyc"):
                    status = entry.stat()
                    stamps.append(
                        (inside + name, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                    )
    return stamps


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
