"""Options that several commands have."""

from __future__ import annotations

import os
from pathlib import Path

import click


class OutputFile(click.Path):
    """A file to be written, in a folder that is there: asked before the work, not after it."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """As ``click.Path``."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"there is no folder {str(path.parent)!r} to write it into", param, ctx)
        return path


device_option = click.option(
    "--device",
    envvar="HEADRACE_DEVICE",
    default="cpu",
    show_default=True,
    metavar="TAG[:N[-M]]",
    help="Where to run; `headrace devices` lists what there is. Devices N to M share the batch.",
)

fallback_option = click.option(
    "--fallback",
    type=click.Choice(["error", "warn", "allow"]),
    help="What becomes of ops that the device cannot run: an error, or the host runs them. "
    "Default: HEADRACE_FALLBACK, or error.",
)
