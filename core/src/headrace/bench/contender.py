"""A contender: one runtime with the model loaded, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.bench.runtimes import thread_variables
from headrace.errors import BenchError
from headrace.frontend.cache_folder import PLAN_CACHE
from headrace.frontend.closing import Closing
from headrace.light_dataclass import dataclass

if TYPE_CHECKING:
    from headrace.tensor_spec import Array

_LAST_WORDS = 2000
"""Characters of what a process that ended wrote to stderr."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a contender is to run.

    Attributes:
        model: the file.
        feeds: a file of ``write_arrays``.
        device: where headrace runs it; for others the host.
        fallback: what headrace makes of ops that the device cannot run.
        threads: how many the runtime may use.
        plan_cache: whether headrace may take a plan that an earlier process kept.
    """

    model: str
    feeds: str
    device: str
    fallback: str | None
    threads: int
    plan_cache: bool


class Contender(Closing):
    """One runtime at one task; a context manager that ends its process. For one thread."""

    def __init__(self, runtime: str, task: Task, folder: Path) -> None:
        """Begin the process. ``folder``: where its outputs are put, and plans are kept."""
        self._who = f"{runtime} with {task.threads} thread(s)"
        again = "-again" if task.plan_cache else ""
        self._outputs = folder / f"{runtime}-{task.threads}{again}.npz"
        self._order = {"runtime": runtime, "outputs": str(self._outputs), **asdict(task)}
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close
        inherited = {name: text for name, text in os.environ.items() if name != PLAN_CACHE}
        own = {"HEADRACE_CACHE": str(folder), **thread_variables(task.device, task.threads)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**inherited, **own},
            text=True,
            encoding="utf-8",
        )

    def load(self) -> float:
        """Seconds from the file to the first outputs; what must be imported was before.

        Raises:
            BenchError: the runtime cannot run the model.
        """
        return float(self._ask({"do": "load", **self._order})["seconds"])

    def outputs(self) -> Mapping[str, Array]:
        """What the first call gave, by name."""
        from headrace.bench.worker import read_arrays

        return read_arrays(self._outputs)

    def turn(self) -> float:
        """Seconds of a call: the median of as many as fill a moment."""
        return float(self._ask({"do": "turn"})["seconds"])

    def peak_bytes(self) -> int:
        """The most resident memory of the process so far."""
        return int(self._ask({"do": "end"})["peak_bytes"])

    def _ask(self, order: Mapping[str, object]) -> dict[str, Any]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise BenchError(f"{self._who} ended with {process.wait()}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchError(f"{self._who} cannot run the model: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._stderr.seek(0)
        text = self._stderr.read().decode("utf-8", "replace").strip()
        return text[-_LAST_WORDS:] or "it wrote nothing"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._stderr.close()
