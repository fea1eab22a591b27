"""The folder in which headrace keeps what it can make or bring again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PLAN_CACHE = "HEADRACE_PLAN_CACHE"
"""The variable that says how many bytes of it plans may take; 0: no plans are kept."""


def cache_folder() -> Path:
    """The folder that the platform means for caches; ``HEADRACE_CACHE`` overrides it.

    Raises:
        RuntimeError: the user has no home.
    """
    given = os.environ.get("HEADRACE_CACHE")
    if given:
        return Path(given)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library/Caches/headrace"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "headrace/Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "headrace"
