"""Small jobs that between them use all that the runtime has, each with what numpy says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import Compiled, compile_job
from headrace.device import DeviceEntry, StreamIndexEntry, StreamIndexGenerator
from headrace.graph.builder import JobGraphBuilder
from headrace.graph.job_graph import JobGraph
from headrace.hookspecs import hookimpl
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import Array, TensorSpec
from headrace_fakedevice import plugin
from headrace_fakedevice.device import FakeDevice, device_count

SPEC = TensorSpec((4, 32), "int64")
W = np.arange(32, dtype=np.int64) * 1000
Arrays = Mapping[str, Array]


class TwoStreams(StreamIndexGenerator):
    """Two compute streams in turn."""

    def __init__(self, device_index: int = 0) -> None:
        super().__init__(device_index)
        self._turn = 0

    def compute(self) -> int:
        self._turn += 1
        return (0, 3)[self._turn % 2]


@dataclass(frozen=True)
class SmallJob:
    """A job.

    Attributes:
        name: of the job.
        build: adds its ops; ``on`` makes the placement of the device of an index.
        compute: what numpy makes of ``x``.
        streams: stream indices of its devices.
        peers: devices copy to each other.
    """

    name: str
    build: Callable[[JobGraphBuilder], None]
    compute: Callable[[Array], Arrays]
    streams: type[StreamIndexGenerator] = StreamIndexGenerator
    peers: bool = True
    place: str = "0:0"

    def graph(self) -> JobGraph:
        """The job as a graph."""
        builder = JobGraphBuilder(self.name, Placement.parse(plugin.TAG, self.place))
        self.build(builder)
        return builder.finish()

    def registry(self) -> BackendRegistry:
        """A fresh registry for it."""
        hooks = {name: hook for name, hook in vars(plugin).items() if name.startswith("headrace_")}
        streams = StreamIndexEntry(plugin.TAG, self.streams)
        hooks["headrace_stream_index_generators"] = hookimpl(lambda: [streams])
        if not self.peers:
            device = DeviceEntry(plugin.TAG, device_count, FakeDevice, frozenset({"in-place"}))
            hooks["headrace_devices"] = hookimpl(lambda: [device])
        return BackendRegistry.from_modules({plugin.TAG: SimpleNamespace(**hooks)})

    def feeds(self, number: int) -> dict[str, Array]:
        """Other numbers for each call."""
        random = np.random.default_rng(number)
        return {"x": random.integers(-99, 99, SPEC.shape)}

    def picked(self, results: Arrays) -> Arrays:
        """The results of a call in the order of the job."""
        return {name: results[name] for name in self.compute(self.feeds(0)["x"])}

    def check(self, number: int, results: Arrays) -> None:
        """The results of call ``number`` are what numpy says."""
        expected = self.compute(self.feeds(number)["x"])
        assert list(results) == list(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(results[name], array, f"{name} of call {number}")


def at(builder: JobGraphBuilder, index: int, op: str, *inputs: object, **attrs: object) -> object:
    """One op on the device of an index."""
    with builder.placed(Placement.parse(plugin.TAG, f"0:{index}")):
        (made,) = builder.op(op, list(inputs), **attrs)  # type: ignore[arg-type]
    return made


def _chain(builder: JobGraphBuilder) -> None:
    x, w = builder.input("x", SPEC), builder.constant(W, "w")
    y = at(builder, 0, "negative", at(builder, 0, "relu", at(builder, 0, "add", x, w)))
    builder.output("y", y)  # type: ignore[arg-type]


def _two_devices(builder: JobGraphBuilder) -> None:
    x, w = builder.input("x", SPEC), builder.constant(W, "w")
    a = at(builder, 0, "add", x, w)
    b = at(builder, 1, "negative", a)
    c = at(builder, 0, "add", a, x)
    d = at(builder, 1, "add", b, x)
    builder.output("y", at(builder, 0, "subtract", c, d))  # type: ignore[arg-type]
    builder.output("d", d)  # type: ignore[arg-type]


def _two_streams(builder: JobGraphBuilder) -> None:
    x = builder.input("x", SPEC)
    a = at(builder, 0, "negative", x)
    b = at(builder, 0, "add", a, x)
    for number in range(4):
        a, b = at(builder, 0, "add", a, x), at(builder, 0, "subtract", b, a)
        if number == 1:
            builder.output("early", b)  # type: ignore[arg-type]
    builder.output("y", at(builder, 0, "add", a, b))  # type: ignore[arg-type]


def _many_readers(builder: JobGraphBuilder) -> None:
    x = builder.input("x", SPEC)
    a = at(builder, 0, "negative", x)
    for index in range(4):
        read = at(builder, index, "add", a, at(builder, index, "negative", x))
        builder.output(f"y{index}", read)  # type: ignore[arg-type]


def _straight(builder: JobGraphBuilder) -> None:
    x = builder.input("x", SPEC)
    builder.output("x again", x)
    builder.output("w", builder.constant(W, "w"))


def _shared_out(builder: JobGraphBuilder) -> None:
    x = builder.input("x", SPEC)
    (total,) = builder.op("reduce_sum", builder.op("negative", [x]), attrs={"axes": (0,)})
    builder.output("y", *builder.op("add", [x, total]))


def _streams_of_numpy(x: Array) -> Arrays:
    a, b, early = -x, -x + x, x
    for number in range(4):
        a, b = a + x, b - a
        early = b if number == 1 else early
    return {"early": early, "y": a + b}


def _many_of_numpy(x: Array) -> Arrays:
    return {f"y{index}": -x - x for index in range(4)}


def _two_of_numpy(x: Array) -> Arrays:
    a = x + W
    d = x - a
    return {"y": a + x - d, "d": d}


JOBS = {
    job.name: job
    for job in (
        SmallJob("chain", _chain, lambda x: {"y": -np.maximum(x + W, 0)}),
        SmallJob("two devices", _two_devices, _two_of_numpy),
        SmallJob("through the host", _two_devices, _two_of_numpy, peers=False),
        SmallJob("two streams", _two_streams, _streams_of_numpy, streams=TwoStreams),
        SmallJob("many readers", _many_readers, _many_of_numpy),
        SmallJob("straight", _straight, lambda x: {"x again": x, "w": W}),
        SmallJob("shared out", _shared_out, lambda x: {"y": x - x.sum(0)}, place="0:0-2"),
    )
}


@cache
def compiled(name: str, width: int = 1) -> Compiled:
    """The plan of a job, made once: a plan may run in any registry with the same devices."""
    job = JOBS[name]
    return compile_job(job.graph(), job.registry(), concurrency=Concurrency(width))


def executor(name: str, width: int = 1, registry: BackendRegistry | None = None) -> Executor:
    """A small job on its devices, for ``width`` calls at once. Its weights are temporaries."""
    made = compiled(name, width)
    constants = {key: value.repeat(2)[::2] for key, value in made.constants.items()}
    return Executor(made.plan, registry or JOBS[name].registry(), constants)
