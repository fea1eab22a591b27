"""No file and no function grows unnoticed, and no decision record over its page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = 500
FUNCTION_LIMIT = 50  # lines, without the docstring
PAGE_WORDS = 620  # of a page of this repository's width, tables and links included
FOLDERS = ("core", "plugins", "tests", "tools", "bench", "examples")
SUFFIXES = {".py", ".pyi", ".cpp", ".h"}
SKIPPED_PARTS = {"build", "dist", "__pycache__", ".mypy_cache", ".ruff_cache", "node_modules"}

EXCEPTIONS: dict[str, str] = {
    # path relative to the checkout: why one file is right
    "plugins/cpu/src/headrace_cpu/_native.pyi": "the stub of one extension module is one file",
}


def written_by_people(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            parts = set(path.relative_to(root).parts)
            generated = "_pb2" in path.name
            if path.suffix in SUFFIXES and not generated and not parts & SKIPPED_PARTS:
                yield path


def too_long(root: Path, limit: int = LIMIT) -> dict[str, int]:
    counts = {
        path.relative_to(root).as_posix(): path.read_text("utf-8").count("\n")
        for path in written_by_people(root)
    }
    return {name: count for name, count in counts.items() if count > limit}


def test_no_file_is_over_the_limit(root: Path) -> None:
    """Split a long file by idea, or list it with the reason why it is one."""
    assert {name: n for name, n in too_long(root).items() if name not in EXCEPTIONS} == {}


def long_functions(text: str, limit: int = FUNCTION_LIMIT) -> dict[str, int]:
    """The functions of a module that are over the limit, and their lines."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None
            body = node.body[1:] if documented and len(node.body) > 1 else node.body
            count = (node.end_lineno or 0) - body[0].lineno + 1
            if count > limit:
                found[node.name] = count
    return found


def test_no_function_is_over_the_limit(root: Path) -> None:
    """Who reads it has it before them as a whole."""
    sources = [path for path in written_by_people(root) if path.suffix == ".py"]
    found = {path: long_functions(path.read_text("utf-8")) for path in sources}
    assert sources and {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(("lines", "found"), [(50, {}), (51, {"long": 51})])
def test_the_limit_of_functions_is_exact(lines: int, found: dict[str, int]) -> None:
    """50 lines pass, 51 do not; the docstring and the arguments are not counted."""
    body = "    x = 1\n" * lines
    assert (
        long_functions(f'def long(\n    a,\n):\n    """Say.\n\n    It.\n    """\n{body}') == found
    )


def test_a_decision_record_is_one_page(root: Path) -> None:
    """Who decides something says why in as many words as somebody reads at once."""
    records = sorted((root / "docs/adr").glob("[0-9]*.md"))
    words = {record.name: len(record.read_text("utf-8").split()) for record in records}
    assert records and {name: n for name, n in words.items() if n > PAGE_WORDS} == {}


def test_no_exception_is_stale(root: Path) -> None:
    """An exception that is no longer needed hides the next one that is not."""
    assert EXCEPTIONS.keys() - too_long(root).keys() == set()


@pytest.mark.parametrize(("lines", "found"), [(500, []), (501, ["core/long.py"])])
def test_the_limit_is_exact(tmp_path: Path, lines: int, found: list[str]) -> None:
    """500 lines pass, 501 do not; generated code is not counted."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core/long.py").write_text("x = 1\n" * lines, "utf-8")
    (tmp_path / "core/plan_pb2.py").write_text("x = 1\n" * 900, "utf-8")
    assert list(too_long(tmp_path)) == found
