"""``experiment``: for the time of a block, what the devices do is timed, varied, made to fail.

Outside of a block nothing here is touched: streams are as late as can be, and no work takes time.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from headrace.errors import DeviceError
from headrace_fakedevice.faults import Fault, FaultCounter, InjectedFault
from headrace_fakedevice.latencies import Latencies

_EAGERNESS = (0.0, 0.3, 0.7, 0.95)


class Clock(Protocol):
    """The virtual time of the host. ``headrace.testing.deterministic`` has one for each thread."""

    def now(self) -> float:
        """Virtual seconds, of the calling thread."""

    def advance(self, time: float) -> None:
        """The calling thread has waited until ``time``, if that is later."""


class OneClock:
    """One clock for all threads: right for a host that does one thing after another."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """The latest time that anybody waited for."""
        return self._now

    def advance(self, time: float) -> None:
        """Somebody waited until ``time``."""
        self._now = max(self._now, time)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work on its stream.

    Attributes:
        device, stream: where, by device index and stream index.
        kind: ``h2d``, ``d2h``, ``d2d``, ``peer``, ``launch`` or ``collective``.
        name: of the op; empty for a copy.
        asked: when the host asked for it, in virtual seconds.
        begin, end: when it was worked on.
    """

    device: int
    stream: int
    kind: str
    name: str
    asked: float
    begin: float
    end: float


class Line:
    """The time of one stream: when what was asked of it so far will be done.

    Attributes:
        device, stream: whose it is.
        end: virtual seconds.
        count: how much work was asked of it.
    """

    def __init__(self, device: int, stream: int) -> None:
        self.device = device
        self.stream = stream
        self.end = 0.0
        self.count = 0
        self._of: Experiment | None = None

    def begin(self, experiment: Experiment | None) -> None:
        """Start anew when this is another experiment than the one before: each has its own time."""
        if experiment is not self._of:
            self._of, self.end, self.count = experiment, 0.0, 0


class Stepping(Protocol):
    """A stream that can be made to go on by one piece of work."""

    def step(self) -> None:
        """Do the next piece, if there is one."""

    @property
    def is_idle(self) -> bool:
        """True when there is none."""


