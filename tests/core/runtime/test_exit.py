"""A program that closes nothing ends all the same."""

from __future__ import annotations

import pytest
from programs import output

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

STUCK = """
import atexit

atexit.register(lambda: begin())  # when headrace has closed all

import numpy as np
import headrace as flow
import stuck_thread
from headrace import memory_statistics, release_cached_memory
from onnx_models import IDENTITY, info, model, node

x = np.ones(3, np.float32)
registry = stuck_thread.registry()
file = model([node("Relu", "x", "y")], [info("x", ["n"])])
loaded = flow.onnx.load(file, "near", registry=registry)


class Owner:
    def __del__(self):
        try:
            WHAT
        except flow.errors.SessionError as error:
            print(error)
        print("over")


owner = Owner()


def begin():
    global session
    session = flow.Session(registry)
    session.add_job(stuck_thread.job)
    stuck_thread.leave_in(STAYS)
"""

MANY = """
import atexit

import numpy as np
import headrace as flow
from headrace.registry import BackendRegistry
from headrace.runtime import shelter
from onnx_models import IDENTITY
from toy_backends import far

registry = BackendRegistry.from_modules({"far": far(("identity",))})
models = [flow.onnx.load(IDENTITY, "far", registry=registry) for _ in range(5)]
for model in models:
    model.run({"x": np.ones((2, 3), np.float32)})

start, started = shelter.start_new_thread, []


def counted(*arguments):
    started.append(arguments)
    start(*arguments)


shelter.start_new_thread = counted
atexit.register(lambda: print(len(started), [one.in_use_bytes for one in
                                             flow.memory_statistics(registry)]))
"""

LATE = """
import sys
import threading

where = sys.argv[1]
late = threading.Event()
if where == "pool before":
    from concurrent.futures import ThreadPoolExecutor
if where != "pool behind":
    threading._register_atexit(late.set)  # called when headrace has heard of the end
exec(PROGRAM.replace("sys.argv[1]", "'session'"))
if where == "pool behind":
    from concurrent.futures import ThreadPoolExecutor

    late.set()


def task():
    late.wait()
    print(job(np.array([-3, 4], np.float32)).tolist())


if where == "thread":
    threading.Thread(target=task).start()
else:
    ThreadPoolExecutor(1).submit(task)
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


@pytest.mark.parametrize("where", ["thread", "pool before", "pool behind"])
def test_what_python_waits_for_may_call_jobs_when_the_main_thread_has_ended(where: str) -> None:
    """Ordinary threads, and tasks of a pool, whichever was imported first; then all is closed."""
    program = f"PROGRAM = {PROGRAM!r}\n{LATE}"
    printed, reported, code = output(program, where)
    assert sorted(printed.splitlines()) == sorted([*RESULTS.splitlines(), "[0.0, 4.0]"])
    assert (reported, code) == ("", 0)


def test_all_that_is_open_at_the_end_of_a_program_is_closed_by_one_thread() -> None:
    """Each that is started would wait for those that compute in Python, which may be many."""
    assert output(MANY) == ("1 [0]\n", "", 0)


@pytest.mark.parametrize(
    ("where", "what", "said"),
    [
        ("loaded", "loaded.close()", ""),
        ("loaded", "loaded.run({'x': x})", "cannot run: Python is at its end"),
        ("session", "session.close()", ""),
        ("session", "session.close(cancel=True)", ""),
        ("session", "session.sync()", "this session cannot be used: Python is at its end"),
        ("session", "session.run('job', [x])", "this session cannot be used: Python is at its end"),
        ("loaded", "flow.onnx.load(IDENTITY, 'near').run({'x': x})", "Python is at its end"),
        ("loaded", "release_cached_memory(registry)", ""),
        ("loaded", "memory_statistics(registry)", "Python is at its end"),
    ],
)
def test_a_finalizer_at_the_end_of_python_waits_for_no_thread_that_is_left(
    where: str, what: str, said: str
) -> None:
    """Such a thread stays where it is, with what it holds; nobody takes that from it."""
    stays = {"loaded": "loaded.run, {'x': x}", "session": "session.run, 'job', [x]"}[where]
    program = STUCK.replace("WHAT", what).replace("STAYS", stays)
    printed, reported, code = output(program)
    assert (printed.splitlines()[-1], reported, code) == ("over", "", 0)
    assert said in printed
