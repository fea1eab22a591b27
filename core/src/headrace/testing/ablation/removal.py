"""What can be taken away from a plugin: hooks, functions of records, methods behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from headrace.device import (
    Allocator,
    Buffer,
    Collective,
    Device,
    DeviceContext,
    Event,
    Kernel,
    StreamIndexGenerator,
)

Hooks = dict[str, Callable[[], Any]]

WAYS = ("left out", "absent")

# What a record's function makes, and the methods of it that the contract has. The key is where the
# function stands: hook and field.
METHODS: dict[tuple[str, str], tuple[type, tuple[str, ...]]] = {
    ("headrace_devices", "open"): (Device, ("close", "free_bytes")),
    ("headrace_allocators", "create"): (Allocator, ("allocate", "free", "recycle")),
    ("headrace_device_contexts", "create"): (
        DeviceContext,
        ("copy_h2d", "copy_d2h", "copy_d2d", "copy_peer", "synchronize", "record_event",
         "wait_event", "capture", "close", "host_synchronous"),
    ),
    ("headrace_kernels", "create"): (Kernel, ("launch", "bind", "workspace_bytes")),
    ("headrace_collectives", "create"): (Collective, ("bind",)),
    ("headrace_stream_index_generators", "create"): (
        StreamIndexGenerator,
        ("compute", "h2d", "d2h", "named"),
    ),
}  # fmt: skip

# What those objects make in turn. The key is the hook of the record whose objects make it.
MADE: dict[str, tuple[type, tuple[str, ...]]] = {
    "headrace_allocators": (Buffer, ("view",)),
    "headrace_device_contexts": (Event, ("synchronize", "is_reached")),
}

# Functions of records: set to something that cannot be called.
FIELDS: tuple[tuple[str, str], ...] = (
    ("headrace_devices", "count"),
    ("headrace_devices", "open"),
    ("headrace_allocators", "create"),
    ("headrace_allocators", "create_pinned"),
    ("headrace_kernels", "create"),
    ("headrace_kernels", "match"),
    ("headrace_device_contexts", "create"),
    ("headrace_collectives", "create"),
    ("headrace_collectives", "match"),
    ("headrace_stream_index_generators", "create"),
    ("headrace_ops", "compute"),
    ("headrace_passes", "rewrite"),
)

# Functions of records that may be None: left out as well.
OPTIONAL: tuple[tuple[str, str], ...] = (
    ("headrace_allocators", "create_pinned"),
    ("headrace_ops", "compute"),
)


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing taken away.

    Attributes:
        name: what, as its author knows it: ``headrace_kernels``, ``DeviceContext.copy_h2d``.
        way: ``left out``, ``absent``, or ``not callable`` for a record's function.
    """

    name: str
    way: str

    def __str__(self) -> str:
        return f"{self.name} ({self.way})"


def removals(plugin: object) -> tuple[Removal, ...]:
    """Everything that can be taken away from a plugin's module."""
    hooks = hooks_of(plugin)
    found = [Removal(name, "left out") for name in hooks]
    found += [Removal(f"{h}.{f}", "not callable") for h, f in FIELDS if h in hooks]
    found += [Removal(f"{h}.{f}", "left out") for h, f in OPTIONAL if h in hooks]
    for (hook, _), (base, names) in METHODS.items():
        if hook in hooks:
            found += [Removal(f"{base.__name__}.{n}", w) for n in names for w in WAYS]
    for base, names in MADE.values():
        found += [Removal(f"{base.__name__}.{n}", w) for n in names for w in WAYS]
    return tuple(found)


def hooks_of(plugin: object) -> Hooks:
    """The hooks that a plugin's module implements, by name."""
    return {
        name: value
        for name, value in vars(plugin).items()
        if name.startswith("headrace_") and callable(value) and not isinstance(value, ModuleType)
    }
