"""What can go wrong with the vendor's libraries, as errors of headrace."""

from __future__ import annotations

from headrace.errors import DeviceError, OutOfMemoryError


class LibraryError(DeviceError):
    """The vendor's libraries cannot be used: says which file, or which function of it."""


class CambriconError(DeviceError):
    """A call of the vendor's libraries failed.

    Attributes:
        call: the function.
        status: what it returned; its meaning depends on the era, and is in the message.
        kind: ``out-of-memory``, ``no-device``, ``unsupported`` or ``other``.
        part: which launch of a captured sequence it belongs to; -1 outside of one.
    """

    call = ""
    status = 0
    kind = "other"
    part = -1


class CambriconOutOfMemoryError(CambriconError, OutOfMemoryError):
    """A call failed because the device, or the host, has not enough memory."""


def call_error(message: str, call: str, status: int, kind: str, part: int) -> CambriconError:
    """The error for a call that failed; the extension calls this."""
    error = (CambriconOutOfMemoryError if kind == "out-of-memory" else CambriconError)(message)
    error.call, error.status, error.kind, error.part = call, status, kind, part
    return error
