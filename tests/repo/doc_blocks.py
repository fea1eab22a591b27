"""The fenced blocks of a Markdown page, for the tests that carry them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\S*)[ ]*([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: what follows the fence, and the line it opens on."""

    language: str
    note: str
    text: str
    line: int


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    """The blocks of ``page`` in order; with ``languages`` only those."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        language, note, body = match.groups()
        if not languages or language in languages:
            yield Block(language, note, body, text.count("\n", 0, match.start()) + 1)


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """(line, command, expected output) of each ``$`` line of a console block.

    A command goes on where its line ends with a backslash. What follows up to the next command is
    what it prints; nothing there means that it does not matter.
    """
    current: list[str] = []
    expected: list[str] = []
    start = 0
    for offset, line in enumerate(block.text.splitlines(), 1):
        if current and current[-1].endswith("\\") and not expected:
            current.append(line)
        elif line.startswith("$ "):
            if current:
                yield start, "\n".join(current), "\n".join(expected)
            current, expected, start = [line.removeprefix("$ ")], [], block.line + offset
        else:
            expected.append(line)
    if current:
        yield start, "\n".join(current), "\n".join(expected)
