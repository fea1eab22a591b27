"""``PluginHooks``: a plugin's code, run through one typed method for each hook.

pluggy's own calls are untyped, take a missing hook in silence and hand on whatever they get. Here
each answer is listed, so that a generator that raises does so where somebody stands ready, and its
records are checked for their type and tag. Everything may raise whatever the plugin raises; the
loader stands around it.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Iterable
from types import ModuleType
from typing import TypeVar

import pluggy

from headrace import hookspecs
from headrace.device import (
    AllocatorEntry,
    CollectiveEntry,
    ConformanceProfile,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    StreamIndexEntry,
)
from headrace.graph import OpEntry, PassEntry
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import Phase, Refusal, State

MAX_RECORDS = 100_000
"""Answers of one hook; more is a generator that does not end."""

_Record = TypeVar("_Record")


def import_plugin(backend: InstalledBackend) -> object:
    """Return the object that holds the hook implementations of ``backend``."""
    if backend.implementation is not None:
        return backend.implementation
    return importlib.import_module(backend.module)


class _Manager(pluggy.PluginManager):
    """Looks for hooks among the functions of a module.

    pluggy looks at whatever a module has, imports and all, as if it were a class that might compute
    what it is asked for: that took as long as importing a dozen modules.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, ModuleType) and not inspect.isroutine(vars(plugin).get(name)):
            return None
        return super().parse_hookimpl_opts(plugin, name)


class PluginHooks:
    """The hooks of one plugin. Each method calls its hook, and is called once."""

    def __init__(self, plugin: object, tag: str) -> None:
        """Look at the hooks that ``plugin`` implements; call none.

        Raises:
            Refusal: a hook has no specification, is required and absent, or has parameters that
                pluggy would not fill.
        """
        self._tag = tag
        manager = _Manager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        try:
            manager.register(plugin, tag)
        except pluggy.PluginValidationError as error:
            raise invalid(" ".join(str(error).split())) from None
        implemented = manager.get_hookcallers(plugin) or []
        for caller in implemented:
            for implementation in caller.get_hookimpls():
                _check_implementation(caller, implementation)
        manager.check_pending()
        self._callers = {caller.name: caller for caller in implemented}
        for required in hookspecs.REQUIRED_HOOKS:
            if required not in self._callers:
                raise _absent(plugin, required)

    def device(self) -> DeviceEntry:
        """The one record of ``headrace_devices``."""
        return self._one("headrace_devices", DeviceEntry)

    def allocator(self) -> AllocatorEntry:
        """The one record of ``headrace_allocators``."""
        return self._one("headrace_allocators", AllocatorEntry)

    def kernels(self) -> tuple[KernelEntry, ...]:
        """The records of ``headrace_kernels``."""
        return self._all("headrace_kernels", KernelEntry)

    def context(self) -> DeviceContextEntry | None:
        """The record of ``headrace_device_contexts``, if there is one."""
        return self._at_most_one("headrace_device_contexts", DeviceContextEntry)

    def streams(self) -> StreamIndexEntry | None:
        """The record of ``headrace_stream_index_generators``, if there is one."""
        return self._at_most_one("headrace_stream_index_generators", StreamIndexEntry)

    def profile(self) -> ConformanceProfile | None:
        """The record of ``headrace_conformance_profiles``, if there is one."""
        return self._at_most_one("headrace_conformance_profiles", ConformanceProfile)

    def ops(self) -> tuple[OpEntry, ...]:
        """The records of ``headrace_ops``."""
        return self._all("headrace_ops", OpEntry)

    def collectives(self) -> tuple[CollectiveEntry, ...]:
        """The records of ``headrace_collectives``."""
        return self._all("headrace_collectives", CollectiveEntry)

    def passes(self) -> tuple[PassEntry, ...]:
        """The records of ``headrace_passes``."""
        return self._all("headrace_passes", PassEntry)

    def _one(self, hook: str, kind: type[_Record]) -> _Record:
        found = self._all(hook, kind)
        if len(found) != 1:
            raise invalid(f"its {hook} returned {len(found)} records; it must return exactly one")
        return found[0]

    def _at_most_one(self, hook: str, kind: type[_Record]) -> _Record | None:
        found = self._all(hook, kind)
        if len(found) > 1:
            raise invalid(f"its {hook} returned {len(found)} records; at most one is allowed")
        return found[0] if found else None

    def _all(self, hook: str, kind: type[_Record]) -> tuple[_Record, ...]:
        found: list[_Record] = []
        for item in _answer(self._callers[hook]) if hook in self._callers else ():
            if not isinstance(item, kind):
                raise invalid(
                    f"its {hook} returned {item!r}; it must return {kind.__name__} records"
                )
            tag: object = getattr(item, "tag", None)
            if tag != self._tag:
                raise invalid(
                    f"its {hook} returned a {kind.__name__} for device {tag!r}; the entry point is "
                    f"named {self._tag!r}, and a backend answers for its own device only"
                )
            found.append(item)
        return tuple(found)


def _check_implementation(caller: pluggy.HookCaller, implementation: pluggy.HookImpl) -> None:
    name = caller.name
    if not caller.has_spec():
        known = [hook for hook in vars(hookspecs) if hook.startswith(f"{hookspecs.PROJECT}_")]
        from difflib import get_close_matches

        close = get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"hooks are {', '.join(known)}"
        raise invalid(f"it implements {name}, and no hook has that name; {hint}")
    if implementation.hookwrapper or implementation.wrapper:
        raise invalid(f"its {name} is a wrapper; a backend answers for itself only")
    for parameter in inspect.signature(implementation.function).parameters.values():
        # pluggy passes nothing to these: the default would win over the caller's value, in silence.
        if (
            parameter.default is not parameter.empty
            or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD
        ):
            raise invalid(
                f"parameter '{parameter}' of its {name} has a default or is keyword-only; "
                "core could not fill it"
            )


def _answer(caller: pluggy.HookCaller) -> tuple[object, ...]:
    answers = caller()
    if len(answers) < len(caller.get_hookimpls()):  # pluggy drops None
        raise invalid(f"its {caller.name} returned None; return or yield records")
    records: list[object] = []
    for answer in answers:
        if not isinstance(answer, Iterable):
            raise invalid(
                f"its {caller.name} returned {type(answer).__name__}, which is no iterable; "
                "return a tuple of records, or yield them"
            )
        records += itertools.islice(answer, MAX_RECORDS + 1)
    if len(records) > MAX_RECORDS:
        raise invalid(f"its {caller.name} returned more than {MAX_RECORDS} records")
    return tuple(records)


def _absent(plugin: object, hook: str) -> Refusal:
    if inspect.isroutine(getattr(plugin, hook, None)):
        return invalid(f"its {hook} is not marked with @hookimpl of headrace.hookspecs")
    return invalid(f"it does not implement {hook}, which is required")


def invalid(cause: str) -> Refusal:
    """The plugin breaks the contract of the hooks."""
    return Refusal(State.INVALID, Phase.HOOKS, cause)
