"""``JobCache``: the compiled jobs of a model, the least recently used dropped first."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from weakref import ref

import numpy as np

from headrace.errors import ResourceLimitError, RunError, SessionError
from headrace.frontend.gate import Visit
from headrace.onnx.file import limits
from headrace.onnx.importing.draws import draw, draws_of
from headrace.onnx.importing.guesses import all_hold
from headrace.onnx.make_job import JobMaker, MadeJob
from headrace.plan import TaskKind
from headrace.runtime import process
from headrace.runtime.bus import new_lock
from headrace.runtime.reentry import codes_of, is_within, reentry_error
from headrace.runtime.shelter import Shelter
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

    Who runs it holds a ``Visit``, and does no longer when that is released, however that came: see
    ``Gate``.

    Attributes:
        job: the job.
        fixed: inputs of the model that are part of the job and are not fed to it.
        then: what is done with its results before the next stage of the model; None for the last.
        forms: name, dtype and shape of all that is fed.
        values: names and values of the inputs that are part of the job.
        takes: inputs of the job.
        draws: those that are random numbers.
        checks: what it assumes of what it is fed.
        supposed: what a job of all stages up to this one would suppose.
        visits: of those that run it, and some that have left; changes without a lock.
        dropped: no longer in the cache.
    """

    def __init__(
        self,
        made: MadeJob,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        cache: JobCache,
    ) -> None:
        self.job, self.fixed, self.then, self.checks, self.supposed = made
        self.forms = tuple((name, spec.dtype.numpy, spec.shape) for name, spec in specs.items())
        self.values = tuple((name, arrays[name].tobytes()) for name in self.fixed)
        takes = self.job.plan.foreign(TaskKind.FOREIGN_INPUT, 0)
        self.takes = frozenset(takes)
        self.draws = draws_of(takes)
        self.visits: set[Visit] = set()
        self.dropped = False
        # Which holds this: of a circle a dropped model would wait for the collector to go.
        self._cache = ref(cache)

    @property
    def is_used(self) -> bool:
        """True while somebody may run it, or does without having asked (``last_for``)."""
        return self.job.is_under_way or any(visit.locked() for visit in tuple(self.visits))

    def serves(self, arrays: Mapping[str, Array]) -> bool:
        """Whether it is for just these, told ten times faster than by their key."""
        if len(arrays) != len(self.forms):
            return False
        for name, dtype, shape in self.forms:
            array = arrays.get(name)
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return False
        return all(arrays[name].tobytes() == value for name, value in self.values)

    def leave(self, visit: Visit) -> None:
        """One user less; the last one of a job that was dropped closes it."""
        self.visits.discard(visit)
        cache = self._cache() if self.dropped else None
        if cache is not None:
            cache.close_dropped()

    def drain(self) -> None:
        """Wait until what was submitted has come to its end."""
        self.job.drain()

    def close(self) -> None:
        """Give back what it holds. Idempotent."""
        self.job.close()
        if self.then is not None:
            self.then.close()


