"""Every exception that headrace raises on purpose: one class per thing a caller can act on.

Messages say what happened, with which values, where, and what to do next. They start in lower
case. ``HeadraceError`` is the root; catching it catches nothing that headrace did not mean.
"""

from __future__ import annotations

from enum import StrEnum


class HeadraceError(Exception):
    """Root of all errors of headrace. They reach other processes, by ``pickle``, as they are."""

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[HeadraceError], args: tuple[object, ...]) -> HeadraceError:
    """An error without a call of ``__init__``, which may take more than it hands to ``args``."""
    return kind.__new__(kind, *args)


# --- devices and plugins ---------------------------------------------------------------------


class DeviceError(HeadraceError):
    """A device that was asked for cannot be used."""


class Reason(StrEnum):
    """Why a device cannot be had. A closed set: a program may branch on it."""

    NOT_INSTALLED = "not-installed"
    """No installed plugin offers the tag."""
    NO_SUCH_INDEX = "no-such-index"
    """The plugin works, and has fewer devices than that."""
    LOADING = "loading"
    """The plugin asks for its own device while it is being loaded."""
    BLOCKED = "blocked"
    """The plugin is left out: by a list of the user, by the lock, or because it crashed."""
    INCOMPATIBLE = "incompatible"
    """The plugin was written for another version of headrace."""
    DUPLICATE = "duplicate"
    """Two distributions offer the tag."""
    IMPORT_FAILED = "import-failed"
    """The plugin's module raised while it was imported, or a variable that it reads is wrong."""
    INVALID = "invalid"
    """The plugin breaks its contract."""
    NO_HARDWARE = "no-hardware"
    """The plugin works, and finds no device on this machine."""


class DeviceUnavailableError(DeviceError):
    """A device that was asked for cannot be had. It is never replaced by another one.

    Attributes:
        tag: the device tag that was asked for.
        reason: why, from a closed set.
        distribution, version: of the plugin; empty when none is installed.
        entry_point: of the plugin, as ``tag = module``; empty when none is installed.
        phase: what was being done with the plugin: discover, import, hooks, count.
        cause: the reason in the plugin's own case; empty when the reason says it all.
        hint: one command or action that helps; may be empty.
    """

    def __init__(
        self,
        message: str,
        *,
        tag: str,
        reason: Reason,
        distribution: str = "",
        version: str = "",
        entry_point: str = "",
        phase: str = "",
        cause: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.tag = tag
        self.reason = reason
        self.distribution = distribution
        self.version = version
        self.entry_point = entry_point
        self.phase = phase
        self.cause = cause
        self.hint = hint


class PluginError(DeviceError):
    """A loaded plugin breaks its contract; the message names the plugin and what it did."""


class OutOfMemoryError(DeviceError):
    """A device or the host could not give the memory that was asked for."""


class ResourceLimitError(DeviceError):
    """A job would need more memory than the stated limit; nothing was allocated."""


# --- what the user wrote ---------------------------------------------------------------------


class SettingError(HeadraceError, ValueError):
    """A variable of the environment has a value that it cannot have. Plugins may raise it as well.

    Attributes:
        variable: its name.

    Example:
        >>> print(SettingError("HEADRACE_VERIFY", "maybe", "0 or 1"))
        HEADRACE_VERIFY is 'maybe'; it must be 0 or 1
    """

    def __init__(self, variable: str, value: str, allowed: str) -> None:
        super().__init__(variable, value, allowed)
        self.variable = variable

    def __str__(self) -> str:
        variable, value, allowed = self.args
        return f"{variable} is {value!r}; it must be {allowed}"


class PlacementError(HeadraceError, ValueError):
    """A placement text is malformed or a placement cannot be used here."""


class SbpError(HeadraceError, ValueError):
    """A distribution is malformed, contradicts another, or is nothing that the op can do."""


class OpError(HeadraceError, ValueError):
    """An op was applied to something it does not take: attribute, shape, rank, or dtype."""


class UnknownOpError(OpError):
    """No op of this name is registered."""


class ShapeError(OpError):
    """Shapes do not fit the op."""


class DTypeError(OpError, TypeError):
    """Dtypes do not fit the op, or a dtype is not known."""


class UnsupportedError(HeadraceError, NotImplementedError):
    """Right in itself, but this device or this version cannot do it. Names the nearest thing."""


class FallbackWarning(UserWarning):
    """An op runs on the host's device, since its own device cannot run it and the user allowed it.

    The message names the op, both devices and the reason.
    """


class GraphError(HeadraceError, ValueError):
    """A graph is not well formed: undefined tensor, duplicate name, cycle."""


class JobError(HeadraceError, ValueError):
    """A job function is not usable: annotations, name, or what it returns."""


class VariableError(HeadraceError, ValueError):
    """A variable cannot be as it was asked for, or two jobs ask for it in two ways.

    The message names the variable, who asked, and both sides.
    """


class CheckpointError(HeadraceError, ValueError):
    """Stored values of variables cannot be used, or not be stored. Names the variable and file."""


class InputError(HeadraceError, ValueError):
    """An array handed to a job or model has the wrong name, number, dtype, rank, or shape."""


# --- models ----------------------------------------------------------------------------------


class ModelError(HeadraceError):
    """A model file cannot be used. The message names the file, the node and the reason."""


class InvalidModelError(ModelError, ValueError):
    """The file is not a model, is truncated, or contradicts itself."""


class UnsupportedModelError(ModelError, NotImplementedError):
    """The model is valid but holds an op, opset, dtype or value that headrace does not run."""


# --- plans and runs --------------------------------------------------------------------------


class PlanError(HeadraceError, ValueError):
    """A plan is corrupt, from another version, or names devices that are not here."""


class RunError(HeadraceError, RuntimeError):
    """A run stopped. ``op``, ``task`` and ``device`` say where; ``__cause__`` says why.

    The session that raised it stays usable: the next call starts from a clean state.

    Attributes:
        transitions: what the actor that failed was told last and asked for, the oldest first; for
            a bug report. Empty when no actor was at work.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str = "",
        task: str = "",
        device: str = "",
        transitions: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.op = op
        self.task = task
        self.device = device
        self.transitions = transitions


class LaunchError(HeadraceError, RuntimeError):
    """Launch ``index`` of a captured sequence raised ``__cause__``. The runtime names the op."""

    def __init__(self, index: int) -> None:
        super().__init__(f"launch {index} of a captured sequence failed")
        self.index = index


class BenchError(HeadraceError, RuntimeError):
    """A measurement cannot be made: what is compared with is missing, or does not run the model."""


class SessionError(HeadraceError, RuntimeError):
    """A session or job was used when it no longer can be: closed, or in a forked process."""


class ProtocolError(HeadraceError, RuntimeError):
    """An actor received an event that its state does not allow: a bug in headrace or a plan."""
