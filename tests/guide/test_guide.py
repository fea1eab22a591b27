"""The guide for authors of backends does what it says, page by page and from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_blocks import Block, blocks
from workshop import Workshop

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
LISTED = re.compile(r"^\d+\. \[.*\]\((.*\.md)\)", re.MULTILINE)


def pages() -> list[Path]:
    """The pages in the order in which they are to be read."""
    return [GUIDE / name for name in LISTED.findall((GUIDE / "README.md").read_text("utf-8"))]


def test_every_page_is_listed() -> None:
    """A page that nobody is led to is a page that nobody carries out."""
    assert sorted(pages()) == sorted(set(GUIDE.glob("*.md")) - {GUIDE / "README.md"})


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    """A reader who carries out every block of every page in order sees what the pages show.

    One test, since a page goes on with what the one before it left.
    """
    workshop = Workshop(tmp_path, ROOT / "examples")
    for page in pages():
        for block in blocks(page):
            workshop.carry_out(block, page.name)


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
    workshop = Workshop(tmp_path, ROOT / "examples")
    with pytest.raises(AssertionError):
        workshop.carry_out(block, "page.md")


def test_a_block_that_holds_passes(tmp_path: Path) -> None:
    """A file is written, a command reads it, its output is compared up to white space and dots."""
    workshop = Workshop(tmp_path, ROOT / "examples")
    workshop.carry_out(Block("text", "file=a/b.txt", "one\ntwo\n", 1), "page.md")
    workshop.carry_out(
        Block("console", "exit=1", "$ cat a/b.txt\none\n...\n$ false\n", 1), "page.md"
    )
