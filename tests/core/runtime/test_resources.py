"""What an executor holds on devices: allocators are called as promised, all is given back."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from toy_backends import FarAllocator, FarBuffer, far

from headrace.device import AllocatorEntry, Buffer, Device, DeviceEntry, MemoryKind
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.runtime.devices import pool_of
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)


def job() -> JobGraph:
    """``y = relu(x)`` on ``far``."""
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    x = builder.input("x", TensorSpec.of(X))
    builder.output("y", *builder.op("relu", [x]))
    return builder.finish()


class Recorder:
    """The backend ``far`` with an allocator and a device that note what is done to them."""

    def __init__(self, fail_free: bool = False) -> None:
        self.notes: list[str] = []
        self.sizes: list[int] = []
        recorder = self

        class NotingDevice(Device):
            def close(self) -> None:
                recorder.notes.append("close")

        class NotingAllocator(FarAllocator):
            def allocate(self, nbytes: int) -> FarBuffer:
                recorder.note("allocate")
                recorder.sizes.append(nbytes)
                return super().allocate(nbytes)

            def free(self, buffer: Buffer) -> None:
                recorder.note("free")
                super().free(buffer)
                if fail_free:
                    raise ZeroDivisionError("on purpose")

        entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, NotingAllocator)
        hooks = dict(vars(far()))
        hooks["headrace_allocators"] = hookimpl(lambda: [entry])
        hooks["headrace_devices"] = hookimpl(lambda: [DeviceEntry("far", open=NotingDevice)])
        self.registry = BackendRegistry.from_modules({"far": SimpleNamespace(**hooks)})

    def note(self, what: str) -> None:
        """Note a call, and whether the lock that keeps others out is held."""
        held = pool_of(self.registry).memories.allocating.locked()
        self.notes.append(what if held else f"{what} without the lock")


def test_allocators_are_called_under_one_lock() -> None:
    """Two sessions on two threads never call the allocator of a device at once."""
    recorder = Recorder()
    with CompiledJob(job(), recorder.registry) as compiled:
        assert compiled.run({"x": X})["y"].tolist() == [1, 0, 3]
    assert set(recorder.notes) == {"allocate", "free", "close"}
    assert recorder.notes.count("allocate") == recorder.notes.count("free")


def test_what_a_plugin_raises_at_close_stops_nothing_else() -> None:
    """The error of a free is raised after the device was closed; closing again is quiet."""
    recorder = Recorder(fail_free=True)
    compiled = CompiledJob(job(), recorder.registry)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        compiled.close()
    assert recorder.notes[-1] == "close"
    compiled.close()
    assert recorder.notes.count("close") == 1


def test_nothing_is_never_asked_for() -> None:
    """A job of empty tensors alone asks the allocator for a byte, and gives empty results."""
    recorder = Recorder()
    empty = np.zeros((0, 3), np.float32)
    builder = JobGraphBuilder("job", Placement.of_device("far"))
    x = builder.input("x", TensorSpec.of(empty))
    builder.output("y", *builder.op("relu", [x]))
    with CompiledJob(builder.finish(), recorder.registry) as compiled:
        assert compiled.run({"x": empty})["y"].shape == (0, 3)
    assert recorder.sizes == [1]
