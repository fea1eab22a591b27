"""Running a Python program whose jobs go to a device that it does not name."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path


def run_program(path: Path, device: str, args: Sequence[str]) -> None:
    """Run ``path`` as ``python path args...`` would, with ``device`` as the default device.

    Raises:
        PlacementError: ``device`` names no device.
        DeviceError: it cannot be used; found out before the program runs.
        BaseException: what the program raises.
    """
    from headrace.frontend.default_device import default_device, set_default_device
    from headrace.registry import default_registry

    set_default_device(device)
    default_registry().backend(default_device().tag)
    before = sys.argv, list(sys.path)
    sys.argv = [str(path), *args]
    sys.path.insert(0, str(path.resolve().parent))  # where `python path` looks first
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before
        set_default_device(None)
