"""``headrace demo``: a trained model that nobody here made, at work on files of the user."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headrace.cli.options import device_option

if TYPE_CHECKING:
    from headrace.cli.file_types import FileType, Unreadable

Results = Sequence[tuple[Path, "FileType | Unreadable"]]


@click.command()
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@device_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list, for programs.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the model is kept. Default: HEADRACE_CACHE, or the platform's cache folder.",
)
@click.pass_context
def demo(
    ctx: click.Context, files: Sequence[Path], device: str, as_json: bool, cache: Path | None
) -> None:
    """Say what type each FILE is, with the trained model of the package magika.

    The first run brings the package with `pip download` and keeps it. Answers and scores are those
    of magika's own tool.
    """
    from headrace.cli.fetch import fetch_wheel
    from headrace.cli.file_types import PACKAGE, RELEASE, FileTyper, Unreadable
    from headrace.frontend.cache_folder import cache_folder

    wheel = fetch_wheel(PACKAGE, RELEASE, cache or cache_folder())
    with FileTyper(wheel, device) as typer:
        results = list(zip(files, typer.identify(files), strict=True))
    if as_json:
        click.echo(json.dumps([{"path": str(p), **asdict(r)} for p, r in results], indent=2))
    else:
        _print(results)
    if any(isinstance(result, Unreadable) for _, result in results):
        ctx.exit(1)


def _print(results: Results) -> None:
    from headrace.cli.file_types import FileType
    from headrace.cli.show import print_table, printable

    rows = [
        (str(path), result.label, _description(result), f"{int(result.score * 100)}%")
        if isinstance(result, FileType)
        else (str(path), printable("error", "red"), result.reason, "-")
        for path, result in results
    ]
    print_table(("file", "type", "description", "score"), rows, right=("score",))


def _description(result: FileType) -> str:
    if not result.guess:
        return result.text
    # The way that magika's own tool says it, to the character.
    guess = f"[Low-confidence model best-guess: {result.guess}, score={result.score:.3f}]"
    return f"{result.text} {guess}"
