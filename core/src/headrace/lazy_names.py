"""``lazy_names``: the names of a package, each imported when it is first used.

A process that runs a plan which was kept needs few of the modules of headrace; importing the others
took longer than making the plan ready. So packages whose parts are not all needed at once say here
where their names are, and again, for type checkers, as imports under ``TYPE_CHECKING``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: its name.
        homes: modules to the names that are found there, separated by spaces.
        modules: names of modules to their full names.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        value: object
        if name in home_of:
            value = getattr(import_module(home_of[name]), name)
        elif name in modules:
            value = import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # the next use finds it without asking here
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *modules})

    return find, names
