"""Ablation: what becomes of a backend when one thing of it is taken away.

Each hook, each function of a record, and each method of the objects behind them is removed in turn,
in two ways: *left out*, so that the base class's default applies, and *absent*, so that there is
nothing at all. Then small programs run: two arrays are added, several times, through copies; two
streams wait for each other, two devices exchange what they have; everything is closed and opened
again. What may come of it is an error that names the missing thing before anything was computed, or
the documented default and right numbers. A wrong number, an error that does not say what is
missing, or one that comes when a launch was made already, is a gap in the contract.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from headrace.device import (
    Allocator,
    Buffer,
    Collective,
    Device,
    DeviceContext,
    Event,
    HostBuffer,
    Kernel,
    StreamIndexGenerator,
)
from headrace.errors import DeviceUnavailableError, PluginError, UnsupportedError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder, SbpHint
from headrace.hookspecs import hookimpl
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.registry.discover import InstalledBackend
from headrace.tensor_spec import TensorSpec
from headrace.testing.launches import CountingRegistry
from headrace.testing.opened import OpenedDevice

X = np.array([1, -2, 3.5, 0, 7, 9, -1, 4], np.float32)
SPEC = TensorSpec.of(X)

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

CLEAR = (PluginError, DeviceUnavailableError, UnsupportedError)
"""Errors that a missing thing may end in: they are about the plugin, or what it cannot do."""


class WrongNumbersError(Exception):
    """A device computed something else than it should."""


Hooks = dict[str, Callable[[], Any]]


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


@dataclass(frozen=True, slots=True)
class Ablated:
    """What came of a removal.

    Attributes:
        removal: what was taken away.
        outcome: ``refused`` (an error names it), ``default`` (right numbers), ``same`` (the backend
            never had it), ``wrong`` (numbers), ``unclear`` (an error that does not name it, or is
            none about the plugin), ``late`` (an error after the program launched something).
        detail: the error, or what was wrong.
    """

    removal: Removal
    outcome: str
    detail: str = ""

    @property
    def is_sound(self) -> bool:
        """True when nobody was misled."""
        return self.outcome in ("refused", "default", "same")


def removals(plugin: object) -> tuple[Removal, ...]:
    """Everything that can be taken away from a plugin's module."""
    hooks = _hooks(plugin)
    found = [Removal(name, "left out") for name in hooks]
    found += [Removal(f"{h}.{f}", "not callable") for h, f in FIELDS if h in hooks]
    found += [Removal(f"{h}.{f}", "left out") for h, f in OPTIONAL if h in hooks]
    for (hook, _), (base, names) in METHODS.items():
        if hook in hooks:
            found += [Removal(f"{base.__name__}.{n}", w) for n in names for w in _WAYS]
    for base, names in MADE.values():
        found += [Removal(f"{base.__name__}.{n}", w) for n in names for w in _WAYS]
    return tuple(found)


def ablate(
    tag: str, plugin: object, removal: Removal, installed: InstalledBackend | None = None
) -> Ablated:
    """Take ``removal`` away from ``plugin`` and see.

    Args:
        tag: the device tag of the plugin.
        plugin: its module; it stays as it is.
        removal: one of ``removals(plugin)``.
        installed: the metadata of its distribution, which errors name; None means a bare module.
    """
    hooks = _hooks(plugin)
    changed = _Removing(removal)
    for name in list(hooks):
        if removal == Removal(name, "left out"):
            del hooks[name]
            changed.took = True
        else:
            hooks[name] = changed.hook(name, hooks[name])
    module = SimpleNamespace(**{name: hookimpl(hook) for name, hook in hooks.items()})
    if installed is None:
        installed = InstalledBackend(tag, getattr(plugin, "__name__", type(plugin).__name__))
    registry = CountingRegistry(installed._replace(implementation=module))
    try:
        _programs(tag, registry)
    except WrongNumbersError as error:
        return Ablated(removal, "wrong", str(error))
    except Exception as error:  # noqa: BLE001 - which kind it is, is the question
        return Ablated(removal, *judge(removal, error, registry.launches))
    return Ablated(removal, "default" if changed.took else "same")


