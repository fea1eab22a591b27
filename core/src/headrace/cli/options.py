"""Options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    help="What happens to ops that the device cannot run: an error, or the host runs them. "
    "Default: HEADRACE_FALLBACK, or error.",
)


def random_inputs_option(default: int | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--random-inputs``, as parameter ``seed``; without a default, all inputs must be given."""
    return click.option(
        "--random-inputs",
        "seed",
        type=click.IntRange(min=0),
        default=default,
        show_default=default is not None,
        metavar="SEED",
        help="Random values, the same for the same SEED, for the inputs that --input does not "
        "give.",
    )
