"""``Recorder``: when each task of a run was worked on, for executors that are given one."""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.device import DeviceContext
from headrace.errors import LaunchError
from headrace.timeline import TaskSpan


class Recorder:
    """Collects the spans of one executor, whose threads all add to it; read it between calls.

    Every task is launched by itself and waited for: a recorded run takes longer than another one,
    by a little where launches return with the work done, and by what its queue hides elsewhere.
    Streams still overlap.
    """

    def __init__(self) -> None:
        self._spans: list[TaskSpan] = []
        self._base = 0  # of the numbers of acts

    def spans(self) -> tuple[TaskSpan, ...]:
        """All spans since the last ``clear``, in the order in which the tasks ended."""
        return tuple(self._spans)

    def clear(self) -> None:
        """Forget them."""
        self._spans.clear()

    def restart(self, phases: int) -> None:
        """Acts are numbered from 0 again, after an error: count on from those that there are.

        Args:
            phases: acts use the slots of their registers in turns of so many; as they do then.
        """
        most = max((span.number for span in self._spans), default=-1)
        self._base = -(-(most + 1) // phases) * phases

    def timed(
        self, task: int, step: int, act: Callable[[int], None], context: DeviceContext
    ) -> Callable[[int], None]:
        """``act``, and the wait for its work, with their time noted.

        Args:
            task: position of the task in the plan.
            step: position of its launch in its chain, for errors.
            act: does the task for the act of a number.
            context: the stream that it is launched on.
        """
        add, wait = self._spans.append, None if context.host_synchronous else context.synchronize

        def run(number: int) -> None:
            begin = time.perf_counter_ns()
            try:
                act(number)
                if wait is not None:
                    wait()
            except Exception as error:
                raise LaunchError(step) from error
            add(TaskSpan(task, self._base + number, begin, time.perf_counter_ns()))

        return run
