"""``headrace demo`` names the types of real files, on the device under test.

The package with the model comes from the cache, or, the first time, by ``pip download``.
"""

from __future__ import annotations

import json
import struct
import sysconfig
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headrace.cli import main

MARKDOWN = """# Rivers

A headrace is the channel that brings water to the wheel.

- the **weir** holds the water
- the *gate* lets it in

| part | length |
| --- | --- |
| weir | 12 |

```python
print("water")
```

See [the mill](https://example.org/mill).
"""


def png() -> bytes:
    """A picture of 8 times 8 pixels, all red."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + b"\xff\0\0" * 8 for _ in range(8))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def demo(device: str) -> Callable[..., Result]:
    """Runs ``headrace demo`` on the device under test."""
    return lambda *words: CliRunner().invoke(main, ["demo", "--device", device, *map(str, words)])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Files whose type is known, by that type."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rivers.md", MARKDOWN * 20)
    contents = {
        "markdown": ("a.md", MARKDOWN.encode()),
        "png": ("a.png", png()),
        "empty": ("nothing", b""),
        "txt": ("spaces", b" \n" * 4000 + b"water"),
        "unknown": ("few", b"\xff\xfe\xfd"),
    }
    paths = {"zip": tmp_path / "a.zip", "directory": tmp_path}
    paths["python"] = Path(sysconfig.get_paths()["stdlib"]) / "textwrap.py"
    for label, (name, content) in contents.items():
        paths[label] = tmp_path / name
        paths[label].write_bytes(content)
    return paths


def test_types_of_known_files(demo: Callable[..., Result], files: dict[str, Path]) -> None:
    """Trained answers for four kinds of file, and the rules for those that no model sees."""
    result = demo("--json", *files.values())

    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    assert [row["label"] for row in rows] == list(files)
    seen = {row["label"]: row["score"] for row in rows}
    assert all(seen[label] > 0.9 for label in ("markdown", "png", "zip", "python"))
    assert all(seen[label] == 1 for label in ("empty", "directory", "txt", "unknown"))


def test_the_table_is_for_people(demo: Callable[..., Result], files: dict[str, Path]) -> None:
    """Name, type, description and score, one line for each file in the order given."""
    result = demo(files["python"], files["png"])
    heading, _, *rows = result.stdout.splitlines()

    assert result.exit_code == 0, result.output
    assert heading.split() == ["file", "type", "description", "score"]
    assert [row.split()[1] for row in rows] == ["python", "png"]
    assert "Python source (code)" in rows[0]
    assert all(row.endswith("%") for row in rows)


def test_a_file_that_is_not_there_is_a_row_and_a_code(
    demo: Callable[..., Result], files: dict[str, Path]
) -> None:
    """The others are answered all the same."""
    result = demo("--json", files["png"], files["png"].with_name("absent"))

    rows = json.loads(result.stdout)
    assert result.exit_code == 1
    assert rows[0]["label"] == "png"
    assert rows[1]["reason"] == "there is no such file"


def test_a_guess_that_is_not_sure_enough_is_named(
    demo: Callable[..., Result], tmp_path: Path
) -> None:
    """A text that is little of anything is given as text, with what the model leaned to."""
    path = tmp_path / "greeting"
    path.write_bytes(b"hello\r\n" * 300)
    result = demo("--json", path)
    (row,) = json.loads(result.stdout)

    assert (row["label"], row["score"] < 0.95, bool(row["guess"])) == ("txt", True, True)
    assert f"[Low-confidence model best-guess: {row['guess']}, score=" in demo(path).stdout
