"""``headrace lock``: write down which plugins may run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The lock. Default: HEADRACE_LOCK, or headrace.lock in the current folder.",
)
@click.option("--check", is_flag=True, help="Compare with the lock instead of writing it.")
@click.pass_context
def lock(ctx: click.Context, file: Path | None, check: bool) -> None:
    """Write the installed plugins, their versions and the hashes of their files to a lock.

    With HEADRACE_STRICT=1 no plugin runs that is not in it, or that changed. No plugin is imported.
    --check ends with 1 when a plugin that may run differs from the lock, or one that the lock lists
    is not installed.
    """
    from headrace.cli.show import escape
    from headrace.registry import State
    from headrace.registry.discover import discover
    from headrace.registry.lock import drift_of, gone, lock_file, lock_of, read_lock, write_lock
    from headrace.registry.registry import installed_version
    from headrace.registry.screen import Choice, screen

    path = file or lock_file()
    installed = discover()
    records = screen(installed, Choice.of(), installed_version())
    may_run = [b for b, r in zip(installed, records, strict=True) if r.state is State.FOUND]
    if not check:
        write_lock(map(lock_of, may_run), path)
    absent = gone(read_lock(path), installed)
    drifted = bool(absent)
    for backend in may_run:
        drift = drift_of(backend, path)
        drifted = drifted or bool(drift)
        what = f"{backend.tag}: {backend.distribution} {backend.version}"
        click.echo(escape(f"{what}: {drift}" if drift else what))
    for plugin in absent:
        what = f"{plugin.tag}: {plugin.distribution} {plugin.version}"
        click.echo(escape(f"{what}: {path} lists it, and it is not installed"))
    if not check:
        click.echo(escape(f"{len(may_run)} plugins may run; written to {path}"))
    ctx.exit(1 if drifted else 0)
