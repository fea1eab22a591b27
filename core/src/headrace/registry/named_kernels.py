"""Kernels by name: a plan that was kept says what makes each of its kernels.

Selecting a kernel takes the whole list of a plugin, and so the import of all that is in it; a plan
runs a handful. So what was selected when the plan was compiled is kept by the module and the name
that lead to it, with what it was given in advance if it is a ``functools.partial``. Such a name is
good for the very code that gave it, which is what plans are found by: of nothing that is not in the
plugin's own package, or in headrace, there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from headrace.device import KernelEntry
from headrace.errors import PlanError
from headrace.ids import KernelName
from headrace.registry import check_classes as rules
from headrace.registry.record import RAISED, deed
from headrace.signals import let_handlers_through


class NamedKernels:
    """The kernels of one plugin, for those who know their names. May be used from any thread."""

    def __init__(
        self, tag: str, module: str, guarded: Callable[[KernelEntry], KernelEntry]
    ) -> None:
        """Take the plugin's tag and module, and what looks at the kernels that entries make."""
        self._tag = tag
        self._module = module
        self._guarded = guarded
        self._found: dict[tuple[str, KernelName], KernelEntry] = {}

    def seen_by(self, look: Callable[[KernelEntry], KernelEntry]) -> NamedKernels:
        """The same kernels, each entry as ``look`` hands it on."""
        return NamedKernels(self._tag, self._module, lambda entry: look(self._guarded(entry)))

    def name_of(self, entry: KernelEntry) -> KernelName | None:
        """What leads to the kernels of ``entry``, one of the plugin's; None when nothing does."""
        return self._name(getattr(entry.create, "__wrapped__", entry.create))

    def entry(self, op: str, name: KernelName) -> KernelEntry:
        """The entry whose kernels are called ``name``; it matches whatever it matched.

        Raises:
            PlanError: there is nothing of that name that makes kernels.
        """
        key = op, name
        entry = self._found.get(key)
        if entry is None:
            entry = self._found[key] = self._guarded(KernelEntry(self._tag, op, self._made(name)))
        return entry

    def _name(self, create: object) -> KernelName | None:
        given: Mapping[str, Any] = {}
        if isinstance(create, partial):
            if create.args:
                return None
            given, create = create.keywords, create.func
        names = {key: self._name(value) for key, value in given.items()}
        module, name = getattr(create, "__module__", None), getattr(create, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        if not self._covers(module) or None in names.values():
            return None
        if _reached(sys.modules.get(module), name) is not create:
            return None
        return module, name, tuple((key, found) for key, found in names.items() if found)

    def _made(self, name: KernelName) -> Callable[..., Any]:
        module, path, given = name
        try:
            if not self._covers(module):
                raise PlanError("it is not the plugin's")
            create = _reached(import_module(module), path)
        except RAISED as error:
            let_handlers_through(error)
            raise PlanError(self._cannot(name, deed(error))) from error
        fault = rules.fault_of_kernel(create) if isinstance(create, type) else ""
        if not callable(create) or fault:
            raise PlanError(self._cannot(name, fault or "is not there"))
        if not given:
            return create
        return partial(create, **{key: self._made(value) for key, value in given})

    def _covers(self, module: str) -> bool:
        """True for a module of the plugin's package, or of headrace."""
        return module.partition(".")[0] in ("headrace", self._module.partition(".")[0])

    def _cannot(self, name: KernelName, why: str) -> str:
        return f"kernel {name[0]}.{name[1]} of device {self._tag!r} {why}; compile again"


def _reached(module: object, path: str) -> object:
    found = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
