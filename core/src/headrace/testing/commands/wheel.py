"""``python -m headrace.testing wheel``: is this wheel one that users can install?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="WHEEL|FOLDER...", type=click.Path(path_type=Path)
)
@click.pass_context
def wheel(ctx: click.Context, paths: Sequence[Path]) -> None:
    """Check the wheels of a backend: metadata, entry point, contents. Nothing is installed or run.

    Of a folder all wheels are checked. Ends with 1 when something is found.
    """
    from headrace.cli.group import CommandError
    from headrace.cli.show import escape
    from headrace.testing.wheels import check_wheel

    wheels = [w for p in paths for w in (sorted(p.glob("*.whl")) if p.is_dir() else [p])]
    if not wheels:
        raise CommandError(f"no wheel in {', '.join(map(str, paths))}", 2)
    sound = True
    for path in wheels:
        findings = check_wheel(path)
        sound = sound and not findings
        for finding in findings or ["sound"]:
            click.echo(escape(f"{path.name}: {finding}"))
    ctx.exit(0 if sound else 1)
