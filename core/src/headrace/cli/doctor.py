"""``headrace doctor``: what is wrong, found out without loading a plugin in this process.

Of what headrace needs it uses click and packaging; the rest may be broken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from headrace.cli.group import CommandError

if TYPE_CHECKING:
    from headrace.registry.quarantine import Quarantine


@click.command()
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long a backend may take for all of it. Default: 60.",
)
@click.option(
    "--clear",
    "cleared",
    multiple=True,
    metavar="TAG",
    help="Release a backend from quarantine first.",
)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON schema of --json.")
@click.pass_context
def doctor(
    ctx: click.Context,
    tags: Sequence[str],
    as_json: bool,
    limit: float | None,
    cleared: Sequence[str],
    as_schema: bool,
) -> None:
    """Examine the installed backends, or those named TAG.

    Each is loaded in a child process, where it must open its device, allocate, copy and add; one
    that ends the process is quarantined. Exits with 0 if headrace and all of them work, and with 1
    if headrace or a backend that the user's lists do not exclude does not. A backend that finds no
    device on this machine counts only if it is named.
    """
    from headrace.cli.plain import changing_line
    from headrace.doctor import DEFAULT_LIMIT_SECONDS, examine, schema
    from headrace.registry.quarantine import Quarantine, state_folder

    if as_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    quarantine = Quarantine(state_folder)
    for tag in cleared:
        if not _clear(quarantine, tag) and not as_json:
            click.echo(f"{tag} is not in quarantine", err=True)
    with changing_line("examining") as show:
        document: Any = examine(
            tags,
            limit_seconds=limit or DEFAULT_LIMIT_SECONDS,
            quarantine=quarantine,
            progress=show,
        )
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        _print(document)
    ctx.exit(0 if document["healthy"] else 1)


def _clear(quarantine: Quarantine, tag: str) -> bool:
    try:
        return bool(quarantine.clear(tag))
    except OSError as error:
        raise CommandError(
            f"cannot let {tag} out of quarantine: {error.filename}: {error.strerror}. "
            f"Try: delete that file as a user who may"
        ) from error


def _print(document: Any) -> None:
    from headrace.cli.plain import escape, print_rows

    core = document["headrace"]
    click.echo(escape(f"headrace {core['version']}, Python {core['python']}, {core['platform']}"))
    for fault in core["faults"]:
        click.secho(escape(f"fault: {fault}"), fg="red")
    for note in core["notes"]:
        click.echo(escape(f"note: {note}"))
    for name, value in core["environment"].items():
        click.echo(escape(f"{name}={value}"))
    rows = document["backends"]
    if rows:
        print_rows(
            ("device", "package", "state", "phase", "details"),
            [
                (
                    row["tag"],
                    f"{row['distribution']} {row['version']}".strip() or "-",
                    row["state"],
                    row["phase"],
                    _details(row),
                )
                for row in rows
            ],
            {2: [_colour(row) for row in rows]},
        )
    else:
        click.echo("no backend is installed. Try: pip install headrace-cpu")
    click.echo("healthy" if document["healthy"] else "sick")


def _colour(row: Any) -> str:
    if row["state"] == "ready":
        return "green"
    return "yellow" if row["healthy"] else "red"


def _details(row: Any) -> str:
    if not row["cause"]:
        many = "device" if row["devices"] == 1 else "devices"
        return f"{row['devices']} {many}; examined in {row['seconds']:.1f} s"
    return f"{row['cause']}. Try: {row['hint']}" if row["hint"] else str(row["cause"])
