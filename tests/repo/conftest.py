"""Rules about the repository itself. They read the checkout; a few need the built wheels."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def distributions() -> dict[str, dict[str, Any]]:
    """Folder -> its pyproject.toml, for every distribution of the repository."""
    folders = [
        ROOT / "core",
        *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")),
    ]
    return {
        folder.relative_to(ROOT).as_posix(): tomllib.loads(
            (folder / "pyproject.toml").read_text("utf-8")
        )
        for folder in folders
    }


@pytest.fixture(scope="session")
def settings() -> dict[str, Any]:
    """The root pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="session")
def wheel_folder() -> Path:
    """Where environment `wheels` put what it built; tox names it, and then it must be there."""
    named = os.environ.get("HEADRACE_WHEELS")
    folder = Path(named) if named else ROOT / ".tox/dist"
    if not named and not folder.is_dir():
        pytest.skip("no wheels were built; run `tox run -e wheels,repo`")
    return folder
