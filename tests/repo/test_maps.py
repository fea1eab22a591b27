"""Every folder of sources has a map: the docstring of its package, or a README.md there or above.

A map names each file that is there, or says by which rule files are named ("one file for each
family"); and names none that is not there. A file of tests is found by its name alone. The map of
the top level is in README.md: nothing lies there that it does not name.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("core/src", "plugins/*/src", "plugins/*/csrc", "plugins/*/sim", "bench", "tests")
SUFFIXES = {".py", ".cpp", ".h", ".inc"}
FOUND_BY_NAME = re.compile(r"__\w+__|conftest|test_\w+")
RULE = re.compile(r"\bone\s+(?:file|module)\s+(?:a|per|each|for\s+each)\b", re.IGNORECASE)
QUOTED = re.compile(r"`([\w./-]+(?:\.(?:py|cpp|h|inc|json|md|txt|proto)|/))(?=[` ])")
EXPLAIN_THEMSELVES = {".clang-format", ".git", ".gitignore", "LICENSE", "README.md"}
NO_ROOMS = {"build", "templates", "proto", "__pycache__", "wheels", "golden"}


def rooms(root: Path) -> list[Path]:
    """The folders that hold sources."""
    found = set()
    for pattern in SOURCES:
        for top in root.glob(pattern):
            for path in top.rglob("*"):
                if path.suffix in SUFFIXES and not NO_ROOMS & set(path.relative_to(root).parts):
                    found.add(path.parent)
    return sorted(found)


def map_in(folder: Path) -> str:
    """The map that lies in a folder, or empty."""
    package, readme = folder / "__init__.py", folder / "README.md"
    if package.exists() and (text := ast.get_docstring(ast.parse(package.read_text("utf-8")))):
        return text
    return readme.read_text("utf-8") if readme.exists() else ""


def map_of(room: Path, root: Path) -> tuple[Path, str]:
    """Where the map of a room lies, and what it says: the nearest that is not silent about it."""
    for folder in (room, *room.parents):
        text = map_in(folder)
        if text and (folder == room or f"`{room.relative_to(folder).parts[0]}/`" in text):
            return folder, text
        if folder == root:
            break
    return room, ""


def faults(room: Path, root: Path) -> list[str]:
    """What is wrong with the map of a room."""
    folder, text = map_of(room, root)
    if not text:
        return ["it has no map"]
    above = [up for up in room.parents if up.is_relative_to(root)]
    gone = [
        name
        for name in QUOTED.findall(text)
        if not any((up / name).exists() for up in above) and not any(folder.rglob(name))
    ]
    words = set(re.findall(r"\w+", text))
    files = [] if RULE.search(text) else [p for p in room.iterdir() if p.suffix in SUFFIXES]
    unnamed = sorted(p.name for p in files if p.stem not in words)
    return [f"it names {name}, which is not there" for name in gone] + [
        f"it does not name {name}" for name in unnamed if not FOUND_BY_NAME.match(name)
    ]


def strays(root: Path) -> list[str]:
    """What lies at the top level, is not ignored, and is on no line of the map in README.md."""
    ignored = (root / ".gitignore").read_text("utf-8").split()
    rows = re.findall(r"^\| (`.*?) \|", (root / "README.md").read_text("utf-8"), re.MULTILINE)
    named = {Path(name).parts[0] for row in rows for name in re.findall("`([^`]+)`", row)}
    there = {path.name + "/" * path.is_dir() for path in root.iterdir()}
    kept = {name for name in there if not any(fnmatch(name, pattern) for pattern in ignored)}
    return sorted({name.rstrip("/") for name in kept} - named - EXPLAIN_THEMSELVES)


@pytest.mark.parametrize("room", rooms(ROOT), ids=lambda room: room.relative_to(ROOT).as_posix())
def test_the_map_is_true(room: Path) -> None:
    """A stranger who reads it knows where to look, and finds what it names."""
    assert faults(room, ROOT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["it has no map"]),
        ("``a.py`` first, then `b.py`.", ["it names b.py, which is not there"]),
        ("Nothing.", ["it does not name a.py"]),
        ("One file for each family.", []),
    ],
)
def test_a_wrong_map_is_found(tmp_path: Path, text: str, expected: list[str]) -> None:
    """What is not there, and what is not named; a test needs no name."""
    (tmp_path / "README.md").write_text(text, "utf-8")
    (tmp_path / "a.py").touch()
    (tmp_path / "test_a.py").touch()
    assert faults(tmp_path, tmp_path) == expected


def test_the_top_level_is_mapped() -> None:
    """What a tool left behind, or a folder that nobody explained, cannot land there."""
    assert strays(ROOT) == []


def test_what_a_tool_left_behind_is_found(tmp_path: Path) -> None:
    """A folder and a file that the map does not name; what is ignored need not be named."""
    (tmp_path / "README.md").write_text("| `core/`, `tests/a/` | sources |\n", "utf-8")
    (tmp_path / ".gitignore").write_text("# Builds\nbuild/\n*.log\n", "utf-8")
    for folder in ("core", "tests", "build", "left_info"):
        (tmp_path / folder).mkdir()
    for file in ("run.log", "left.tsv"):
        (tmp_path / file).touch()
    assert strays(tmp_path) == ["left.tsv", "left_info"]
