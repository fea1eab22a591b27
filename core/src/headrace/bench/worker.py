"""The process of one contender: ``python -m headrace.bench.worker``, on the orders of another.

Orders come in on stdin and answers go out where stdout was, one line of JSON for each; what anybody
else prints goes to stderr. The orders: ``load``, then ``turn`` any number of times, then ``end``.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from headrace.bench.runtimes import OURS, PEERS, Load, Run, headrace_on

if TYPE_CHECKING:
    from headrace.tensor_spec import Array

SHORT_CALL_SECONDS = 0.01
"""A turn of calls that are shorter begins with one that is not timed."""
MOST_CALLS = 200
"""Of one turn."""
REST_SECONDS = 0.02
"""A process that used less than a tenth of this on processors, while it passed, is at rest. Longer
than a tick of the system's clock: what other threads use is counted by ticks."""
MOST_REST_SECONDS = 0.2


def main() -> None:
    """Do what stdin says until it ends."""
    with _answers() as answers:
        worker: _Worker | None = None
        for line in sys.stdin:
            order = json.loads(line)
            try:
                match order["do"]:
                    case "load":
                        worker = _Worker(order)
                        answer: dict[str, Any] = worker.loaded
                    case "turn":
                        assert worker is not None
                        answer = {"seconds": worker.turn()}
                    case _:
                        answer = {"peak_bytes": peak_bytes()}
            except Exception as error:  # noqa: BLE001 - a runtime may raise anything
                answer = {"error": f"{type(error).__name__}: {error}"}
            rest()
            print(json.dumps(answer), file=answers, flush=True)


def rest() -> None:
    """Return when no thread of the process works: those of a pool look for work a while, in the way
    of who comes next.
    """
    until = time.perf_counter() + MOST_REST_SECONDS
    while time.perf_counter() < until:
        begin = time.process_time()
        time.sleep(REST_SECONDS)  # noqa: TID251 - no event says that another runtime's threads sleep
        if time.process_time() - begin < REST_SECONDS / 10:
            return


@contextmanager
def _answers() -> Iterator[TextIO]:
    """Stdout as it was; from here on prints go to stderr, those of native code as well."""
    sys.stdout.flush()
    answers = os.dup(1)
    os.dup2(2, 1)
    with open(answers, "w", encoding="utf-8") as stream:
        yield stream


class _Worker:
    """A loaded model and what it is fed."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        feeds_file, outputs_file = Path(order["feeds"]), Path(order["outputs"])
        self._feeds = read_arrays(feeds_file)
        load = _loader(order)
        begin = time.perf_counter()
        self._run: Run = load(order["model"])
        outputs = self._run(self._feeds)
        seconds = time.perf_counter() - begin
        names = write_arrays(outputs_file, outputs)
        self.loaded = {"seconds": seconds, "outputs": names}
        self._last = seconds
        gc.collect()
        gc.freeze()  # a collection in the middle of a turn would be a part of its time

    def turn(self) -> float:
        """The median time of a call, of as many as fill a moment."""
        if self._last < SHORT_CALL_SECONDS:
            self._run(self._feeds)
        times: list[float] = []
        while not times or (sum(times) < 2 * SHORT_CALL_SECONDS and len(times) < MOST_CALLS):
            begin = time.perf_counter()
            self._run(self._feeds)
            times.append(time.perf_counter() - begin)
        self._last = statistics.median(times)
        return self._last


def _loader(order: Mapping[str, Any]) -> Load:
    if order["runtime"] == OURS:
        return headrace_on(order["device"], order["fallback"], order["plan_cache"])
    return PEERS[order["runtime"]](order["threads"])


def read_arrays(file: Path) -> dict[str, Array]:
    """Arrays by name, as ``write_arrays`` left them."""
    names = json.loads(file.with_suffix(".json").read_text("utf-8"))
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[str(index)] for index, name in enumerate(names)}


def write_arrays(file: Path, arrays: Mapping[str, Array]) -> list[str]:
    """Names need not be names of files, so they lie beside."""
    numbered: dict[str, Any] = {str(index): array for index, array in enumerate(arrays.values())}
    np.savez(file, **numbered)
    names = list(arrays)
    file.with_suffix(".json").write_text(json.dumps(names), "utf-8")
    return names


def peak_bytes() -> int:
    """The most memory of this process that was resident at once."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says may be a number of the process that made this one
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) << 10
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
