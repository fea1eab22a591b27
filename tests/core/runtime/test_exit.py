"""A program that closes nothing ends all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
import sys
import threading
import queue
from types import SimpleNamespace

import numpy as np
import headrace as flow
import headrace.typing as tp
from headrace.hookspecs import hookimpl
from headrace.registry import BackendRegistry
from headrace.registry.registry import replace_default_registry
from toy_backends import FarContext, far
from headrace.device import DeviceContextEntry


class Threaded(FarContext):
    """An ordinary thread serves the stream until its context is closed."""

    def __init__(self, device, stream_index):
        super().__init__(device, stream_index)
        self.asked = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while (done := self.asked.get()) is not None:
            super().synchronize()
            done.set()

    def synchronize(self):
        done = threading.Event()
        self.asked.put(done)
        done.wait()

    def close(self):
        self.asked.put(None)
        self.thread.join()


module = far()
module.headrace_device_contexts = hookimpl(lambda: [DeviceContextEntry("far", Threaded)])
replace_default_registry(BackendRegistry.from_modules({"far": module}))
session = flow.Session() if sys.argv[1] == "session" else None

@flow.global_function(session=session)
def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
    with flow.scope.placement("far", "0:0"):
        return flow.relu(x)

@flow.global_function(session=session)
def tell(x: tp.Numpy.Placeholder((2,))) -> tp.Callback[tp.Numpy]:
    with flow.scope.placement("far", "0:0"):
        return flow.relu(x)

print(job(np.array([-1, 2], np.float32)).tolist())
for n in range(3):
    tell(np.array([-1, n], np.float32))(lambda y: print(y.tolist()))
job.submit(np.array([-1, 2], np.float32))
'''


FINALIZED = """
import numpy as np
import headrace as flow
from headrace.registry import BackendRegistry
from onnx_models import IDENTITY
from toy_backends import far


class Owner:
    def __init__(self):
        registry = BackendRegistry.from_modules({"far": far(("identity",))})
        self.model = flow.onnx.load(IDENTITY, "far", registry=registry)

    def __del__(self):
        self.model.close()
        print("closed")


owner = Owner()
owner.model.run({"x": np.ones((2, 3), np.float32)})
"""

RESULTS = "[0.0, 2.0]\n[0.0, 0.0]\n[0.0, 1.0]\n[0.0, 2.0]\n"


@pytest.mark.parametrize("whose", ["default", "session"])
def test_a_session_that_nobody_closed_keeps_nobody_waiting(whose: str) -> None:
    """Python waits for ordinary threads of a backend; their streams are closed before.

    What is under way comes to its end, and callbacks get their results.
    """
    assert output(PROGRAM, whose) == (RESULTS, "", 0)


def test_a_finalizer_that_closes_a_model_at_the_end_of_python_waits_for_nobody() -> None:
    """No other thread runs any more then."""
    assert output(FINALIZED) == ("closed\n", "", 0)


def output(program: str, *arguments: str) -> tuple[str, str, int]:
    """What a program prints and reports, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout, done.stderr, done.returncode
