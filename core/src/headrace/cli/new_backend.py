"""``headrace new-backend``: a package to start a backend from."""

from __future__ import annotations

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
    click.echo(f"next: pip install {escape(str(target))} && headrace doctor {name}")
