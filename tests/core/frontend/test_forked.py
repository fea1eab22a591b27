"""A forked process is refused with a reason, whatever the threads of its parent were doing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from forked import in_child
from gated_kernels import Gate
from onnx_models import info, model, node
from toy_backends import FarKernel, far, near

import headrace as flow
import headrace.typing as tp
from headrace.numpy_ops import NumpyKernel
from headrace.onnx import load
from headrace.op_call import OpCall
from headrace.registry import BackendRegistry

DOUBLED = model([node("Add", "x x", "y")], [info("x", ["n"])])
X = np.array([1, -2, 3], np.float32)
REFUSED = "was compiled before this process was forked"


class Bench:
    """Makes the kernels of ``far``; once it is ``stopped``, none is made until it is ``open``."""

    def __init__(self) -> None:
        self.stopped = False
        self.reached = threading.Event()
        self.open = threading.Event()

    def kernel(self, call: OpCall) -> NumpyKernel:
        if self.stopped:
            self.reached.set()
            assert self.open.wait(20)
        return FarKernel(call)

    @contextmanager
    def meanwhile(self, work: Any) -> Iterator[None]:
        """While another thread, which does ``work``, compiles."""
        self.stopped = True
        thread = threading.Thread(target=work)
        thread.start()
        assert self.reached.wait(20)
        try:
            yield
        finally:
            self.open.set()
            thread.join()


def registry_of(kernel: Any) -> BackendRegistry:
    return BackendRegistry.from_modules(
        {"near": near(kernel=NumpyKernel), "far": far(kernel=kernel)}
    )


@pytest.mark.parametrize("width", [1, 2])
def test_a_model_that_a_thread_of_the_parent_compiles(width: int) -> None:
    """Whichever of its locks that thread holds, nobody waits for it; the parent runs on."""
    bench = Bench()
    kinds = registry_of(bench.kernel)
    with load(DOUBLED, "far", registry=kinds, concurrency_width=width) as loaded:
        loaded.run({"x": X})
        with bench.meanwhile(lambda: loaded.run({"x": X[:2]})):
            for rows in (3, 2, 1):
                assert REFUSED in in_child(lambda rows=rows: loaded.run({"x": X[:rows]}))
                assert REFUSED in in_child(lambda rows=rows: loaded.submit({"x": X[:rows]}))
            assert in_child(loaded.close) == "nothing"
        assert loaded.run({"x": X})["y"].tolist() == [2, -4, 6]


def test_a_session_that_a_thread_of_the_parent_compiles() -> None:
    """Jobs that are ready are refused as those are that are not."""
    bench = Bench()
    with flow.Session(registry_of(bench.kernel)) as session:
        config = flow.FunctionConfig()
        config.default_placement_scope(flow.scope.placement("far", "0:0"))

        @flow.global_function(function_config=config, session=session)
        def ready(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
            return flow.relu(x)

        ready(X)

        @flow.global_function(function_config=config, session=session)
        def added(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
            return x + x

        with bench.meanwhile(lambda: added(X)):
            for work in (lambda: ready(X), lambda: added(X), lambda: ready.submit(X), session.sync):
                assert REFUSED in in_child(work)
            assert in_child(session.close) == "nothing"
        assert added(X).tolist() == [2, -4, 6]


def test_a_call_of_the_parent_cannot_be_waited_for() -> None:
    """It will never be over there; one that was over before gives its result."""
    gate = Gate("add_0")
    kinds = registry_of(gate.kernel)
    with load(DOUBLED, "far", registry=kinds, concurrency_width=2) as loaded:
        future = loaded.submit({"x": X})
        assert gate.reached.wait(20)
        assert REFUSED in in_child(future.result)
        assert REFUSED in in_child(future.exception)
        gate.open.set()
        assert future.result()["y"].tolist() == [2, -4, 6]
        assert in_child(future.result) == "nothing"
