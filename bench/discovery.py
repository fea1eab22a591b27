"""What finding the installed backends costs, against one bare look at all entry points.

    python bench/discovery.py [--distributions N]

Installs N made-up packages into a temporary folder, looks at that folder in both ways, one after
the other in turn, and prints medians, the 10th and 90th percentile, and what headrace adds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

import packaging.specifiers  # noqa: F401 - a look needs it, and has a path without it
from arguments import positive
from rich.console import Console
from rich.table import Table
from turns import Call, in_turn

from headrace.registry import BackendRegistry
from headrace.registry.discover import GROUP

ROUNDS = 30


def main() -> None:
    """One row for each share of backends among the packages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distributions", type=positive, default=500, metavar="N")
    count: int = parser.parse_args().distributions
    table = Table("packages", "backends", "entry_points(), ms", "headrace, ms", "added, ms")
    for backends in sorted({1, min(10, count), count}):
        with tempfile.TemporaryDirectory() as folder:
            install(Path(folder), count, backends)
            before, sys.path[:] = sys.path[:], [folder]  # nothing else is looked at
            try:
                looks: dict[str, Call] = {"bare": entry_points, "ours": partial(find, backends)}
                in_turn(looks, 1)  # a first look is not counted
                taken = in_turn(looks, ROUNDS)
            finally:
                sys.path[:] = before
        bare, ours = ([1e3 * each for each in taken[who]] for who in looks)
        added = statistics.median(ours) - statistics.median(bare)
        table.add_row(str(count), str(backends), spread(bare), spread(ours), f"{added:+.2f}")
    Console().print(table)


def install(folder: Path, count: int, backends: int) -> None:
    """Write the metadata of ``count`` packages; the first ``backends`` of them bring a device."""
    for number in range(count):
        info = folder / f"package_{number}-1.0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: package-{number}", "Version: 1.0"]
        lines += ["Requires-Dist: headrace>=0.1", "Summary: one of many", "", "text\n" * 50]
        (info / "METADATA").write_text("\n".join(lines), "utf-8")
        text = f"[console_scripts]\ntool{number} = package_{number}:main\n"
        if number < backends:
            text += f"\n[{GROUP}]\ndevice{number} = package_{number}.plugin\n"
        (info / "entry_points.txt").write_text(text, "utf-8")


def find(backends: int) -> None:
    """Ask a new registry, which knows nothing yet, for what is installed."""
    found = len(BackendRegistry().records())
    if found != backends:
        raise SystemExit(f"found {found} backends where {backends} are installed")


def spread(times: list[float]) -> str:
    """Median and, in brackets, the 10th and 90th percentile."""
    cuts = statistics.quantiles(times, n=10)
    return f"{statistics.median(times):.2f} ({cuts[0]:.2f} to {cuts[-1]:.2f})"


if __name__ == "__main__":
    main()
