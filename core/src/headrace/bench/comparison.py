"""Two runtimes in turn, and how they stand to each other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.bench.contender import Contender, Task
from headrace.bench.runtimes import OURS, require_peer
from headrace.bench.worker import write_arrays
from headrace.errors import BenchError

if TYPE_CHECKING:
    from headrace.tensor_spec import Array


@dataclass(frozen=True, slots=True)
class Spread:
    """Many measurements of one thing: the median, and where eight of ten lie."""

    median: float
    p10: float
    p90: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of ``values``, one at least.

        Example:
            >>> Spread.of([1.0, 2.0, 3.0])
            Spread(median=2.0, p10=1.2, p90=2.8)
        """
        low, high = np.percentile(values, [10, 90])
        return cls(float(median(values)), round(float(low), 9), round(float(high), 9))


@dataclass(frozen=True, slots=True)
class Measured:
    """One runtime: time of a call, from the file to the first outputs, most resident memory."""

    call_seconds: Spread
    load_seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """headrace beside another runtime, each with the same number of threads.

    Attributes:
        threads: how many each has.
        headrace, peer: what was measured.
        ratio: of calls of one round, headrace's time by the peer's: below 1 headrace is faster.
        difference: the largest difference of an output, by the largest of its magnitudes.
    """

    threads: int
    headrace: Measured
    peer: Measured
    ratio: Spread
    difference: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def compare(
    model: Path,
    feeds: Mapping[str, Array],
    *,
    device: str,
    against: str = "onnxruntime",
    fallback: str | None = None,
    threads: Sequence[int] = (1,),
    rounds: int = 20,
    plan_cache: bool = False,
    after_each: Callable[[], None] = lambda: None,
) -> tuple[Comparison, ...]:
    """Run ``model`` on a device and in another runtime, in turn, each in a process of its own.

    Args:
        model: an ONNX file.
        feeds: its inputs.
        device: where headrace runs it.
        against: the other runtime, one of ``runtimes.PEERS``.
        fallback: as ``headrace.onnx.load`` has it.
        threads: numbers of threads, each measured for itself.
        rounds: turns of each.
        plan_cache: let headrace take a plan that an earlier process kept; else it compiles.
        after_each: called after each round.

    Returns:
        A comparison for each number of threads.

    Raises:
        BenchError: the other runtime is not installed, or one cannot run the model.
    """
    require_peer(against)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_arrays(folder / "feeds.npz", feeds)
        task = Task(
            model=str(model.absolute()),
            feeds=str(folder / "feeds.npz"),
            device=device,
            fallback=fallback,
            threads=1,
            plan_cache=plan_cache,
        )
        return tuple(
            _compare(replace(task, threads=count), (OURS, against), folder, rounds, after_each)
            for count in threads
        )


def _compare(
    task: Task,
    runtimes: tuple[str, str],
    folder: Path,
    rounds: int,
    after_each: Callable[[], None],
) -> Comparison:
    with ExitStack() as processes:
        both = [processes.enter_context(Contender(runtime, task, folder)) for runtime in runtimes]
        loads = [contender.load() for contender in both]
        ours, theirs = (contender.outputs() for contender in both)
        apart = difference(ours, theirs)
        turns: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds):
            # Who comes first changes, so that neither has always the other's wake before it.
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                turns[which].append(both[which].turn())
            after_each()
        mine, other = (
            Measured(Spread.of(times), load, contender.peak_bytes())
            for times, load, contender in zip(turns, loads, both, strict=True)
        )
    ratios = [a / b for a, b in zip(*turns, strict=True)]
    return Comparison(task.threads, mine, other, Spread.of(ratios), apart)


def difference(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> float:
    """How far outputs are apart: the largest difference, by the largest magnitude of its output.

    Raises:
        BenchError: they are not outputs of one model.
    """
    if ours.keys() != theirs.keys():
        raise BenchError(f"one gave the outputs {sorted(ours)} and the other {sorted(theirs)}")
    largest = 0.0
    for name, array in ours.items():
        a, b = array.astype(np.float64), theirs[name].astype(np.float64)
        if a.shape != b.shape:
            raise BenchError(f"output {name!r} is {list(a.shape)} and {list(b.shape)}")
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            apart = np.max(np.where(same, 0, np.abs(a - b)), initial=0)
            scale = np.max(np.abs(b), initial=0, where=np.isfinite(b))
        largest = max(largest, float("inf") if np.isnan(apart) else float(apart / (scale or 1)))
    return largest
