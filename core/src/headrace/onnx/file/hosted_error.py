"""What tells that a model has values that are no tensors of numbers."""

from __future__ import annotations

from headrace.errors import UnsupportedModelError


class HostedValuesError(UnsupportedModelError):
    """A device has no such values; the host may.

    Reaches a user, as what it is made of, where the model cannot be cut.
    """
