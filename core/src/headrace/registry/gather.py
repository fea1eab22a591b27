"""Runs a plugin's code: imports its module, calls each hook once, lists what it answers.

Everything here may raise whatever the plugin raises; the loader stands around it.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import itertools
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pluggy

from headrace import hookspecs
from headrace.registry.discover import InstalledBackend
from headrace.registry.record import Phase, Refusal, State

MAX_RECORDS = 100_000
"""Answers of one hook; more is a generator that does not end."""

Answers = Mapping[str, tuple[object, ...]]
"""What each hook of a plugin returned, by hook name; hooks it does not implement are absent."""


def import_plugin(backend: InstalledBackend) -> object:
    """Return the object that holds the hook implementations of ``backend``."""
    if backend.implementation is not None:
        return backend.implementation
    return importlib.import_module(backend.module)


def gather(plugin: object, tag: str) -> Answers:
    """Call every hook that ``plugin`` implements and list each answer.

    Raises:
        Refusal: a hook has no specification, is required and absent, has parameters that pluggy
            would not fill, or answers with something that is no iterable.
        BaseException: what a hook raises, also half-way through its answer.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, tag)
    except pluggy.PluginValidationError as error:
        raise _invalid(" ".join(str(error).split())) from None
    implemented = manager.get_hookcallers(plugin) or []
    for caller in implemented:
        for implementation in caller.get_hookimpls():
            _check_implementation(caller, implementation)
    manager.check_pending()
    names = [caller.name for caller in implemented]
    for required in hookspecs.REQUIRED_HOOKS:
        if required not in names:
            raise _absent(plugin, required)
    return MappingProxyType({caller.name: _answer(caller) for caller in implemented})


def _check_implementation(caller: pluggy.HookCaller, implementation: pluggy.HookImpl) -> None:
    name = caller.name
    if not caller.has_spec():
        known = [hook for hook in vars(hookspecs) if hook.startswith(f"{hookspecs.PROJECT}_")]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"hooks are {', '.join(known)}"
        raise _invalid(f"it implements {name}, and no hook has that name; {hint}")
    if implementation.hookwrapper or implementation.wrapper:
        raise _invalid(f"its {name} is a wrapper; a backend answers for itself only")
    for parameter in inspect.signature(implementation.function).parameters.values():
        # pluggy passes nothing to these: the default would win over the caller's value, in silence.
        if (
            parameter.default is not parameter.empty
            or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD
        ):
            raise _invalid(
                f"parameter '{parameter}' of its {name} has a default or is keyword-only; "
                "core could not fill it"
            )


def _answer(caller: pluggy.HookCaller) -> tuple[object, ...]:
    answers = caller()
    if len(answers) < len(caller.get_hookimpls()):  # pluggy drops None
        raise _invalid(f"its {caller.name} returned None; return or yield records")
    records: list[object] = []
    for answer in answers:
        if not isinstance(answer, Iterable):
            raise _invalid(
                f"its {caller.name} returned {type(answer).__name__}, which is no iterable; "
                "return a tuple of records, or yield them"
            )
        records += itertools.islice(answer, MAX_RECORDS + 1)
    if len(records) > MAX_RECORDS:
        raise _invalid(f"its {caller.name} returned more than {MAX_RECORDS} records")
    return tuple(records)


def _absent(plugin: object, hook: str) -> Refusal:
    if inspect.isroutine(getattr(plugin, hook, None)):
        return _invalid(f"its {hook} is not marked with @hookimpl of headrace.hookspecs")
    return _invalid(f"it does not implement {hook}, which is required")


def _invalid(cause: str) -> Refusal:
    return Refusal(State.INVALID, Phase.HOOKS, cause)
