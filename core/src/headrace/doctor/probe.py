"""The child process: takes one backend through its phases and says each before it begins.

Whatever the plugin does to the process, a file holds the last phase that was begun: one JSON object
a line, written through at once.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import DeviceUnavailableError
from headrace.registry import BackendRegistry, InstalledBackend, Phase
from headrace.registry.record import describe

Say = Callable[[dict[str, object]], None]


LONGEST_LOAD_SECONDS = 120.0
"""A child that only loads ends by itself then: whoever started it has gone, and it hangs."""


def load(installed: InstalledBackend, say: Say) -> BackendRegistry:
    """A registry of ``installed`` alone, which has loaded it.

    Raises:
        Exception: what the plugin raised.
    """

    @contextmanager
    def watch(backend: InstalledBackend) -> Iterator[Callable[[Phase], None]]:
        yield lambda phase: say({"phase": str(phase)})

    registry = BackendRegistry([installed], allow=[installed.tag], block=(), watch=watch)
    say({"devices": registry.device_count(installed.tag)})
    return registry


def probe(installed: InstalledBackend, say: Say) -> None:
    """Load ``installed``, open its first device, and use it: memory, copies, a kernel.

    Raises:
        Exception: what the plugin raised.
    """
    import numpy as np

    from headrace.tensor_spec import TensorSpec
    from headrace.testing.opened import OpenedDevice

    registry = load(installed, say)
    backend = registry.backend(installed.tag)
    values = np.array([1, -2, 3.5, 0], np.float32)
    spec = TensorSpec.of(values)
    say({"phase": "open"})
    with OpenedDevice(f"{installed.tag}:0", registry) as opened:
        say({"phase": "allocate"})
        opened.allocate(spec.nbytes)
        say({"phase": "copy"})
        x = opened.upload(values)
        _compare("copied there and back", opened.download(x, spec), values)
        if backend.kernels.entries("add"):
            say({"phase": "launch"})
            y, context = opened.allocate(spec.nbytes), opened.compute()
            launch = opened.bind(context, "add", [(spec, x), (spec, x)], [y])
            launch()
            context.synchronize()
            _compare("added to themselves", opened.download(y, spec), values + values)
        say({"phase": "close"})


def _compare(what: str, got: object, wanted: object) -> None:
    if repr(got) != repr(wanted):
        raise AssertionError(f"numbers {what} are {got!r}, and should be {wanted!r}")


def main(request: str, progress: str) -> None:
    """Probe what ``request`` names, and end as a program ends that used it.

    A plugin that crashes or hangs while the interpreter ends does so in every program; it is the
    phase ``exit``. A backend that failed before has been judged, and its process ends at once.

    Args:
        request: a file of JSON: ``backend``, the fields of an ``InstalledBackend``, and
            ``loads_only``, whether no more than its loading is asked for.
        progress: the file that is told each phase.
    """
    asked = json.loads(Path(request).read_text("utf-8"))
    fields = asked["backend"]
    fields["requires"] = tuple(fields["requires"])

    def say(line: dict[str, object]) -> None:
        # Opened anew each time: there are plugins that close files which are not their own.
        with Path(progress).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    say({"phase": "start"})
    # Registered before the plugin can register anything, so it is called after all of that.
    atexit.register(say, {"done": True})
    try:
        if not asked["loads_only"]:
            probe(InstalledBackend(**fields), say)
            say({"phase": "exit"})
            return
        faulthandler.dump_traceback_later(LONGEST_LOAD_SECONDS, exit=True)
        load(InstalledBackend(**fields), say)
        say({"done": True})
    except DeviceUnavailableError as error:
        say({"state": error.reason, "cause": error.cause, "hint": error.hint})
    except BaseException as error:  # noqa: BLE001 - the parent is told what it was
        say({"state": "invalid", "cause": describe(error)})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
