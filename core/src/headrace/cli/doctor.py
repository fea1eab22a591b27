"""``headrace doctor``: what is wrong, found out without loading a plugin in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click


@click.command()
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, for programs.")
@click.option(
    "--timeout",
    "limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long a backend may take to show what it can. Default: 60.",
)
@click.option(
    "--clear",
    "cleared",
    multiple=True,
    metavar="TAG",
    help="Let a backend out of quarantine first.",
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

    Each is loaded in a child process and has to open its device, allocate, copy and add there; one
    that ends the process is put into quarantine. Ends with 0 when all are well, with 1 when a
    backend that no list of the user leaves out is not.
    """
    from headrace.cli.progress import waiting
    from headrace.doctor import DEFAULT_LIMIT_SECONDS, examine, schema
    from headrace.registry.quarantine import Quarantine, state_folder

    if as_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    quarantine = Quarantine(state_folder)
    for tag in cleared:
        if not quarantine.clear(tag) and not as_json:
            click.echo(f"{tag} is not in quarantine", err=True)
    with waiting("examining") as show:
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


def _print(document: Any) -> None:
    from headrace.cli.show import escape, print_table, printable

    core = document["headrace"]
    click.echo(escape(f"headrace {core['version']}, Python {core['python']}, {core['platform']}"))
    for fault in core["faults"]:
        click.echo(escape(f"fault: {fault}"))
    for note in core["notes"]:
        click.echo(escape(f"note: {note}"))
    for name, value in core["environment"].items():
        click.echo(escape(f"{name}={value}"))
    if not document["backends"]:
        click.echo("no backend is installed. Try: pip install headrace-cpu")
        return
    print_table(
        ("device", "package", "state", "phase", "details"),
        [
            (
                row["tag"],
                f"{row['distribution']} {row['version']}".strip() or "-",
                printable(row["state"], "green" if row["healthy"] else "red"),
                row["phase"],
                _details(row),
            )
            for row in document["backends"]
        ],
    )
    click.echo("healthy" if document["healthy"] else "sick")


def _details(row: Any) -> str:
    if not row["cause"]:
        many = "device" if row["devices"] == 1 else "devices"
        return f"{row['devices']} {many}; examined in {row['seconds']:.1f} s"
    return f"{row['cause']}. Try: {row['hint']}" if row["hint"] else str(row["cause"])
