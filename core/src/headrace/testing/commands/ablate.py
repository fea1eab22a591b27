"""``python -m headrace.testing ablate``: can anything of a backend be missing in silence?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from headrace.testing.ablation import Ablated, Removal

LIMIT_SECONDS = 60.0
"""How long a child process may take for all that is left; a removal takes some milliseconds."""


@click.command()
@click.argument("tag")
@click.option("--child", "progress", hidden=True, type=click.Path(path_type=Path))
@click.option("--skip", hidden=True, type=int, default=0)
@click.pass_context
def ablate(ctx: click.Context, tag: str, progress: Path | None, skip: int) -> None:
    """Take away one thing of backend TAG at a time, and see who notices.

    Each hook, each function of a record and each method behind it is removed in a child process.
    Either an error names it before anything is computed, or the documented default gives right
    numbers. Exits with 1 if a number is wrong, if an error does not say what is missing or comes
    after a launch, or if the process crashes or hangs.
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
        _as_child(progress, (ablation.ablate(tag, plugin, r, installed) for r in wanted[skip:]))
    done = _in_children(tag, wanted)
    print_table(
        ("removed", "way", "outcome", "said"),
        [
            (
                each.removal.name,
                each.removal.way,
                printable(each.outcome, "" if each.is_sound else "red"),
                each.detail if len(each.detail) <= 160 else f"{each.detail[:157]}...",
            )
            for each in done
        ],
    )
    unsound = sum(not each.is_sound for each in done)
    click.echo(escape(f"{len(done) - unsound} of {len(done)} removals misled nobody"))
    ctx.exit(1 if unsound else 0)


def _as_child(progress: Path, done: Iterable[Ablated]) -> NoReturn:
    """Write each outcome to ``progress`` as soon as it is there, and end the process."""
    with progress.open("a", encoding="utf-8") as file:
        for each in done:
            file.write(json.dumps([each.outcome, each.detail]) + "\n")
            file.flush()
    # Threads that a method would have ended, which was taken away, would keep the process.
    os._exit(0)


def _in_children(tag: str, wanted: Sequence[Removal]) -> list[Ablated]:
    """What came of each removal; a child that ends early is followed by one for the rest."""
    from headrace.cli.progress import waiting
    from headrace.testing.ablation import Ablated

    done: list[Ablated] = []
    with tempfile.TemporaryDirectory(prefix="headrace-ablate-") as scratch, waiting("removing"):
        while len(done) < len(wanted):
            progress = Path(scratch) / f"from-{len(done)}"
            command = [sys.executable, "-m", "headrace.testing", "ablate", tag]
            command += ["--child", str(progress), "--skip", str(len(done))]
            try:
                ended = subprocess.run(
                    command, capture_output=True, timeout=LIMIT_SECONDS, check=False
                )
                fate = ("crash", f"the process ended with code {ended.returncode}")
            except subprocess.TimeoutExpired:
                fate = ("hang", f"no answer within {LIMIT_SECONDS:g} s")
            if progress.exists():
                for line in progress.read_text("utf-8").splitlines():
                    done.append(Ablated(wanted[len(done)], *json.loads(line)))
            if len(done) < len(wanted):
                done.append(Ablated(wanted[len(done)], *fate))
    return done
