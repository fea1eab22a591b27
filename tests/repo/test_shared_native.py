"""Native text that several packages have is one text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEMPLATE = "core/src/headrace/scaffold/templates/native/csrc/without_python.h.in"
NAMESPACE = re.compile(r"^(?:namespace|}  // namespace) (\S+)", re.MULTILINE)


@pytest.mark.parametrize("plugin", ["cpu", "cambricon"])
def test_plugins_give_the_gil_up_as_the_scaffold_does(root: Path, plugin: str) -> None:
    """No package builds with another's headers, so each has a copy: equal but for its namespace."""
    text = (root / "plugins" / plugin / "csrc/without_python.h").read_text("utf-8")
    opened, closed = NAMESPACE.findall(text)
    assert opened == closed
    assert text == (root / TEMPLATE).read_text("utf-8").replace("@NAMESPACE@", opened)
    # pybind11's own guard is nowhere beside it.
    folder = root / "plugins" / plugin / "csrc"
    for source in (*folder.rglob("*.cpp"), *folder.rglob("*.h")):
        assert "gil_scoped_release" not in source.read_text("utf-8"), source