_WAYS = ("left out", "absent")


def judge(removal: Removal, error: BaseException, launches: int) -> tuple[str, str]:
    """What an error is worth to the author, and the error in a line.

    Args:
        removal: what was taken away. Its last word must stand in the message as a word: ``freed``
            names no ``free``.
        error: what came of it.
        launches: how many were made before.
    """
    texts = []
    seen: BaseException | None = error
    while seen is not None:
        texts.append(f"{type(seen).__name__}: {seen}")
        seen = seen.__cause__
    detail = " <- ".join(texts)
    word = removal.name.rpartition(".")[2]
    if not isinstance(error, CLEAR) or not re.search(rf"\b{re.escape(word)}\b", str(error)):
        return "unclear", detail
    if launches:
        return "late", f"after {launches} launches: {detail}"
    return "refused", detail


def _hooks(plugin: object) -> Hooks:
    return {
        name: value
        for name, value in vars(plugin).items()
        if name.startswith("headrace_") and callable(value) and not isinstance(value, ModuleType)
    }


class _Removing:
    """Wraps hooks so that what they lead to lacks one thing.

    Attributes:
        took: something was really taken away.
    """

    def __init__(self, removal: Removal) -> None:
        self._removal = removal
        self.took = False

    def hook(self, name: str, hook: Callable[[], Any]) -> Callable[[], Any]:
        def answer() -> Iterator[Any]:
            for record in hook():
                yield self._record(name, record)

        return answer

    def _record(self, hook: str, record: Any) -> Any:
        removal = self._removal
        for owner, field in FIELDS:
            if owner == hook and removal == Removal(f"{hook}.{field}", "not callable"):
                self.took = True
                return replace(record, **{field: "taken away"})
        for owner, field in OPTIONAL:
            if owner == hook and removal == Removal(f"{hook}.{field}", "left out"):
                self.took = getattr(record, field) is not None or self.took
                return replace(record, **{field: None})
        for (owner, field), (base, names) in METHODS.items():
            if owner != hook:
                continue
            for name in names:
                if removal.name == f"{base.__name__}.{name}":
                    create = getattr(record, field)
                    return replace(record, **{field: self._made_without(create, base, name)})
        if hook == "headrace_allocators" and removal.name == "Buffer.view":
            return replace(record, create=self._with_buffers(record.create))
        owner, _, name = removal.name.partition(".")
        if hook == "headrace_device_contexts" and owner == "Event":
            return replace(record, create=self._with_events(record.create, name))
        return record

    def _made_without(self, create: Any, base: type, name: str) -> Any:
        """``create``, or what it makes, without ``name``: a class stays a class."""
        if isinstance(create, type):
            return self._without(create, base, name)

        def made(*words: Any) -> Any:
            return self._strip(create(*words), base, name)

        return made

    def _strip(self, thing: Any, base: type, name: str) -> Any:
        kind = self._without(type(thing), base, name)
        if kind is not type(thing):
            thing.__class__ = kind
        return thing

    def _without(self, kind: type, base: type, name: str) -> type:
        """A subclass of ``kind`` that has the base's ``name``, or none."""
        if self._removal.way == "absent":
            self.took = True
            return _subclass(kind, name, _Absent())
        if getattr(kind, name, None) is getattr(base, name, None):
            return kind  # it never had one of its own
        self.took = True
        return _subclass(kind, name, vars(base)[name])

    def _with_buffers(self, create: Any) -> Any:
        def made(device: Device) -> Allocator:
            allocator = create(device)
            allocate = allocator.allocate

            def stripped(nbytes: int) -> Buffer:
                buffer: Buffer = allocate(nbytes)
                base = HostBuffer if isinstance(buffer, HostBuffer) else Buffer
                return self._strip(buffer, base, "view")  # type: ignore[no-any-return]

            allocator.allocate = stripped
            return allocator  # type: ignore[no-any-return]

        return made

    def _with_events(self, create: Any, name: str) -> Any:
        def made(device: Device, stream_index: int) -> DeviceContext:
            context = create(device, stream_index)
            if type(context).record_event is DeviceContext.record_event:
                return context  # type: ignore[no-any-return]  # its events are core's
            record = context.record_event

            def stripped() -> Event:
                return self._strip(record(), Event, name)  # type: ignore[no-any-return]

            context.record_event = stripped
            return context  # type: ignore[no-any-return]

        return made


