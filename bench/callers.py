"""Calls a second when several threads call one model, against onnxruntime.

    python bench/callers.py MODEL.onnx ... [--shape x=1,3,64,64] [--callers 1,2,8,16] [--threads 1]

One session each, on `cpu`, with kernels on so many threads; each caller begins its next call when
one is over. The two take turns, a round of each for half a second; medians of the rounds. A model
that one of the two does not run is left out, which is said.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from arguments import model_file, named_shape, positive, positives
from peer import Shapes, feeds_of, peer_session, shape_of
from rich.console import Console
from rich.progress import track
from rich.table import Table
from turns import calls_a_second

import headrace as flow
import headrace_cpu

SECONDS = 0.5


def main() -> None:
    """One line for each model and number of callers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=model_file, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--shape", action="append", type=named_shape, default=[])
    parser.add_argument("--callers", type=positives, default="1,2,8,16")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=5)
    given = parser.parse_args()
    headrace_cpu.set_threads(given.threads)
    table = Table("model", "callers", "cpu, calls/s", "onnxruntime, calls/s", "cpu / onnxruntime")
    cases = [(path, callers) for path in given.models for callers in given.callers]
    for path, callers in track(cases, console=Console(stderr=True), description="calling"):
        try:
            calls = both(path, dict(given.shape), given.threads)
        except Exception as error:  # noqa: BLE001 - told
            Console().print(f"left out: {path.name}: {error}", markup=False)
            continue
        rates = [
            [calls_a_second(call, callers, SECONDS) for call in calls] for _ in range(given.rounds)
        ]
        ours, theirs = map(statistics.median, zip(*rates, strict=True))
        row = (f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
        table.add_row(path.name, str(callers), *row)
    Console().print(table)


def both(
    path: Path, shapes: Shapes, threads: int
) -> tuple[Callable[[], object], Callable[[], object]]:
    """A call of the model by headrace, and by onnxruntime; each was made once."""
    peer = peer_session(path, threads)
    feeds = feeds_of(peer, partial(shape_of, shapes))
    calls = partial(flow.onnx.load(path, "cpu").run, feeds), partial(peer.run, None, feeds)
    for call in calls:
        call()
    return calls


if __name__ == "__main__":
    main()
