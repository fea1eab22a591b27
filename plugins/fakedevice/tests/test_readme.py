"""The examples of the README run, as written."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_of_the_readme_run() -> None:
    """Every ``>>>`` of it, in order."""
    path = Path(__file__).parents[1] / "README.md"
    assert doctest.testfile(str(path), module_relative=False) == (0, 6)
