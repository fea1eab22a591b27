"""The stream: work is done when a launch returns, and native launches go out together."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device import DeviceContext, Launch
from headrace.errors import LaunchError
from headrace_cpu.extension import native


class CpuContext(DeviceContext):
    """A stream of the host, on the caller's thread."""

    def capture(self, launches: Sequence[Launch]) -> Launch:
        """One call for ``launches``: neighbours that are native are one native call.

        Python is paid for each run of them, not for each op. Most native launches cannot fail: what
        can be wrong was found when they were made. One that does, at an index that is outside, is
        named by its sequence.
        """
        steps: list[tuple[int, Launch]] = []  # position of the first launch, and the call
        run: list[native.Launch] = []

        def end_of_run(position: int) -> None:
            if run:
                steps.append((position - len(run), native.Sequence(list(run))))
                run.clear()

        for position, launch in enumerate(launches):
            if isinstance(launch, native.Launch):
                run.append(launch)
            else:
                end_of_run(position)
                steps.append((position, launch))
        end_of_run(len(launches))
        if len(steps) == 1 and isinstance(steps[0][1], native.Sequence):
            return steps[0][1]

        def call() -> None:
            index = 0
            try:
                for index, launch in steps:  # noqa: B007 - `except` reads it
                    launch()
            except LaunchError as error:  # of a sequence that begins there
                raise LaunchError(index + error.index) from error.__cause__
            except Exception as error:
                raise LaunchError(index) from error

        return call
