"""``headrace new-backend``: a package to start a backend from."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    metavar="DIR",
    help="Where to put the package's folder. Default: the current one.",
)
@click.option("--native", is_flag=True, help="With a kernel in C++, through pybind11.")
def new_backend(name: str, folder: Path, native: bool) -> None:
    """Write a package that brings a device called NAME.

    It installs and passes the core of the conformance suite as it is.
    """
    from headrace import scaffold
    from headrace.cli.show import escape

    target = scaffold.new_backend(name, folder, native=native)
    for path in sorted(path for path in target.rglob("*") if path.is_file()):
        click.echo(escape(str(path)))
    # A bare name is one that pip looks up in its index; with a separator it is the folder.
    place = str(target) if target.is_absolute() else os.path.join(os.curdir, target)
    click.echo(f"next: pip install {escape(shlex.quote(place))} && headrace doctor {name}")
