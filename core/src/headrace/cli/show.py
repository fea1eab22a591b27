"""Tables and text for terminals and for pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.cli.plain import escape

__all__ = ["console", "error_console", "escape", "print_table", "printable"]

PIPE_WIDTH = 240
"""Columns where the output is no terminal: wide, so that programs find whole rows."""


def console() -> Console:
    """Where results are printed: stdout as it is now."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)


def error_console() -> Console:
    """Where progress is shown: stderr, so that results can be piped."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()
) -> None:
    """Print rows under headings; cells are shown as plain text, whatever they hold.

    Args:
        columns: the headings.
        rows: one cell for each column.
        right: headings of columns that are aligned to the right.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else printable(cell) for cell in row))
    console().print(table)


def printable(value: object, style: str = "") -> Text:
    """``value`` as text for a table, with ``escape`` applied."""
    return Text(escape(str(value)), style=style)
