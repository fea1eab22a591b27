"""``python -m headrace.testing``: what the author of a backend runs besides the suite."""

from __future__ import annotations

import click

from headrace.cli.group import ErrorGroup
from headrace.testing.commands.ablate import ablate
from headrace.testing.commands.inject import inject
from headrace.testing.commands.wheel import wheel


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Tools for authors of backends."""


for _command in (ablate, inject, wheel):
    main.add_command(_command)

if __name__ == "__main__":
    main(prog_name="python -m headrace.testing")
