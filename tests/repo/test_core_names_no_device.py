"""Core knows devices by their tags; only the table of reserved numbers holds names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

NAMES = re.compile(r"cambricon|mlu|fakedevice|cuda", re.IGNORECASE)
TABLE = "RESERVED_TYPES"
PACKAGE = Path("core/src/headrace")


def table_lines(source: str) -> range:
    """The lines of the assignment to the table of reserved numbers."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == TABLE for target in targets):
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return range(0)


def mentions(package: Path) -> list[str]:
    """`file:line: text` of each place that names a device, outside the table and generated code."""
    found = []
    for path in sorted(package.rglob("*")):
        if not path.is_file() or path.suffix == ".pyc":
            continue
        name = path.relative_to(package).as_posix()
        if NAMES.search(name):
            found.append(f"{name}: the file's name")
        if re.fullmatch(r"proto/\w+_pb2\.pyi?", name):
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        allowed = table_lines(text) if name == "ids.py" else range(0)
        found += [
            f"{name}:{number}: {line.strip()}"
            for number, line in enumerate(text.splitlines(), 1)
            if NAMES.search(line) and number not in allowed
        ]
    return found


def test_core_names_no_device(root: Path) -> None:
    """A name in core is the first step to a branch on it."""
    assert mentions(root / PACKAGE) == []


def test_the_reserved_numbers_are_where_this_test_looks(root: Path) -> None:
    """If the table moves, the exception for it must move too."""
    text = (root / PACKAGE / "ids.py").read_text("utf-8")
    table = "\n".join(text.splitlines()[line - 1] for line in table_lines(text))
    assert all(name in table for name in ("cuda", "fakedevice", "cambricon"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("compiler/streams.py", "if tag == 'cuda':\n    pass\n", ["compiler/streams.py:1"]),
        ("ids.py", "X = 1\n# for FakeDevice\n", ["ids.py:2"]),
        ("ids.py", f"{TABLE}: dict = {{\n    'cuda': 2,\n}}\n", []),
        ("compiler/ids.py", f"{TABLE}: dict = {{\n    'cuda': 2,\n}}\n", ["compiler/ids.py:2"]),
        ("cli/templates/backend.txt", "like MLU\n", ["cli/templates/backend.txt:1"]),
        ("runtime/cuda_worker.py", "", ["runtime/cuda_worker.py"]),
        ("proto/plan_pb2.py", "cuda\n", []),
        ("proto/__init__.py", "cuda\n", ["proto/__init__.py:1"]),
    ],
)
def test_a_planted_name_is_found(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    """Everywhere but in the table and in generated code, in any case, in any kind of file."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    found = mentions(tmp_path)
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))
