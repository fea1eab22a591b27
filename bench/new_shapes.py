"""What a call takes with inputs of a shape that the model has not met, against onnxruntime.

    python bench/new_shapes.py [MODEL.onnx --dim sequence=16:1 --dim batch=1] [--rounds 12]

Every round feeds another shape: a dimension of the model, by its name, is FIRST, and STEP more in
each round after. Integers that are fed are ones. Without a model it is a decoder (`decoder.py`)
whose cache of keys and values grows by one token in each round. One thread on either side.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from arguments import model_file, positive
from decoder import decoder
from peer import Dims as Declared
from peer import feeds_of, peer_session
from rich.console import Console
from rich.table import Table

os.environ["HEADRACE_CPU_THREADS"] = "1"

CACHE = {"batch": (1, 0), "steps": (1, 0), "past": (16, 1), "total": (17, 1)}

Dims = Mapping[str, tuple[int, int]]


def main() -> None:
    """A line for the first call with each shape, and one for the second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", type=model_file)
    parser.add_argument("--dim", type=dimension, action="append", default=[])
    parser.add_argument("--rounds", type=positive, default=12)
    given = parser.parse_args()
    if given.model is not None:
        show(given.model, dict(given.dim), given.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "decoder.onnx")
        onnx.save(decoder(), path)
        show(path, CACHE, given.rounds)


def dimension(text: str) -> tuple[str, tuple[int, int]]:
    """A type of ``argparse``: ``NAME=FIRST`` or ``NAME=FIRST:STEP``."""
    name, _, numbers = text.rpartition("=")
    first, _, step = numbers.partition(":")
    if not name or not first.isdecimal() or not (step or "0").isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no dimension; give NAME=FIRST:STEP")
    return name, (int(first), int(step or 0))


def show(path: Path, dims: Dims, rounds: int) -> None:
    """Measure and print."""
    from headrace.onnx import load

    session = peer_session(path)
    names = [entry.name for entry in session.get_outputs()]
    with load(path, "cpu", plan_cache=False) as model:
        runs: tuple[Callable[[Any], Any], ...] = (
            model.run,
            lambda feeds: dict(zip(names, session.run(None, feeds), strict=True)),
        )
        times: list[list[list[float]]] = [[[], []], [[], []]]
        for number in range(rounds + 1):
            feeds = feeds_of(session, partial(shape, dims, number), number)
            results = []
            for run, (new, again) in zip(runs, times, strict=True):
                for taken in (new, again):
                    start = time.perf_counter()
                    made = run(feeds)
                    taken.append((time.perf_counter() - start) * 1e3)
                results.append(made)
            for name in names:
                np.testing.assert_allclose(results[0][name], results[1][name], 1e-3, 1e-3)
    table = Table("call", "headrace, ms", "onnxruntime, ms")
    for which, name in enumerate(("with a new shape", "with it again")):
        medians = [statistics.median(one[which][1:]) for one in times]
        table.add_row(name, *(f"{median:.2f}" for median in medians))
    Console().print(table)


def shape(dims: Dims, number: int, _: str, declared: Declared) -> list[int]:
    """The shape of an input in round ``number``."""
    return [size(dims, dim, number) for dim in declared]


def size(dims: Dims, dim: int | str | None, number: int) -> int:
    """A dimension of an input in round ``number``."""
    if isinstance(dim, int):
        return dim
    if dim is None or dim not in dims:
        raise SystemExit(f"say how large dimension {dim!r} is: --dim {dim}=FIRST:STEP")
    first, step = dims[dim]
    return first + number * step


if __name__ == "__main__":
    main()
