"""The device of jobs and models that name none."""

from __future__ import annotations

import os

from headrace.errors import PlacementError
from headrace.ids import HOST_TAG
from headrace.placement import Placement

VARIABLE = "HEADRACE_DEVICE"


class _Chosen:
    """What ``set_default_device`` said; holds for the whole process."""

    placement: Placement | None = None


def default_device() -> Placement:
    """Where ops run that no scope and no ``FunctionConfig`` places.

    What ``set_default_device`` said, else what ``HEADRACE_DEVICE`` says, else the host's first
    device.

    Raises:
        PlacementError: the variable names no device.

    Example:
        >>> print(default_device())
        cpu 0:0
    """
    if _Chosen.placement is not None:
        return _Chosen.placement
    named = os.environ.get(VARIABLE) or HOST_TAG
    try:
        return Placement.of_devices(named)
    except PlacementError as error:
        raise PlacementError(f"{VARIABLE}: {error}") from None


def set_default_device(device: str | None) -> None:
    """Let jobs and models that name no device run on ``device`` from now on.

    Jobs that were compiled before stay where they are.

    Args:
        device: ``TAG``, ``TAG:INDEX`` or ``TAG:FIRST-LAST``; None goes back to what
            ``HEADRACE_DEVICE`` says.

    Raises:
        PlacementError: ``device`` names no device.
    """
    _Chosen.placement = None if device is None else Placement.of_devices(device)
