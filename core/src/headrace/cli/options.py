"""Options that several commands have."""

from __future__ import annotations

import click

device_option = click.option(
    "--device",
    envvar="HEADRACE_DEVICE",
    default="cpu",
    show_default=True,
    metavar="TAG[:N]",
    help="Where to run; `headrace devices` lists what there is.",
)

fallback_option = click.option(
    "--fallback",
    type=click.Choice(["error", "warn", "allow"]),
    help="What becomes of ops that the device cannot run: an error, or the host runs them. "
    "Default: HEADRACE_FALLBACK, or error.",
)
