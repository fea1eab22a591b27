"""Two runtimes in turn, and how they stand to each other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.bench.contender import Contender, Task
from headrace.bench.runtimes import OURS, require_peer
from headrace.bench.worker import write_arrays
from headrace.errors import BenchError
from headrace.light_dataclass import dataclass

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
    """One runtime: time of a call, from the file to the first outputs, most resident memory.

    headrace's first load: no plan of the model was kept.
    """

    call_seconds: Spread
    load_seconds: Spread
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """headrace beside another runtime, each with the same number of threads.

    Attributes:
        threads: how many each has.
        headrace, peer: what was measured.
        next_load_seconds: of headrace, in a process that comes after one that kept its plan.
        ratio: of calls of one round, headrace's time by the peer's: below 1 headrace is faster.
        load_ratio: of loads, in two processes one after the other.
        next_load_ratio: of headrace's next loads, and the same loads of the peer.
        difference: the largest difference of an output, by the largest of its magnitudes.
        finite: the share of numbers that are finite in both, in the output with the fewest: where
            both gave NaN, they agree, and that says nothing.
    """

    threads: int
    headrace: Measured
    peer: Measured
    next_load_seconds: Spread
    ratio: Spread
    load_ratio: Spread
    next_load_ratio: Spread
    difference: float
    finite: float

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
    loads: int = 5,
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
        loads: processes of each that load the model; the last one then has the turns. headrace
            has twice as many: those that compile it, and those that find its plan.
        after_each: called after each round, and after each round of loads.

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
            plan_cache=False,
        )
        ran = (OURS, against)
        return tuple(
            _compare(replace(task, threads=count), ran, folder, rounds, loads, after_each)
            for count in threads
        )


def _compare(
    task: Task,
    runtimes: tuple[str, str],
    folder: Path,
    rounds: int,
    loads: int,
    after_each: Callable[[], None],
) -> Comparison:
    loaded = tuple[list[float], list[float], list[float]](([], [], []))
    turns = tuple[list[float], list[float]](([], []))
    later = replace(task, plan_cache=True)
    with Contender(OURS, later, folder) as first:
        first.load()  # and keeps its plan
    for number in range(loads - 1):
        with _both(runtimes, task, folder) as both, Contender(OURS, later, folder) as next_one:
            _in_turn(number, (*both, next_one), loaded, Contender.load)
        after_each()
    with _both(runtimes, task, folder) as both:
        with Contender(OURS, later, folder) as next_one:
            _in_turn(loads - 1, (*both, next_one), loaded, Contender.load)
        after_each()
        ours, theirs = (contender.outputs() for contender in both)
        for number in range(rounds):
            _in_turn(number, both, turns, Contender.turn)
            after_each()
        peaks = [contender.peak_bytes() for contender in both]
    mine, other = (
        Measured(Spread.of(times), Spread.of(load), peak)
        for times, load, peak in zip(turns, loaded, peaks, strict=False)
    )
    compiled, peers, kept = loaded
    return Comparison(
        task.threads,
        mine,
        other,
        next_load_seconds=Spread.of(kept),
        ratio=_ratio(*turns),
        load_ratio=_ratio(compiled, peers),
        next_load_ratio=_ratio(kept, peers),
        difference=difference(ours, theirs),
        finite=finite_share(ours, theirs),
    )


@contextmanager
def _both(
    runtimes: tuple[str, str], task: Task, folder: Path
) -> Iterator[tuple[Contender, Contender]]:
    first, second = runtimes
    with Contender(first, task, folder) as ours, Contender(second, task, folder) as theirs:
        yield ours, theirs


def _in_turn(
    number: int,
    contenders: Sequence[Contender],
    seconds: Sequence[list[float]],
    measure: Callable[[Contender], float],
) -> None:
    """Who comes first changes, so that none has always another's wake before it."""
    first = number % len(contenders)
    for which in (*range(first, len(contenders)), *range(first)):
        seconds[which].append(measure(contenders[which]))


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Of pairs: a machine that others use as well is now faster and now slower, for both."""
    return Spread.of([mine / other for mine, other in zip(ours, theirs, strict=True)])


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


def finite_share(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> float:
    """The share of numbers that are finite in both, in the output with the fewest; 1 is all."""
    return min(
        (
            float(
                np.mean(
                    np.isfinite(array.astype(np.float64))
                    & np.isfinite(theirs[name].astype(np.float64))
                )
            )
            for name, array in ours.items()
            if array.size
        ),
        default=1.0,
    )
