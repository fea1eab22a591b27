"""ResNet-50 on `cpu` against another framework that compiles it, in turn.

    python bench/against_framework.py oneflow --python PATH [--threads 1,2] [--batch 1]
    python bench/against_framework.py torch --python PATH [--rounds 10]

`oneflow` is its lazy mode, the system that headrace rebuilds; `torch` is ``torch.compile``. PATH is
an interpreter that has the framework, in an environment of its own: OneFlow 0.9.0 has no wheel for
Python 3.11, and links CUDA's libraries also where there is no card; LD_LIBRARY_PATH says where they
are. Each runtime is a process of its own; weights are random.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import onnx
from arguments import positive, positives
from resnet50 import resnet50
from rich.console import Console
from rich.table import Table

from headrace.bench import Spread
from headrace.bench.contender import Contender, Task
from headrace.bench.worker import write_arrays

PEERS = Path(__file__).parent / "frameworks"


def main() -> None:
    """One line for each number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("framework", choices=("oneflow", "torch"))
    parser.add_argument("--python", required=True)
    parser.add_argument("--threads", type=positives, default="1,2")
    parser.add_argument("--batch", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=10)
    given = parser.parse_args()
    if shutil.which(given.python) is None:
        parser.error(f"there is no interpreter at {given.python}")
    peer = given.framework
    table = Table("threads", "headrace, ms", f"{peer}, ms", f"{peer} / headrace", "10 % .. 90 %")
    for threads in given.threads:
        ours, theirs = measured(given, threads)
        ratio = Spread.of([b / a for a, b in zip(ours, theirs, strict=True)])
        cells = (f"{1e3 * median(ours):.1f}", f"{1e3 * median(theirs):.1f}", f"{ratio.median:.2f}")
        table.add_row(str(threads), *cells, f"{ratio.p10:.2f} .. {ratio.p90:.2f}")
    Console().print(table)


def measured(given: argparse.Namespace, threads: int) -> tuple[list[float], list[float]]:
    """Seconds of calls, ours and theirs, round by round."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(resnet50(given.batch), folder / "resnet50.onnx")
        x = np.ones((given.batch, 3, 224, 224), np.float32)
        write_arrays(folder / "feeds.npz", {"gpu_0/data_0": x})
        task = Task(
            model=str(folder / "resnet50.onnx"),
            feeds=str(folder / "feeds.npz"),
            device="cpu",
            fallback=None,
            threads=threads,
            plan_cache=False,
        )
        script = str(PEERS / f"{given.framework}_resnet50.py")
        command = [given.python, script, str(threads), str(given.batch)]
        with (
            Contender("headrace", task, folder) as headrace,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                text=True,
            ) as peer,
        ):
            headrace.load()
            _line(peer, "ready")
            ours, theirs = [], []
            for _ in range(given.rounds):
                ours.append(headrace.turn())
                assert peer.stdin is not None
                peer.stdin.write("\n")
                peer.stdin.flush()
                theirs.append(float(_line(peer)))
            peer.kill()
    return ours, theirs


def _line(process: subprocess.Popen[str], beginning: str = "") -> str:
    """The next line that begins so; a framework may print others while it is loaded."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    sys.exit(f"the peer ended with {process.wait()}; run it by hand to see why: {process.args!r}")


if __name__ == "__main__":
    main()
