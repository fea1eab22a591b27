"""Tables and progress with nothing but click, for the command that must work when rich does not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click


def print_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], colours: Mapping[int, Sequence[str]]
) -> None:
    """Print rows under headings, as wide as their cells; the last column is as long as it is.

    Args:
        columns: the headings.
        rows: one cell for each column.
        colours: by number of a column, a colour for each of its rows.
    """
    lines = [list(columns), *([escape(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns) - 1)]
    for number, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)]
        for column, of_rows in colours.items():
            if number:
                cells[column] = click.style(cells[column], fg=of_rows[number - 1])
        click.echo("  ".join(cells).rstrip())
        if not number:
            click.echo("  ".join("-" * len(cell) for cell in cells))


@contextmanager
def changing_line(title: str) -> Iterator[Callable[[str], None]]:
    """One line on stderr while the block runs; the function it gives says what it is about.

    Where stderr is no terminal, nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    clear = "\r\x1b[2K"
    try:
        yield lambda what: click.echo(f"{clear}{title} {escape(what)}", err=True, nl=False)
    finally:
        click.echo(clear, err=True, nl=False)


def escape(text: str) -> str:
    r"""``text`` with characters that a terminal would obey, or could not show, written out.

    Names come out of model files and file systems, and may hold anything.

    Example:
        >>> escape("a" + chr(27) + "[2J")
        'a\\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