class Experiment:
    """What is going on in a block, and what has been. Made by ``experiment``.

    Attributes:
        spans: all work that was asked for, in the order in which it was.
        done: the places in ``spans`` of what was done, in the order in which it was.
    """

    def __init__(
        self,
        seed: int | None,
        latencies: Latencies,
        jitter: float,
        eagerness: float,
        faults: Iterable[Fault],
        clock: Clock,
    ) -> None:
        self.spans: list[Span] = []
        self.done: list[int] = []
        self._seed = seed
        self._draw = random.Random(seed)
        self._latencies = latencies
        self._jitter = jitter
        self._eagerness = eagerness
        self._clock = clock
        self._faults = FaultCounter(faults)
        self._lock = Lock()  # counts and draws; the streams have their own
        self._streams: list[Stepping] = []

    @property
    def seconds(self) -> float:
        """When the last work ends, in virtual seconds."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind of ``Fault`` could have struck."""
        return dict(self._faults.counts)

    @property
    def struck(self) -> tuple[Fault, ...]:
        """The faults that came to pass."""
        return tuple(self._faults.struck)

    # --- for the devices ---------------------------------------------------------------------

    def fault(self, kind: str, where: object, what: str) -> Exception | None:
        """Count one more of ``kind``; what it has to raise."""
        with self._lock:
            fault = self._faults.next(kind)
            number = self._faults.counts[kind]
        if fault is None:
            return None
        return InjectedFault(f"{what} on {where} fails: {kind} {number} was told to")

    def ask(
        self, line: Line, kind: str, name: str, nbytes: int, where: object, work: Callable[[], None]
    ) -> Callable[[], None]:
        """Place work on the time of its stream; returns what the stream shall do for it.

        Raises:
            InjectedFault: it was told to fail at once.
        """
        counted = "launch" if kind in ("launch", "collective") else "copy"
        with self._lock:
            fault = self._faults.next(counted)
            number = self._faults.counts[counted]
            position = len(self.spans)
            if fault is None or not fault.at_once:
                line.begin(self)
                asked = self._clock.now()
                begin = max(asked, line.end)
                line.end = begin + self._latencies.of(kind, name, nbytes) * self._factor(line)
                line.count += 1
                place = (line.device, line.stream, kind, name)
                self.spans.append(Span(*place, asked, begin, line.end))
        if fault is None:

            def timed() -> None:
                self.done.append(position)
                work()

            return timed
        error = InjectedFault(
            f"{name or f'copy {kind}'} on {where} fails: {counted} {number} was told to"
        )
        if fault.at_once:
            raise error

        def fail() -> None:
            raise error

        return fail

    def wait(self, time: float) -> None:
        """The calling thread has waited until ``time``."""
        self._clock.advance(time)

    def stir(self, stream: Stepping) -> None:
        """Let streams, of which ``stream`` may be a new one, go on as far as is drawn."""
        if not self._eagerness:
            return
        with self._lock:
            if not any(known is stream for known in self._streams):
                self._streams.append(stream)
        while True:
            with self._lock:
                able = [known for known in self._streams if not known.is_idle]
                if not able or self._draw.random() > self._eagerness:
                    return
                chosen = self._draw.choice(able)
            chosen.step()

    def _factor(self, line: Line) -> float:
        if not self._jitter:
            return 1.0
        # By stream and not from one row of numbers: threads that ask in another order change none.
        text = f"{self._seed} {line.device} {line.stream} {line.count}"
        return 1.0 + self._jitter * random.Random(zlib.crc32(text.encode())).random()


class _Current:
    """The experiment that is going on, if any."""

    experiment: Experiment | None = None


def current() -> Experiment | None:
    """The experiment that is going on."""
    return _Current.experiment


@contextmanager
def experiment(
    seed: int | None = None,
    *,
    latencies: Latencies = Latencies(),  # noqa: B008 - frozen
    jitter: float = 0.0,
    eagerness: float | None = None,
    faults: Iterable[Fault] = (),
    clock: Clock | None = None,
) -> Iterator[Experiment]:
    """Time, vary and break what all fake devices of this process do in the block.

    Time is virtual: work of a stream begins when it was asked for, or when what is before it on the
    stream ends, or when an event that the stream waits for is reached, whichever is last.

    Args:
        seed: decides what is random; equal seeds, and equal threads, give equal runs.
        latencies: how long work takes.
        jitter: every latency is multiplied by a random factor from 1 to 1 + ``jitter``.
        eagerness: how much streams do before anybody waits: after each thing that is asked for,
            random pieces of work of random streams are done, and with this probability one more. 0
            is as late as can be. None draws it from the seed, and means 0 without one. Order within
            a stream and behind events is kept: all that is varied is what the contract leaves open.
        faults: what is to fail.
        clock: the time of the host; default: one clock that all threads share. For several calls
            in flight use the schedule of ``headrace.testing.deterministic``, which knows which
            thread has heard of what.

    Yields:
        The record of the experiment.

    Raises:
        DeviceError: another experiment is going on.

    Example:
        >>> from headrace_fakedevice import Latencies, experiment
        >>> with experiment(seed=1, latencies=Latencies(launch=2.0)) as seen:
        ...     pass
        >>> seen.seconds
        0.0
    """
    if _Current.experiment is not None:
        raise DeviceError("another experiment on the fake devices is going on; end it first")
    if eagerness is None:
        eagerness = 0.0 if seed is None else random.Random(seed).choice(_EAGERNESS)
    going_on = Experiment(seed, latencies, jitter, eagerness, faults, clock or OneClock())
    _Current.experiment = going_on
    try:
        yield going_on
    finally:
        _Current.experiment = None
