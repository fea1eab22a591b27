"""The guide for authors of backends does what it says, page by page and from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_blocks import Block, blocks
from workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/guide").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    """A reader who carries out every block in order sees what the page shows."""
    workshop = Workshop(tmp_path, page, ROOT / "examples")
    for block in blocks(page):
        workshop.carry_out(block)


@pytest.mark.parametrize(
    "block",
    [
        Block("console", "", "$ echo one\ntwo\n", 1),
        Block("console", "", "$ false\n", 1),
        Block("console", "exit=1", "$ true\n", 1),
        Block("console", "", "no command\n", 1),
        Block("python", "", ">>> 1 + 1\n3\n", 1),
        Block("python", "", "raise SystemExit(3)\n", 1),
        Block("yaml", "", "a: b\n", 1),
    ],
    ids=["output", "failure", "success", "no-command", "example", "program", "language"],
)
def test_a_block_that_does_not_hold_is_found(block: Block, tmp_path: Path) -> None:
    """Each way in which a page can be wrong fails its test."""
    workshop = Workshop(tmp_path, Path("page.md"), ROOT / "examples")
    with pytest.raises(AssertionError):
        workshop.carry_out(block)


def test_a_block_that_holds_passes(tmp_path: Path) -> None:
    """A file is written, a command reads it, its output is compared up to white space and dots."""
    workshop = Workshop(tmp_path, Path("page.md"), ROOT / "examples")
    workshop.carry_out(Block("text", "file=a/b.txt", "one\ntwo\n", 1))
    workshop.carry_out(Block("console", "exit=1", "$ cat a/b.txt\none\n...\n$ false\n", 1))
