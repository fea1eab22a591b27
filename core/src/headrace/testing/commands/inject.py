"""``python -m headrace.testing inject``: does a broken backend harm anybody else?"""

from __future__ import annotations

from collections.abc import Sequence

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[FAULT]...")
@click.option("--all", "everything", is_flag=True, help="Every fault of the catalogue.")
@click.option("--list", "listed", is_flag=True, help="Print the names of the faults.")
@click.option("--device", default="cpu", show_default=True, help="A device that works.")
@click.pass_context
def inject(
    ctx: click.Context, names: Sequence[str], everything: bool, listed: bool, device: str
) -> None:
    """Install broken backends beside the real ones, one at a time, in child processes.

    For each a job on another device must give the right answer, and `headrace doctor` must name the
    broken one. Nothing is installed for good. Ends with 1 when one of them did harm.
    """
    from headrace.cli.progress import waiting
    from headrace.cli.show import escape, print_table, printable
    from headrace.testing.faults import FAULTS
    from headrace.testing.faults import inject as inject_fault

    known = {fault.name: fault for fault in FAULTS}
    if listed:
        click.echo("\n".join(known))
        return
    unknown = [name for name in names if name not in known]
    if unknown or not (names or everything):
        wrong = f"no fault is called {', '.join(unknown)}; " if unknown else ""
        raise click.UsageError(f"{wrong}name faults or give --all; --list shows them")
    rows = []
    with waiting("injecting") as show:
        for name in known if everything else names:
            show(name)
            rows.append(inject_fault(known[name], device))
    print_table(
        ("fault", "found as", "phase", "harm"),
        [
            (
                row.fault.name,
                row.fault.state,
                row.fault.phase,
                printable("; ".join(row.complaints) or "none", "red" if row.complaints else ""),
            )
            for row in rows
        ],
    )
    harmful = sum(bool(row.complaints) for row in rows)
    click.echo(escape(f"{len(rows) - harmful} of {len(rows)} faults did no harm"))
    ctx.exit(1 if harmful else 0)
