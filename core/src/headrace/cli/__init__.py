"""The command ``headrace``: one file for each subcommand.

A subcommand imports what it needs when it runs, so that ``headrace --help`` does not wait for it.
``group.py`` turns errors into one line and an exit code, ``feeds.py`` makes inputs of options,
``outputs.py`` shows and writes what a run gave, ``show.py`` prints tables. Nothing here computes:
whatever a command does can be done in Python.
"""

from __future__ import annotations

import click

from headrace.cli.bench import bench
from headrace.cli.cache import cache
from headrace.cli.compile import compile_model
from headrace.cli.demo import demo
from headrace.cli.devices import devices
from headrace.cli.doctor import doctor
from headrace.cli.explain import explain
from headrace.cli.group import ErrorGroup
from headrace.cli.lock import lock
from headrace.cli.new_backend import new_backend
from headrace.cli.plan import plan
from headrace.cli.run import run
from headrace.cli.trace import trace

__all__ = ["main"]


@click.group(cls=ErrorGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headrace", prog_name="headrace")
@click.option(
    "--traceback",
    is_flag=True,
    envvar="HEADRACE_TRACEBACK",
    help="Show where an error was raised, not only what it says.",
)
def main(traceback: bool) -> None:
    """Run deep-learning models on any device that a plugin brings."""


for _command in (
    devices,
    doctor,
    explain,
    lock,
    run,
    compile_model,
    plan,
    cache,
    trace,
    bench,
    demo,
    new_backend,
):
    main.add_command(_command)
