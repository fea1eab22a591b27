"""Every exception that headrace raises on purpose: one class per thing a caller can act on.

Messages say what happened, with which values, where, and what to do next. They start in lower
case. ``HeadraceError`` is the root; catching it catches nothing that headrace did not mean.
"""

from __future__ import annotations


class HeadraceError(Exception):
    """Root of all errors of headrace."""


# --- devices and plugins ---------------------------------------------------------------------


class DeviceError(HeadraceError):
    """A device that was asked for cannot be used."""


class UnknownDeviceError(DeviceError):
    """No installed plugin offers the tag, or the device index does not exist."""


class PluginError(DeviceError):
    """A plugin is installed but blocked, broken, incompatible, or breaks its contract."""


class OutOfMemoryError(DeviceError):
    """A device or the host could not give the memory that was asked for."""


class ResourceLimitError(DeviceError):
    """A job would need more memory than the stated limit; nothing was allocated."""


# --- what the user wrote ---------------------------------------------------------------------


class PlacementError(HeadraceError, ValueError):
    """A placement text is malformed or a placement cannot be used here."""


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


class GraphError(HeadraceError, ValueError):
    """A graph is not well formed: undefined tensor, duplicate name, cycle."""


class JobError(HeadraceError, ValueError):
    """A job function is not usable: annotations, name, or what it returns."""


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
    """

    def __init__(self, message: str, *, op: str = "", task: str = "", device: str = "") -> None:
        super().__init__(message)
        self.op = op
        self.task = task
        self.device = device


class LaunchError(HeadraceError, RuntimeError):
    """Launch ``index`` of a captured sequence raised ``__cause__``. The runtime names the op."""

    def __init__(self, index: int) -> None:
        super().__init__(f"launch {index} of a captured sequence failed")
        self.index = index


class SessionError(HeadraceError, RuntimeError):
    """A session or job was used when it no longer can be: closed, or in a forked process."""


class ProtocolError(HeadraceError, RuntimeError):
    """An actor received an event that its state does not allow: a bug in headrace or a plan."""