class JobCache:
    """Keeps up to ``size`` compiled jobs of a model; may be used from any thread.

    Without a size it keeps few, and more as long as they hold little memory (``limits.py``).

    Of a model that runs in stages it keeps more: the run that has the most of them counts as one,
    or no stage would be there when its turn comes again.

    One lock guards the table, also while a job is compiled: threads that need the same job wait
    for it instead of compiling it twice. It is not held while jobs run.
    """

    def __init__(self, maker: JobMaker, size: int | None) -> None:
        self._maker = maker
        self._size = size
        self._stages = 1
        self._lock = new_lock()
        self._jobs: OrderedDict[JobKey, LeasedJob] = OrderedDict()
        self._dropped: tuple[LeasedJob, ...] = ()  # and not closed yet
        self._fixed: tuple[str, ...] = ()
        self._last: dict[int, LeasedJob] = {}  # that was leased, of each stage
        self._found: Mapping[str, Array] = {}  # by the stages of the last run if assumed
        self._supposed: Mapping[str, Array] = {}  # in the next one
        self._closed = False
        self._forks = process.forks

    def __len__(self) -> int:
        return len(self._jobs)

    def lease(
        self,
        specs: Mapping[str, TensorSpec],
        arrays: Mapping[str, Array],
        visit: Visit,
        stage: int = 1,
    ) -> LeasedJob:
        """The job for what is fed, compiled if need be; to be left when it has run.

        Args:
            specs: of every input that is fed, and of what earlier stages of the model found.
            arrays: their values, as far as they are known.
            visit: held by the caller, who runs the job within.
            stage: which of the model it is.

        Raises:
            SessionError: the cache was closed, or this thread is making or closing a job of it.
            ModelError, DeviceError, UnsupportedError: the job cannot be made.
        """
        self._check_process()
        if self._is_here():
            raise reentry_error(f"{self._maker.name}: a run with new inputs was asked for")
        with self._lock:
            self._close_dropped()  # also those whose last user was interrupted
            leased = self._find(specs, arrays)
            leased.visits.add(visit)
            self._last[stage] = leased
            if self._closed:  # by a handler of a signal meanwhile, which could not wait
                self._drop_down_to(0)
        return leased

    def last_stage(
        self, arrays: Mapping[str, Array], visit: Visit, first: LeasedJob | None = None
    ) -> tuple[LeasedJob, dict[str, Array]]:
        """The job that gives the results, and what is fed to it; stages before it are run.

        Args:
            arrays: a value for each input.
            visit: as for ``lease``.
            first: of the first stage, where ``lease_again`` gave it.

        Raises:
            RunError: a stage stopped.
            ResourceLimitError: there are more than are run.
            SessionError, ModelError, DeviceError, UnsupportedError: as ``lease``.
        """
        drawn: dict[str, Array] = {}
        stage = 0
        while True:
            stage += 1
            leased, first = first or self.lease_again(arrays, visit, stage), None
            if leased is None:
                self._stages = max(self._stages, stage)
                specs = {name: TensorSpec.of(array) for name, array in arrays.items()}
                leased = self.lease(specs, arrays, visit, stage)
            fed = {name: arrays[name] for name in arrays if name in leased.takes}
            draw(leased.draws, drawn)
            fed |= {name: drawn[name] for name in leased.draws}
            if leased.then is None:
                return leased, fed
            try:
                if stage > limits.STAGES:
                    raise ResourceLimitError(
                        f"{leased.then.why}: is where stage {stage} of the model ends; "
                        f"{limits.STAGES} are run"
                    )
                arrays = {**arrays, **leased.then(leased.job.run(fed))}
            finally:
                leased.leave(visit)

    def lease_again(
        self, arrays: Mapping[str, Array], visit: Visit, stage: int = 1
    ) -> LeasedJob | None:
        """The job that was leased last for a stage, if it serves; no lock is taken for it.

        What is fed need not be checked then: it is what was fed before, but for the elements.
        """
        last = self._last.get(stage)
        if last is None or not last.serves(arrays):
            return None
        last.visits.add(visit)
        if not last.dropped:  # whoever drops it from now on sees the visit
            return last
        last.leave(visit)
        return None

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """The results for a value of each input, by name. Raises what ``last_stage`` does."""
        visit = Visit()
        with visit:
            leased, fed = self.last_stage(arrays, visit)
            try:
                return leased.job.run(fed)
            finally:
                leased.leave(visit)

    def run_if_assumed(self, arrays: Mapping[str, Array]) -> dict[str, Array] | None:
        """As ``run``; None where the job was built for an assumption that does not hold.

        Where a run in stages found the values that the one before it had found, the next is one
        job, which supposes that it will find them again.
        """
        values = self._supposed
        if values:
            made = self._run_if_assumed({**arrays, **values})
            if made is not None:
                return made
            self._supposed = {}
        return self._run_if_assumed(arrays)

    def _run_if_assumed(self, arrays: Mapping[str, Array]) -> dict[str, Array] | None:
        visit = Visit()
        with visit:
            leased, fed = self.last_stage(arrays, visit)
            try:
                made = leased.job.run(fed)
            except RunError:
                if not leased.checks:
                    raise
                return None  # it may have stopped for what it assumed
            finally:
                leased.leave(visit)
        if leased.supposed:
            self._supposed = leased.supposed if leased.supposed is self._found else {}
            self._found = leased.supposed
        return made if all_hold(leased.checks, made) else None

    def last_for(self, feeds: object) -> LeasedJob | None:
        """The job that was leased last, if it serves ``feeds`` as they are; else None.

        Most calls are like the one before, and this tells so ten times faster than ``lease``.
        What it does not tell at a glance, checks and keys must. Nothing is leased: whoever runs the
        job may find that it was closed to make room for another, and must then ask ``last_stage``;
        and calls ``close_dropped`` where it finds it dropped when it has run.
        """
        last = self._last.get(1)
        if last is None or last.then or last.draws or type(feeds) is not dict:
            return None
        return last if last.serves(feeds) else None

    def close_dropped(self) -> None:
        """Close the jobs that were dropped and that nobody uses any more. Idempotent."""
        if process.gives_back(self._forks) and not self._is_here():
            with self._lock:
                self._close_dropped()

    def close(self) -> None:
        """Close every job, those that run or are being made as soon as they are done. Idempotent.

        In a forked process and at the end of Python it gives nothing back.

        Raises:
            SessionError: a kernel of one of them asked for it.
        """
        self._closed = True
        if process.gives_back(self._forks) and not self._is_here():
            with self._lock:
                self._drop_down_to(0)

    def _is_here(self) -> bool:
        """Whether this thread is making or closing a job further out, and holds the lock."""
        if not self._lock.locked():
            return False
        return is_within((self,), _HOLDING, sys._getframe(2))

    def _check_process(self) -> None:
        if process.forks != self._forks:
            if self._jobs:
                raise process.forked_error(f"a job of {self._maker.name}")
            self._lock, self._forks = new_lock(), process.forks
        process.check_not_ending(f"{self._maker.name} cannot run")

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
        self._jobs[key] = LeasedJob(made, specs, arrays, self)
        return key

    def _make_room(self) -> None:
        """Drop a job before there is one too many: both may not fit into memory together."""
        self._drop_down_to(self._most() - 1 + self._stages - 1)

    def _most(self) -> int:
        if self._size is not None:
            return self._size
        held = accumulate(leased.job.held_bytes for leased in reversed(self._jobs.values()))
        fit = sum(nbytes <= limits.JOBS_BYTES for nbytes in held)
        return min(max(fit + 1, limits.FEW_JOBS), limits.JOBS)

    def _drop_down_to(self, size: int) -> None:
        while len(self._jobs) > size:
            key, leased = next(iter(self._jobs.items()))
            # Nothing is called here, so that Ctrl-C comes between none of these. Whoever runs it
            # unasked finds it dropped afterwards, unless it is found to be under way here.
            leased.dropped = True
            self._dropped = (*self._dropped, leased)
            del self._jobs[key]
        self._last = {stage: last for stage, last in self._last.items() if not last.dropped}
        self._close_dropped()

    def _close_dropped(self) -> None:
        over = [leased for leased in self._dropped if not leased.is_used]
        if over:
            for leased in over:
                leased.drain()
            Shelter().run(partial(self._close_these, over))

    def _close_these(self, over: Sequence[LeasedJob]) -> None:
        for leased in over:
            leased.close()
            self._dropped = tuple(other for other in self._dropped if other is not leased)


_HOLDING = codes_of(JobCache.lease, JobCache.close_dropped, JobCache.close)
