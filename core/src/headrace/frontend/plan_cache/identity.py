"""What a plan depends on besides the model: code, versions, devices, environment.

Of a device counts what its plugin says of it here, versions first of all, and nothing that the
compiler does not ask: how much memory there is decides whether a plan runs, not what is in it. What
the plugin lists, kernels and passes, is in its code; of what else lists may depend on, its versions
tell (``DeviceEntry.versions``), and so no list has to be made to find a plan.

What tells code apart is in ``installed_code.py``.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum

import numpy as np

from headrace.device import API_VERSION
from headrace.errors import DeviceUnavailableError
from headrace.frontend.plan_cache.installed_code import code_of
from headrace.registry.discover import version_of
from headrace.registry.record import State
from headrace.registry.registry import BackendRegistry, installed_version
from headrace.registry.screen import CORE

_FEATURES = ("flags", "Features", "isa")  # as /proc/cpuinfo calls them on x86, Arm, RISC-V
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KNOWN = frozenset({"headrace", "numpy"})
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

    It cannot for backends that are no installed package, and where ``code_of`` cannot tell.
    """
    records = [record for record in registry.records() if record.state in _USABLE]
    if any(not record.distribution for record in records):
        return None
    plugins = {(record.module.partition(".")[0], record.distribution) for record in records}
    code = code_of((("headrace", CORE), *sorted(plugins)))
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
            f"{name}={os.environ[name]}"
            for name in sorted(os.environ)
            if name.startswith("HEADRACE_") and name not in _WITHOUT_EFFECT
        ),
        code,
    ]
    return "\n".join(parts)


@functools.cache
def processor() -> str:
    """What the host's processor can do: kernels are chosen by it, and constants computed on it."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:  # gives whole processors
            first, _, _ = file.read(1 << 14).partition(b"\n\n")
    except OSError:
        return platform.processor()
    text = first.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.startswith(_FEATURES)]
    return " ".join(lines) or platform.processor()


def _needs(requirements: Iterable[str]) -> Iterator[str]:
    """The version of each package that plugins require; part of what they do may be in there."""
    lines = [line for line in requirements if "extra" not in line]
    names = {found[0] for line in lines if (found := _NAME.match(line))}
    for name in names - _KNOWN:
        yield f"{name} {version_of(name)}"


def _device(registry: BackendRegistry, tag: str) -> Iterator[str]:
    """What there is of a tag, and what its plugin says of its devices, as far as it can be told."""
    try:
        driver, count = registry.driver(tag), registry.device_count(tag)
    except DeviceUnavailableError as error:
        yield f"device {tag} {error.reason}"
        return
    yield f"{count} devices"
    for record in (driver.device, driver.allocator, driver.context, driver.streams):
        yield from (f"{f.name}={_shown(getattr(record, f.name))}" for f in fields(record))


def _shown(value: object) -> str:
    """A field of a record, without an address; of a function, that there is one."""
    if callable(value):
        return "a function"
    # To ask whether one of these is a mapping takes ten times as long.
    if isinstance(value, (str, int, Enum)):
        return repr(value)
    if isinstance(value, frozenset):
        value = sorted(value)
    elif isinstance(value, Mapping):
        value = sorted(value.items())
    return repr(value)
