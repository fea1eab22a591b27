"""The page of environment variables lists those that the sources read, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.doctor.itself import VARIABLES

VARIABLE = re.compile(r"\bHEADRACE_[A-Z][A-Z_]*[A-Z]\b")
SOURCES = ("core/src", "plugins/*/src")
PAGES = ("docs/environment.md", "plugins/*/README.md")


def variables(root: Path, *patterns: str) -> set[str]:
    """Names in the files, and in the .py files of the folders, that the patterns find."""
    found: set[str] = set()
    for pattern in patterns:
        for place in root.glob(pattern):
            for file in [place] if place.is_file() else place.rglob("*.py"):
                found |= set(VARIABLE.findall(file.read_text("utf-8")))
    return found


def test_the_pages_list_every_variable_and_no_other(root: Path) -> None:
    """Core's are on docs/environment.md; a backend's own may be in its README."""
    read = variables(root, *SOURCES)

    assert read >= {"HEADRACE_BACKENDS", "HEADRACE_DISABLE"}
    assert variables(root, *PAGES) == read
    assert variables(root, "docs/environment.md") >= variables(root, "core/src")


def test_doctor_knows_every_variable_of_core(root: Path) -> None:
    """It tells a misspelt one by them."""
    sources = {file for file in (root / "core/src").rglob("*.py") if "testing" not in file.parts}
    assert set().union(*(variables(root, str(f.relative_to(root))) for f in sources)) == VARIABLES


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('os.environ.get("HEADRACE_NEW")', {"HEADRACE_NEW"}),
        ("``HEADRACE_A_B=1``", {"HEADRACE_A_B"}),
        ("HEADRACE_ headrace_devices XHEADRACE_NO", set()),
    ],
)
def test_a_planted_variable_is_found(tmp_path: Path, text: str, names: set[str]) -> None:
    """In code and in prose, and only whole names."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/module.py").write_text(text, "utf-8")

    assert variables(tmp_path, "src") == names
