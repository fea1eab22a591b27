"""A plugin without one thing: its hooks are wrapped, and what they lead to lacks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from headrace.device import Allocator, Buffer, Device, DeviceContext, Event, HostBuffer
from headrace.testing.ablation.removal import FIELDS, METHODS, OPTIONAL, Removal


class Removing:
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
