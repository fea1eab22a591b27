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
