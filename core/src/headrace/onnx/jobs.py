"""``JobCache``: the compiled jobs of a model, the least recently used dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from headrace.errors import RunError, SessionError
from headrace.onnx.draws import draw, draws_of
from headrace.onnx.guesses import all_hold
from headrace.onnx.make_job import JobMaker, MadeJob
from headrace.plan import TaskKind
from headrace.runtime.bus import new_lock
from headrace.tensor_spec import Array, TensorSpec

JobKey = tuple[tuple[tuple[str, TensorSpec], ...], tuple[tuple[str, bytes], ...]]
"""What a job is made for: specs of what is fed, and values of the inputs that are part of it."""


def job_key(
    specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array], fixed: tuple[str, ...]
) -> JobKey:
    """The key of the job that serves ``arrays`` when the inputs ``fixed`` are part of it."""
    values = tuple((name, arrays[name].tobytes()) for name in fixed if name in arrays)
    return tuple(specs.items()), values


class LeasedJob:
    """A compiled job that stays open while somebody runs it, also when the cache dropped it.

    Attributes:
        job: the job.
        fixed: inputs of the model that are part of the job and are not fed to it.
        then: what is done with its results before the next stage of the model; None for the last.
        forms: name, dtype and shape of all that is fed.
        draws: inputs of the job that are random numbers.
        checks: what it assumes of what it is fed.
    """

    def __init__(
        self,
        made: MadeJob,
        specs: Mapping[str, TensorSpec],
        cache: JobCache,
    ) -> None:
        self.job, self.fixed, self.then, self.checks = made
        self.forms = tuple((name, spec.dtype.numpy, spec.shape) for name, spec in specs.items())
        self.draws = draws_of(self.job.plan.foreign(TaskKind.FOREIGN_INPUT, 0))
        self.dropped = False
        self._users: list[None] = []  # one for each; it grows and shrinks without a lock
        self._cache = cache

    @property
    def is_used(self) -> bool:
        """True while somebody may run it."""
        return bool(self._users)

    def take(self) -> None:
        """One user more; who then finds it dropped must not run it, but give it back."""
        self._users.append(None)

    def give_back(self) -> None:
        """One user less; the last one of a job that was dropped closes it."""
        self._users.pop()
        if self.dropped:
            self._cache.close_if_over(self)

    def __enter__(self) -> LeasedJob:
        return self

    def __exit__(self, *raised: object) -> None:
        self.give_back()


class JobCache:
    """Keeps up to ``size`` compiled jobs of a model; may be used from any thread.

    One lock guards the table, also while a job is compiled: threads that need the same job wait
    for it instead of compiling it twice. It is not held while jobs run.
    """

    def __init__(self, maker: JobMaker, size: int) -> None:
        self._maker = maker
        self._size = size
        self._lock = new_lock()
        self._jobs: OrderedDict[JobKey, LeasedJob] = OrderedDict()
        self._fixed: tuple[str, ...] = ()
        self._last: LeasedJob | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._jobs)

    def lease(self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array]) -> LeasedJob:
        """The job for what is fed, compiled if need be; use it in a ``with`` statement.

        Args:
            specs: of every input that is fed, and of what earlier stages of the model found.
            arrays: their values, as far as they are known.

        Raises:
            SessionError: the cache was closed.
            ModelError, DeviceError, UnsupportedError: the job cannot be made.
        """
        with self._lock:
            leased = self._find(specs, arrays)
            leased.take()
            self._last = None if leased.then or leased.draws else leased
        return leased

    def last_stage(self, arrays: Mapping[str, Array]) -> tuple[LeasedJob, dict[str, Array]]:
        """The job that gives the results, and what is fed to it; stages before it are run.

        Args:
            arrays: a value for each input.

        Raises:
            RunError: a stage stopped.
            SessionError, ModelError, DeviceError, UnsupportedError: as ``lease``.
        """
        drawn: dict[str, Array] = {}
        while True:
            specs = {name: TensorSpec.of(array) for name, array in arrays.items()}
            leased = self.lease(specs, arrays)
            fed = {name: arrays[name] for name in arrays if name not in leased.fixed}
            draw(leased.draws, drawn)
            fed |= {name: drawn[name] for name in leased.draws}
            if leased.then is None:
                return leased, fed
            with leased:
                arrays = {**arrays, **leased.then(leased.job.run(fed))}

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The results for a value of each input, by name. Raises what ``last_stage`` does."""
        leased, fed = self.last_stage(arrays)
        with leased:
            return leased.job.run(fed)

    def run_if_assumed(self, arrays: Mapping[str, Array]) -> dict[str, Array] | None:
        """As ``run``; None where the job was built for an assumption that does not hold."""
        leased, fed = self.last_stage(arrays)
        with leased:
            try:
                made = leased.job.run(fed)
            except RunError:
                if not leased.checks:
                    raise
                return None  # it may have stopped for what it assumed
        return made if all_hold(leased.checks, made) else None

    def lease_last(self, feeds: object) -> LeasedJob | None:
        """The job that was leased last, if it serves ``feeds`` as they are; else None.

        Most calls are like the one before, and this tells so ten times faster than ``lease``.
        What it does not tell at a glance, checks and keys must.
        """
        last = self._last
        if last is None or self._fixed or type(feeds) is not dict or len(feeds) != len(last.forms):
            return None
        for name, dtype, shape in last.forms:
            array = feeds.get(name)
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return None
        last.take()
        if last.dropped:
            last.give_back()
            return None
        return last

    def close_if_over(self, leased: LeasedJob) -> None:
        """Close a job that was dropped, unless somebody uses it. Idempotent."""
        with self._lock:
            self._close_unused(leased)

    def close(self) -> None:
        """Close every job, those that run as soon as they are done. Idempotent."""
        with self._lock:
            self._closed = True
            self._drop_down_to(0)

    def _find(self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array]) -> LeasedJob:
        if self._closed:
            raise SessionError(f"{self._maker.name}: the model was closed")
        key = job_key(specs, arrays, self._fixed)
        if key not in self._jobs:
            key = self._make(specs, arrays)
        self._jobs.move_to_end(key)
        return self._jobs[key]

    def _make(self, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Array]) -> JobKey:
        made = self._maker.make(specs, arrays, self._fixed, self._make_room)
        # Which inputs decide shapes is learnt as jobs are made; keys then tell them apart.
        self._fixed += tuple(name for name in made.fixed if name not in self._fixed)
        key = job_key(specs, arrays, self._fixed)
        self._jobs[key] = LeasedJob(made, specs, self)
        return key

    def _make_room(self) -> None:
        """Drop a job before there is one too many: both may not fit into memory together."""
        self._drop_down_to(self._size - 1)

    def _drop_down_to(self, size: int) -> None:
        while len(self._jobs) > size:
            _, leased = self._jobs.popitem(last=False)
            leased.dropped = True  # before it is asked whether it is used: see ``LeasedJob.take``
            if leased is self._last:
                self._last = None
            self._close_unused(leased)

    @staticmethod
    def _close_unused(leased: LeasedJob) -> None:
        if not leased.is_used:
            leased.job.drain()  # what was submitted comes to its end
            leased.job.close()
            if leased.then is not None:
                leased.then.close()
