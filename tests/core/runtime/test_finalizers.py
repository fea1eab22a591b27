"""Finalizers that close a model, and are run by the collector in the middle of something else."""

from __future__ import annotations

import pytest
from programs import output

PROGRAM = """
import gc
import sys
import threading

import numpy as np
import headrace as flow
import toy_backends
from headrace.device import Device, DeviceEntry
from headrace.hookspecs import hookimpl
from headrace.registry import BackendRegistry
from onnx_models import info, model, node

where, owned, closed = sys.argv[1], [], []


class Owner:
    def __init__(self, model):
        self.model, self.me = model, self

    def __del__(self):
        self.model.close()
        closed.append(self)


def garbage(now):
    "An owner that nobody has, and so much more that the collector comes by."
    if now == where and owned:
        Owner(owned.pop())
        [[] for _ in range(10_000)]


class Allocator(toy_backends.FarAllocator):
    def allocate(self, nbytes):
        garbage("allocate")
        return super().allocate(nbytes)

    def free(self, buffer):
        garbage("free")
        super().free(buffer)


class Kernel(toy_backends.NumpyKernel):
    def __init__(self, call):
        garbage("bind")
        super().__init__(call)

    def enqueue(self, context, work):
        return lambda: (work(), waiting.pop()() if waiting else None)


def opened(index):
    garbage("open")
    return Device(index)


@hookimpl
def headrace_devices():
    yield DeviceEntry("far", open=opened)


toy_backends.FarAllocator = Allocator
far = toy_backends.far(("relu",))
far.headrace_devices = headrace_devices
near = toy_backends.near(("relu",), Kernel)
registry = BackendRegistry.from_modules({"far": far, "near": near})
x, waiting = {"x": np.ones((2, 3), np.float32)}, []


def loaded(device):
    file = model([node("Relu", "x", "y")], [info("x", ["n", 3])])
    ready = flow.onnx.load(file, device, registry=registry)
    ready.run(x)
    return ready


owner, device = ("far", "near") if where == "bind" else ("near", "far")
first = loaded(owner)
if where == "bind":  # of a replica, while the first executor is busy
    ready = loaded(device)
    owned.append(first)
    waiting.append(lambda: other.start() or other.join())
    other = threading.Thread(target=ready.run, args=(x,))
    ready.run(x)
    ready.close()
else:
    owned.append(first)
    loaded(device).close()
    flow.release_cached_memory(registry)
gc.collect()
print(len(closed), sum(one.in_use_bytes for one in flow.memory_statistics(registry)))
"""


COUNTING = """
import numpy as np
import headrace as flow
from headrace import collector
from headrace.registry import BackendRegistry
from onnx_models import info, model, node
from toy_backends import far

file = model([node("Relu", "x", "y")], [info("x", ["n", 3])])
registry = BackendRegistry.from_modules({"far": far(("relu",))})
first, second = (flow.onnx.load(file, "far", registry=registry) for _ in range(2))
for one in (first, second):
    one.run({"x": np.ones((2, 3), np.float32)})
owned = [first]


class Blocks(set):
    "In the middle of whose change something comes."

    def add(self, block):
        super().add(block)
        if owned:
            owned.pop().close()


collector._blocks = Blocks()
second.close()
print(sum(one.in_use_bytes for one in flow.memory_statistics(registry)))
"""


@pytest.mark.parametrize("where", ["open", "allocate", "free", "bind"])
def test_a_finalizer_does_not_wait_for_a_lock_of_its_own_thread(where: str) -> None:
    """A device is opened, memory allocated or given back, or a job bound, while it is garbage."""
    assert output(PROGRAM, where) == ("1 0\n", "", 0)


def test_what_comes_while_the_collector_is_told_to_rest_may_close() -> None:
    """A handler of a signal, say, which has another thread close, that tells it to rest as well."""
    assert output(COUNTING) == ("0\n", "", 0)
