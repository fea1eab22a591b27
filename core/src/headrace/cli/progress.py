"""What is going on, on stderr: bars that follow steps or what pip reports, a line that changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TransferSpeedColumn,
)

from headrace.cli.show import error_console, escape

_REPORT = re.compile(r"Progress (\d+) of (\d+)\s*\Z")


@contextmanager
def waiting(title: str) -> Iterator[Callable[[str], None]]:
    """A spinning line while the block runs; the function it gives says what is being waited for.

    Where stderr is no terminal, nothing is shown.
    """
    console = error_console()
    if not console.is_terminal:
        yield lambda what: None
        return
    with console.status(title) as status:
        yield lambda what: status.update(f"{title} {escape(what)}")


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar of ``total`` steps while the block runs; the function it gives makes a step.

    Where stderr is no terminal, nothing is shown.
    """
    console = error_console()
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    with progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


class Bar:
    """A bar of bytes; it pulses as long as nobody says how many there are. A context manager.

    Where stderr is no terminal, one line says what is going on.
    """

    def __init__(self, title: str) -> None:
        console = error_console()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._title = title
        self._task = self._progress.add_task(title, total=None)

    def follow(self, line: str) -> None:
        """Move the bar if ``line`` of pip's output reports progress."""
        report = _REPORT.match(line)
        if report:
            done, total = int(report[1]), int(report[2])
            self._progress.update(self._task, completed=done, total=total or None)

    def __enter__(self) -> Bar:
        if self._progress.disable:
            click.echo(self._title, err=True)
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()
