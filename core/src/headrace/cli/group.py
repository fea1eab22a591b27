"""``ErrorGroup``: an error is one line on stderr and an exit code, not a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from headrace.cli.plain import escape
from headrace.errors import (
    DeviceUnavailableError,
    HeadraceError,
    InputError,
    InvalidModelError,
    PlacementError,
    Reason,
    SettingError,
)

BAD_INPUT = (InputError, InvalidModelError, PlacementError, SettingError)
"""Errors in what the user typed or handed over; as wrong options, they end with code 2."""

INTERRUPTED = 128 + 2
"""What shells report of a program that was ended by Ctrl-C: 128 plus the number of the signal."""


class CommandError(click.ClickException):
    """A message that is all the user needs: printed in red on one line, without usage."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code  # type: ignore[misc] # click declares it so, and reads it here

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line to ``file``, or to stderr; nothing in it commands the terminal."""
        click.secho(f"error: {escape(self.message)}", file=file or sys.stderr, fg="red")


class ErrorGroup(click.Group):
    """A command group that reports errors, wrong options and Ctrl-C as a shell user expects."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options that stand before the subcommand."""
        with _usage_in_one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        try:
            with _usage_in_one_line():
                result = super().invoke(ctx)
            sys.stdout.flush()  # a full disk is an error of this command, not of the interpreter
            return result
        except HeadraceError as error:
            if ctx.params.get("traceback"):
                raise
            raise CommandError(str(error), 2 if _is_bad_input(error) else 1) from error
        except OSError as error:
            if error.errno == errno.EPIPE or ctx.params.get("traceback"):
                raise  # click knows what to do when nobody reads any more
            if error.filename is None:
                _give_up_stdout()
            raise CommandError(_describe(error)) from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)


@contextlib.contextmanager
def _usage_in_one_line() -> Iterator[None]:
    """Say what is wrong with a command line as errors are said, and where to read on."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # the help itself
    except click.UsageError as error:
        message = error.format_message().removesuffix(".")
        where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        raise CommandError(message[:1].lower() + message[1:] + where, error.exit_code) from error


def _is_bad_input(error: HeadraceError) -> bool:
    if isinstance(error, DeviceUnavailableError):
        return error.reason in (Reason.NOT_INSTALLED, Reason.NO_SUCH_INDEX)
    return isinstance(error, BAD_INPUT)


def _give_up_stdout() -> None:
    """Let go what cannot be written: the interpreter would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else f"cannot write: {reason}"
