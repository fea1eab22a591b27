"""``ReadyJob``: a plan on its devices, ready to run."""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import Array

# Executors of jobs that were dropped without being closed. A collector may run at any point of any
# thread, also where a lock of the runtime is held, so it only puts them here.
_DROPPED: deque[Executor] = deque()


class ReadyJob:
    """A plan on its devices. A context manager; ``close`` gives everything back.

    What a job holds that was dropped without ``close`` is given back when the next one is made.

    Attributes:
        plan: what runs.
    """

    def __init__(
        self,
        plan: Plan,
        registry: BackendRegistry,
        constants: Mapping[str, Array],
        *,
        lasting: bool = False,
    ) -> None:
        """Acquire what ``plan`` needs.

        Args:
            plan: a checked plan.
            registry: where its devices come from.
            constants: values of the weights that it names.
            lasting: nobody writes to them as long as they are held, so that devices in host memory
                may use them where they lie.

        Raises:
            DeviceError: a device cannot be used, or has not enough memory.
            PlanError: a weight is missing, or a device lacks a kernel.
        """
        close_dropped()
        self.plan = plan
        self._executor = Executor(plan, registry, constants, lasting=lasting)
        self._dropped = weakref.finalize(self, _DROPPED.append, self._executor)
        self._dropped.atexit = False

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on arrays whose names, shapes and dtypes are those of the plan's inputs.

        Raises:
            RunError: the run stopped; the job stays usable.
            SessionError: the job was closed.
        """
        return self._executor.run(feeds)

    def close(self) -> None:
        """Stop threads, free memory, release devices. Idempotent."""
        self._executor.close()
        self._dropped.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def close_dropped() -> None:
    """Give back what jobs held that were dropped without ``close``."""
    for _ in range(len(_DROPPED)):
        try:
            executor = _DROPPED.popleft()
        except IndexError:  # another thread does the same
            return
        try:
            executor.close()
        except Exception as error:  # noqa: BLE001 - whoever should hear of it has gone
            warnings.warn(
                f"a job that was dropped unclosed failed to close: {error!r}",
                ResourceWarning,
                stacklevel=3,
            )