def _subclass(kind: type, name: str, value: object) -> type:
    """``kind`` with another ``name``; messages call it as they call ``kind``."""
    body = {
        "__slots__": (),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        name: value,
    }
    return type(kind)(kind.__name__, (kind,), body)


class _Absent:
    """An attribute that is not there, although a base class has it."""

    def __get__(self, thing: object, kind: type) -> Any:
        raise AttributeError("taken away")


def _programs(tag: str, registry: CountingRegistry) -> None:
    """Use the device in every way that core does.

    Raises:
        WrongNumbersError: it computes something else.
    """
    several = (_several,) if registry.device_count(tag) > 1 else ()
    for program in (_job, _streams, *several) * 2:  # everything is closed and opened again
        registry.launches = 0
        program(tag, registry)


def _job(tag: str, registry: BackendRegistry) -> None:
    builder = JobGraphBuilder("ablation", Placement.of_device(tag))
    x = builder.input("x", SPEC)
    constant = builder.constant(np.full_like(X, 2))
    (y,) = builder.op("add", [x, constant])
    (z,) = builder.op("add", [y, y])
    builder.output("y", y)
    builder.output("z", z)
    with CompiledJob(builder.finish(), registry) as job:
        for shift in range(3):
            given = X + np.float32(shift)
            results = job.run({"x": given})
            _equal("a job", results["y"], given + 2)
            _equal("a job", results["z"], 2 * (given + 2))


def _several(tag: str, registry: BackendRegistry) -> None:
    """What two devices share out, give each other and reduce, if they have kernels for that."""
    kernels = registry.backend(tag).kernels
    if not all(kernels.entries(op) for op in ("add", "slice", "concat")):
        return
    builder = JobGraphBuilder("two devices", Placement.parse(tag, "0:0-1"))
    x = builder.input("x", SPEC)
    shares: list[Tensor] = []
    for wish in ("S(0)", "P"):
        (share,) = builder.op("add", [x, x], name=f"lies as {wish}")
        builder.hint(share, SbpHint.of(wish))
        shares.append(share)
    (y,) = builder.op("add", shares)
    builder.hint(y, SbpHint.of("B"))
    builder.output("y", y)
    with CompiledJob(builder.finish(), registry) as job:
        for shift in range(3):
            given = X + np.float32(shift)
            _equal("two devices", job.run({"x": given})["y"], 4 * given)


def _streams(tag: str, registry: BackendRegistry) -> None:
    with OpenedDevice(f"{tag}:0", registry) as opened:
        h2d, compute, d2h = opened.h2d(), opened.compute(), opened.d2h()
        x, y, z = (opened.allocate(SPEC.nbytes) for _ in range(3))
        source, result = opened.host_copy(X), opened.host(SPEC.nbytes)
        launches = [
            opened.bind(compute, "add", [(SPEC, x), (SPEC, x)], [y]),
            opened.bind(compute, "add", [(SPEC, y), (SPEC, x)], [z]),
        ]
        captured = compute.capture(launches)
        h2d.copy_h2d(x, source)
        loaded = h2d.record_event()
        compute.wait_event(loaded)
        captured()
        compute.copy_d2d(y, z)
        d2h.wait_event(compute.record_event())
        d2h.copy_d2h(result, y)
        d2h.synchronize()
        _equal("three streams", result.array(SPEC), 3 * X)
        h2d.copy_h2d(y, opened.host_copy(X + 1))
        h2d.record_event().synchronize()
        _equal("an event", opened.download(y, SPEC), X + 1)


def _equal(what: str, got: Any, want: Any) -> None:
    if not np.array_equal(got, want):
        raise WrongNumbersError(f"{what} gave {got.tolist()}, and should give {want.tolist()}")
