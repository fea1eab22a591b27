"""The time of single ops on the CPU, against onnxruntime.

    python bench/ops.py [NAME ...] [--threads 1] [--seconds 0.2] [--slower-than 1.1] [--json]

Each op of `op_cases.py` whose name has one of the texts, of either case, as a model of one node.
Both run it in turns; medians of the calls, in microseconds, slowest beside the peer first. A call
by headrace copies results into new arrays, as one by onnxruntime does, so the smallest ops measure
what a call costs. An op that one of the two does not run is left out, which is said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from arguments import duration, positive
from onnx import helper, numpy_helper
from op_cases import OPSET, Case, Held, cases
from peer import peer_session
from rich.console import Console
from rich.progress import track
from rich.table import Table

import headrace as flow
import headrace_cpu
from headrace.tensor_spec import Array

AT_ONCE = 3
"""Calls of one of the two before it is the other's turn."""


@dataclass(frozen=True)
class Row:
    """One op: microseconds of a call, and how far outputs are apart, by the largest of each."""

    name: str
    headrace: float
    onnxruntime: float
    difference: float

    @property
    def ratio(self) -> float:
        """Above 1 headrace is slower."""
        return self.headrace / self.onnxruntime


def main() -> None:
    """One line for each op."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="text that names have")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--seconds", type=duration, default=0.2, help="that each op is run")
    parser.add_argument("--slower-than", type=float, default=0.0, help="show these ratios only")
    parser.add_argument("--json", action="store_true", help="a list instead of a table")
    given = parser.parse_args()
    headrace_cpu.set_threads(given.threads)
    chosen = [case for case in cases() if _is_named(case, given.names)]
    if not chosen:
        parser.error(f"no op is named {' or '.join(map(repr, given.names))}")
    rows = sorted(_rows(chosen, given.threads, given.seconds), key=lambda row: -row.ratio)
    rows = [row for row in rows if row.ratio >= given.slower_than]
    if given.json:
        print(json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows], indent=2))
    else:
        Console().print(_table(rows))


def _is_named(case: Case, texts: Sequence[str]) -> bool:
    return not texts or any(text.lower() in case.name.lower() for text in texts)


def _rows(chosen: Sequence[Case], threads: int, seconds: float) -> Iterator[Row]:
    console = Console(stderr=True)
    for case in track(chosen, console=console, description="running"):
        try:
            yield _measured(case, threads, seconds)
        except Exception as error:  # noqa: BLE001 - told
            console.print(f"left out: {case.name}: {error}", markup=False)


def _measured(case: Case, threads: int, seconds: float) -> Row:
    data, feeds = _model(case)
    session = peer_session(data, threads)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "op.onnx"
        path.write_bytes(data)
        with flow.onnx.load(path, "cpu") as model:
            ours, theirs = partial(model.run, feeds), partial(session.run, None, feeds)
            difference = _difference(list(ours().values()), theirs())
            times = _in_turns(ours, theirs, seconds)
    return Row(case.name, *times, difference)


def _in_turns(
    ours: Callable[[], object], theirs: Callable[[], object], seconds: float
) -> tuple[float, float]:
    """Microseconds of a call of each, in turns, so that a slow moment hits both."""
    times: tuple[list[float], list[float]] = ([], [])
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for call, taken in zip((ours, theirs), times, strict=True):
            for _ in range(AT_ONCE):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
    mine, peers = (statistics.median(taken) * 1e6 for taken in times)
    return mine, peers


def _model(case: Case) -> tuple[bytes, dict[str, Array]]:
    """A model of the one node, and what it is fed."""
    names, inputs, held, feeds = [], [], [], {}
    for index, operand in enumerate(case.operands):
        name = "" if operand is None else f"x{index}"
        names.append(name)
        if isinstance(operand, Held):
            held.append(numpy_helper.from_array(operand.array, name))
        elif operand is not None:
            element = helper.np_dtype_to_tensor_dtype(operand.dtype)
            inputs.append(helper.make_tensor_value_info(name, element, operand.shape))
            feeds[name] = np.ascontiguousarray(operand)
    outputs = [f"y{index}" for index in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain=case.domain, **case.attrs)
    made = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "op", inputs, made, held)
    opsets = {"": OPSET, case.domain: case.opset}
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(*it) for it in opsets.items()]
    )
    model.ir_version = 9
    return model.SerializeToString(), feeds


def _difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """By the largest number of each output; infinite where shapes or infinities differ."""
    worst = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape:
            return float("inf")
        a, b = mine.astype(np.float64), other.astype(np.float64)
        known = np.isfinite(a) & np.isfinite(b)
        if not np.array_equal(a[~known], b[~known], equal_nan=True):
            return float("inf")
        largest = np.abs(b[known]).max(initial=0)
        if largest:
            worst = max(worst, float(np.abs(a[known] - b[known]).max() / largest))
    return worst


def _table(rows: Sequence[Row]) -> Table:
    table = Table("op", "cpu, us", "onnxruntime, us", "cpu / onnxruntime", "difference")
    for row in rows:
        times = (f"{row.headrace:,.1f}", f"{row.onnxruntime:,.1f}", f"{row.ratio:.2f}")
        table.add_row(row.name, *times, f"{row.difference:.1g}")
    return table


if __name__ == "__main__":
    main()
