"""One removal, carried out: what came of it, and what that is worth to the author."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace

from headrace.errors import DeviceUnavailableError, PluginError, UnsupportedError
from headrace.hookspecs import hookimpl
from headrace.registry.discover import InstalledBackend
from headrace.testing.ablation.programs import WrongNumbersError, run_programs
from headrace.testing.ablation.removal import Removal, hooks_of
from headrace.testing.ablation.removing import Removing
from headrace.testing.launches import CountingRegistry

CLEAR = (PluginError, DeviceUnavailableError, UnsupportedError)
"""Errors that a missing thing may end in: they are about the plugin, or what it cannot do."""


@dataclass(frozen=True, slots=True)
class Ablated:
    """What came of a removal.

    Attributes:
        removal: what was taken away.
        outcome: ``refused`` (an error names it), ``default`` (right numbers), ``same`` (the backend
            never had it), ``wrong`` (numbers), ``unclear`` (an error that does not name it, or is
            none about the plugin), ``late`` (an error after the program launched something); of one
            that was tried in a child process also ``crash`` and ``hang``.
        detail: the error, or what was wrong.
    """

    removal: Removal
    outcome: str
    detail: str = ""

    @property
    def is_sound(self) -> bool:
        """True when nobody was misled."""
        return self.outcome in ("refused", "default", "same")


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
    hooks = hooks_of(plugin)
    changed = Removing(removal)
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
        run_programs(tag, registry)
    except WrongNumbersError as error:
        return Ablated(removal, "wrong", str(error))
    except Exception as error:  # noqa: BLE001 - which kind it is, is the question
        return Ablated(removal, *judge(removal, error, registry.launches))
    return Ablated(removal, "default" if changed.took else "same")


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
