"""Time until a model that did not change is ready to run in a new process, against onnxruntime.

    python bench/start_up.py [MODEL.onnx ...] [--rounds 15] [--device cpu] [--shape x=1,3,256,256]

Without a model: a chain of 10,000 small ops, as ``compile_scale.py`` makes it. The plan cache is a
folder of its own. A first process of each model fills it (``first start``); what is compared with
onnxruntime (all its optimisations on) is the second start and those after it. Every figure is the
median of fresh processes, the two runtimes in turn, with the 10th and 90th percentile of the ratio:

    session   from the model's path to a job that is ready to run: ``load`` and ``plan_for``,
              against ``InferenceSession(path)``, in a process that has loaded the whole plugin of
              the device before, and opened it once, which loads native code.
    creation  the same in a process that has not: the device is found, and of its plugin loaded
              what the plan needs. (onnxruntime has its devices in itself: importing it loads them.)
    start     from the beginning of the script to a job that is ready to run, all imports in it.
    result    the same, to the first outputs.
    process   the whole process, as its parent sees it.

Measured is the headrace of the Python that runs this. Users have wheels; of an editable install
each start looks at every file of the code, which takes 2 ms more.

Times are those of the wall; --cpu counts processor time, so that neighbours on the machine do not.
Symbolic dimensions are 1 unless a --shape for that input's name fits the model. Both compute with
one thread. A model that one of the two cannot start is left out, which is said.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from arguments import model_file, named_shape, positive
from peer import Shapes, feeds_of, peer_session, shape_of

PHASES = ("session", "creation", "start", "result", "process")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def headrace_session(path: str, device: str, shapes: Shapes, clock: Any) -> dict[str, float]:
    """Seconds of a session of headrace where the plugin is loaded, on ``clock``."""
    import numpy as np  # noqa: F401 - what both need is there

    import headrace.onnx
    from headrace.placement import Placement
    from headrace.registry import default_registry

    place = Placement.of_devices(device)
    default_registry().backend(place.tag).device.open(place.devices[0][1]).close()
    begin = clock()
    model = headrace.onnx.load(path, device)
    loaded = clock()
    feeds = feeds_for(model, shapes)
    fed = clock()
    model.plan_for(feeds)
    return {"session": clock() - fed + loaded - begin}


def headrace_start(path: str, device: str, shapes: Shapes, clock: Any) -> dict[str, float]:
    """One start of headrace: seconds of each phase but the session, on ``clock``."""
    begin = clock()
    import numpy as np  # noqa: F401 - what both need

    import headrace.onnx

    imported = clock()
    model = headrace.onnx.load(path, device)
    loaded = clock()
    feeds = feeds_for(model, shapes)
    fed = clock()
    model.plan_for(feeds)
    ready = clock()
    model.run(feeds)
    return {
        "creation": ready - fed + loaded - imported,
        "start": ready - fed + loaded - begin,
        "result": clock() - begin,
    }


def feeds_for(model: Any, shapes: Shapes) -> dict[str, Any]:
    """Inputs of these shapes. The clock rests meanwhile: the other runtime is ready without any."""
    import numpy as np

    feeds = {}
    for info in model.inputs:
        if not info.optional:
            assert info.dtype is not None  # an input without one is refused by `load`
            feeds[info.name] = np.ones(
                shape_of(shapes, info.name, info.shape or ()), info.dtype.numpy
            )
    return feeds


def onnxruntime_start(path: str, device: str, shapes: Shapes, clock: Any) -> dict[str, float]:
    """One start of onnxruntime."""
    begin = clock()
    import onnxruntime  # noqa: F401

    imported = clock()
    peer = peer_session(path)
    ready = clock()
    peer.run(None, feeds_of(peer, partial(shape_of, shapes)))
    created = ready - imported
    return {
        "session": created,
        "creation": created,
        "start": ready - begin,
        "result": clock() - begin,
    }


STARTS = {
    "headrace": headrace_start,
    "headrace-session": headrace_session,
    "onnxruntime": onnxruntime_start,
}


class CannotStartError(Exception):
    """One of the two does not run a model; says why."""


def start(what: str, path: Path, options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of each phase of one fresh process that it has."""
    command = [sys.executable, __file__, str(path), "--worker", what, "--device", options.device]
    command += [f"--shape={name}={','.join(map(str, dims))}" for name, dims in options.shape]
    command += ["--cpu"] if options.cpu else []
    before = children() if options.cpu else time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    after = children() if options.cpu else time.perf_counter()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CannotStartError(f"{path.name}: {what} cannot start it: {last}")
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {phase: 1e3 * each for phase, each in ({"process": after - before} | seconds).items()}


def children() -> float:
    """Seconds of processor time that processes which ended have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(path: Path, options: argparse.Namespace) -> list[tuple[str, ...]]:
    """The rows of one model."""
    from rich.progress import track

    first = start("headrace", path, options)
    start("onnxruntime", path, options)
    pairs = []
    for _ in track(range(options.rounds), path.name, transient=True):
        whole, session, peer = (start(what, path, options) for what in STARTS)
        pairs.append([session | whole, peer])
    return [row(path.name, phase, first, pairs) for phase in PHASES]


def row(
    name: str, phase: str, first: dict[str, float], pairs: list[list[dict[str, float]]]
) -> tuple[str, ...]:
    """Medians of one phase, the median of the paired ratios and how far they spread."""
    import numpy as np

    ours, theirs = ([pair[side][phase] for pair in pairs] for side in (0, 1))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, high = np.percentile(ratios, [10, 90])
    figures = [f"{value:.1f}" for value in (median(ours), median(theirs))]
    begun = f"{first[phase]:.1f}" if phase in first else ""
    return (name, phase, begun, *figures, f"{median(ratios):.2f} [{low:.2f}..{high:.2f}]")


def main() -> None:
    """Measure every model and print a row for each phase."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=model_file)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=positive, default=15)
    parser.add_argument(
        "--shape", action="append", type=named_shape, default=[], metavar="INPUT=1,3,224,224"
    )
    parser.add_argument("--cpu", action="store_true", help="count processor time")
    parser.add_argument("--worker", choices=STARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        shapes = dict(options.shape)
        clock = time.process_time if options.cpu else time.perf_counter
        (path,) = options.models
        print(json.dumps(STARTS[options.worker](str(path), options.device, shapes, clock)))
        return
    from rich.console import Console
    from rich.table import Table

    names = ("model", "phase", "first start ms", "headrace ms", "onnxruntime ms", "ratio")
    table = Table(*names)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HEADRACE_CACHE": folder, "HEADRACE_PLAN_CACHE": ""} | ONE_THREAD
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else modules are compiled at every start
        if not options.models:
            import onnx
            from tiny_ops import chain

            options.models.append(Path(folder) / "chain10000.onnx")
            onnx.save(chain(10_000), options.models[0])
        for path in options.models:
            try:
                for figures in measure(path, options):
                    table.add_row(*figures)
            except CannotStartError as error:
                Console().print(f"left out: {error}", markup=False)
    Console().print(table)


if __name__ == "__main__":
    main()
