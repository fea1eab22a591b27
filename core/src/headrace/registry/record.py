"""``BackendRecord``: what is known of one installed backend, and how far it got."""

from __future__ import annotations

from enum import StrEnum

from headrace.errors import HeadraceError, PluginError
from headrace.light_dataclass import dataclass
from headrace.signals import let_handlers_through


class State(StrEnum):
    """How far a backend got. A closed set; ``FOUND`` and ``READY`` are the good ones."""

    FOUND = "found"
    """Installed; nothing speaks against it; nobody asked yet what it offers."""
    BLOCKED = "blocked"
    """Left out by the allow-list or the block-list."""
    INCOMPATIBLE = "incompatible"
    """Written for another version of headrace."""
    DUPLICATE = "duplicate"
    """Another distribution offers the same tag."""
    IMPORT_FAILED = "import-failed"
    """Its module raised while it was imported, a module that it needs is missing, or a variable
    that it reads has no value of its."""
    INVALID = "invalid"
    """It breaks the contract of ``headrace.hookspecs``."""
    NO_HARDWARE = "no-hardware"
    """It loaded, and there is no device for it here."""
    READY = "ready"
    """Loaded and checked; jobs may run on it."""


class Phase(StrEnum):
    """What the loader was doing when it decided on the state."""

    DISCOVER = "discover"
    """Reading installed metadata; no code of the plugin has run."""
    IMPORT = "import"
    """Importing the plugin's module."""
    HOOKS = "hooks"
    """Calling its hooks and checking the answers."""
    COUNT = "count"
    """Asking how many devices there are."""


@dataclass(frozen=True, slots=True)
class BackendRecord:
    """One entry point of group ``headrace.backends``.

    Attributes:
        tag: name of the entry point, which is the device tag.
        module: the module that it names.
        distribution, version: of the installed package; both empty for a module handed over
            directly.
        state: how far it got.
        phase: where that was decided.
        cause: why the state is not good; empty otherwise.
        hint: one command or action that helps; empty when the state is good.
    """

    tag: str
    module: str
    distribution: str = ""
    version: str = ""
    state: State = State.FOUND
    phase: Phase = Phase.DISCOVER
    cause: str = ""
    hint: str = ""

    @property
    def origin(self) -> str:
        """The package and its version, or the module where there is no package."""
        if not self.distribution:
            return f"module {self.module}"
        return f"{self.distribution} {self.version}".rstrip()

    def __str__(self) -> str:
        return f"{self.tag} ({self.origin}): {self.state}" + (f": {self.cause}" * bool(self.cause))


LONGEST_TEXT = 2000
"""Characters of a plugin's error that a record keeps; the exception itself stays whole."""


def describe(error: BaseException) -> str:
    """Type and text of what a plugin raised, in one line.

    Its ``__str__`` and ``__repr__`` are plugin code as well, and may raise, or call ``sys.exit``.
    """
    kind = type(error).__name__
    try:
        if isinstance(error, SystemExit):
            return f"it called sys.exit({error.code!r})"
        text = " ".join(str(error).split())
    except BaseException:  # noqa: BLE001 - whatever it is, the plugin raised `error` before
        return f"{kind}, whose text cannot be had"
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}..."
    return f"{kind}: {text}" if text else kind


RAISED = (Exception, SystemExit)
"""What is caught around code of a plugin and said of it. ``KeyboardInterrupt`` is the user's."""


def deed(error: BaseException) -> str:
    """``raised ValueError: boom``, to stand behind whatever of a plugin it came out of."""
    said = describe(error)
    return said.removeprefix("it ") if isinstance(error, SystemExit) else f"raised {said}"


def plugin_error(what: str, error: BaseException) -> PluginError:
    """What to say of ``error``, which a plugin raised in ``what``.

    Raises:
        HeadraceError: the error is one of headrace, which says it all itself.
        BaseException: a handler of a signal raised it.
    """
    let_handlers_through(error)
    if isinstance(error, HeadraceError):
        raise error
    return PluginError(f"{what} {deed(error)}")


def closer_look(tag: str) -> str:
    """The command that says more of a backend than the process that could not use it."""
    return f"headrace doctor {tag}"


class Refusal(Exception):
    """Why a backend is not served, while it is being loaded. Becomes part of its record."""

    def __init__(self, state: State, phase: Phase, cause: str, hint: str = "") -> None:
        super().__init__(cause)
        self.state = state
        self.phase = phase
        self.cause = cause
        self.hint = hint
