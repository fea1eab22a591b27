"""``python -m headrace.testing ablate``: can anything of a backend be missing in silence?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

LIMIT_SECONDS = 60.0
"""How long one removal may take; each takes some milliseconds."""


@click.command()
@click.argument("tag")
@click.option("--child", "progress", hidden=True, type=click.Path(path_type=Path))
@click.option("--skip", hidden=True, type=int, default=0)
@click.pass_context
def ablate(ctx: click.Context, tag: str, progress: Path | None, skip: int) -> None:
    """Take away one thing of backend TAG at a time, and see who notices.

    Each hook, each function of a record and each method behind it is removed in a child process.
    Either an error names it before anything is computed, or the documented default gives right
    numbers. Ends with 1 when a number is wrong, an error does not say what is missing, or the
    process crashes or hangs, or an error comes after a launch.
    """
    from importlib import import_module

    from headrace.cli.show import escape, print_table, printable
    from headrace.registry import default_registry
    from headrace.registry.discover import discover
    from headrace.testing import ablation

    default_registry().backend(tag)  # it must work as it is
    (record,) = [r for r in default_registry().records() if r.tag == tag and r.state == "ready"]
    plugin = import_module(record.module)
    (installed,) = [b for b in discover() if (b.tag, b.distribution) == (tag, record.distribution)]
    wanted = ablation.removals(plugin)
    if progress is not None:
        with progress.open("a", encoding="utf-8") as file:
            for removal in wanted[skip:]:
                done = ablation.ablate(tag, plugin, removal, installed)
                file.write(json.dumps([done.outcome, done.detail]) + "\n")
                file.flush()
        # Threads that a method would have ended, which was taken away, would keep the process.
        os._exit(0)
    results = _in_children(tag, len(wanted))
    print_table(
        ("removed", "way", "outcome", "said"),
        [
            (
                removal.name,
                removal.way,
                printable(outcome, "" if sound(outcome) else "red"),
                detail if len(detail) <= 160 else f"{detail[:157]}...",
            )
            for removal, (outcome, detail) in zip(wanted, results, strict=True)
        ],
    )
    unsound = sum(not sound(outcome) for outcome, _ in results)
    click.echo(escape(f"{len(results) - unsound} of {len(results)} removals misled nobody"))
    ctx.exit(1 if unsound else 0)


def sound(outcome: str) -> bool:
    """True for an outcome that misleads nobody."""
    return outcome in ("refused", "default", "same")


def _in_children(tag: str, count: int) -> list[tuple[str, str]]:
    """The outcome of each removal; a child that ends early is followed by one for the rest."""
    from headrace.cli.progress import waiting

    results: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="headrace-ablate-") as scratch, waiting("removing"):
        while len(results) < count:
            progress = Path(scratch) / f"from-{len(results)}"
            command = [sys.executable, "-m", "headrace.testing", "ablate", tag]
            command += ["--child", str(progress), "--skip", str(len(results))]
            try:
                ended = subprocess.run(
                    command, capture_output=True, timeout=LIMIT_SECONDS, check=False
                )
                fate = ("crash", f"the process ended with code {ended.returncode}")
            except subprocess.TimeoutExpired:
                fate = ("hang", f"no answer within {LIMIT_SECONDS:g} s")
            if progress.exists():
                for line in progress.read_text("utf-8").splitlines():
                    outcome, detail = json.loads(line)
                    results.append((outcome, detail))
            if len(results) < count:
                results.append(fate)
    return results
