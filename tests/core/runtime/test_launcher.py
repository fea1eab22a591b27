"""Acts are launched behind what they come after, by events, in whatever order work is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from networks import network
from toy_backends import FarContext, FarKernel, far

from headrace.compiler.concurrency import Concurrency
from headrace.device import Device, DeviceContext, Event, Launch
from headrace.errors import RunError
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.ids import ActorId, DeviceId, StreamId
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry
from headrace.runtime.group import GroupContext
from headrace.runtime.launcher import Launcher, comes_after
from headrace.runtime.network import Network
from headrace.tensor_spec import TensorSpec

X = np.array([1, -2, 3], np.float32)


class Watched(DeviceContext):
    """Says what it was asked for: ("record", its name, count) and ("wait", its name, event)."""

    host_synchronous = False

    def __init__(self, name: str, said: list[tuple[str, ...]]) -> None:
        super().__init__(Device(0), 0)
        self.name, self.said, self.count = name, said, 0

    def record_event(self) -> Named:
        self.said.append(("record", f"{self.name}{self.count}"))
        self.count += 1
        return Named(f"{self.name}{self.count - 1}", self.said)

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Named)
        self.said.append(("wait", self.name, event.name))


class Named(Event):
    """An event with a name; says when the host waits for it."""

    def __init__(self, name: str, said: list[tuple[str, ...]]) -> None:
        self.name, self.said = name, said

    def synchronize(self) -> None:
        self.said.append(("host waits", self.name))


def stream(number: int) -> StreamId:
    return StreamId(DeviceId(0, 1, 0), number)


def wired(reads: list[set[int]], slots: list[int], streams: list[int], width: int) -> Network:
    """Actor n on stream ``streams[n]`` reads the registers of ``reads[n]``; ``width`` calls."""
    found = network(reads, slots)
    return Network(
        found.wirings,
        found.producers,
        tuple(map(stream, streams)),
        found.jobs,
        found.sources,
        found.sinks,
        found.sink_counts,
        found.sections,
        {0: width},
        found.side_by_side,
    )


def launcher(of: Network, contexts: list[DeviceContext], said: list[tuple[str, ...]]) -> Launcher:
    def launch(actor: int, number: int) -> None:
        said.append(("launch", f"{actor}.{number}"))

    by_stream = {stream(n): context for n, context in enumerate(contexts)}
    return Launcher(of, by_stream, [partial(launch, a) for a in range(len(of.wirings))])


def test_readers_wait_for_writers_and_writers_for_readers() -> None:
    """The event of the act that wrote the piece; that of the act that read the slot before."""
    said: list[tuple[str, ...]] = []
    of = wired([set(), {0}], [2, 1], [0, 1], width=3)
    run = launcher(of, [Watched("a", said), Watched("b", said)], said).launches
    for number in range(3):
        run[0](number)
        run[1](number)
    assert said[:5] == [
        ("launch", "0.0"),
        ("record", "a0"),
        ("wait", "b", "a0"),
        ("launch", "1.0"),
        ("record", "b0"),
    ]
    waits = [one[1:] for one in said if one[0] == "wait"]
    assert waits == [("b", "a0"), ("b", "a1"), ("a", "b0"), ("b", "a2")]


def test_nobody_waits_within_a_stream_nor_for_calls_that_are_over() -> None:
    """Streams are in order; with one call at a time nobody reads any more when the next begins."""
    reads: list[set[int]] = [set(), {0}, {1}]
    one = wired(reads, [1, 1, 1], [0, 0, 1], width=1)
    assert [comes_after(one, ActorId(a)) for a in range(3)] == [(), (), ((1, 0),)]
    two = wired(reads, [1, 1, 1], [0, 0, 1], width=2)
    assert [comes_after(two, ActorId(a)) for a in range(3)] == [(), ((2, 1),), ((1, 0),)]


def test_the_host_waits_where_a_stream_returns_with_the_work_done() -> None:
    """It waits itself before it reads and before it writes, and records nothing."""
    said: list[tuple[str, ...]] = []
    of = wired([set(), {0}, {1}], [1, 1, 1], [0, 1, 0], width=2)
    held = launcher(of, [DeviceContext(Device(0), 0), Watched("d", said)], said)
    for number in range(2):
        for actor in range(3):
            held.launches[actor](number)
    assert [one for one in said if one[0] != "launch"] == [
        ("record", "d0"),
        ("host waits", "d0"),
        ("host waits", "d0"),
        ("record", "d1"),
        ("host waits", "d1"),
    ]
    assert [held.works_later(ActorId(a)) for a in range(3)] == [False, True, False]


def test_streams_without_events_are_launched_as_they_were_bound() -> None:
    """Where all is done on return, nothing is put around a launch."""
    of = wired([set(), {0}], [1, 1], [0, 1], width=1)
    hosts = {stream(n): DeviceContext(Device(0), n) for n in range(2)}
    bound: list[Callable[[int], None]] = [lambda number: None, lambda number: None]
    assert list(Launcher(of, hosts, bound).launches) == bound


def test_streams_of_several_devices_wait_for_each_member() -> None:
    """What follows an exchange waits for all devices; all wait for what comes before it."""
    said: list[tuple[str, ...]] = []
    group = GroupContext([Watched("g", said), Watched("h", said)])
    of = wired([set(), {0}, {1}], [1, 1, 1], [0, 1, 2], width=1)
    run = launcher(of, [Watched("a", said), group, Watched("z", said)], said).launches
    for actor in range(3):
        run[actor](0)
    assert [one[1:] for one in said if one[0] == "wait"] == [
        ("g", "a0"),
        ("h", "a0"),
        ("z", "g0"),
        ("z", "h0"),
    ]


class Failing(FarKernel):
    """Work that raises on the device, once for each op of ``broken``."""

    broken: ClassVar[list[str]]

    def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
        assert isinstance(context, FarContext)
        op = self.call.op

        def fail_or_work() -> None:
            if op in self.broken:
                self.broken.remove(op)
                raise ArithmeticError(f"{op} is on fire")
            work()

        return lambda: context.queue.append(fail_or_work)


@pytest.mark.parametrize("width", [1, 2])
def test_the_act_that_failed_first_is_named_call_after_call(width: int) -> None:
    """Not the copy behind it that hears of it, nor what failed in a call before."""

    class Kernel(Failing):
        broken: ClassVar[list[str]] = []

    builder = JobGraphBuilder("job", Placement.of_device("far:0"))
    x = builder.input("x", TensorSpec.of(X))
    (y,) = builder.op("relu", [x])
    with builder.placed(Placement.of_device("far:1")):
        builder.output("y", *builder.op("add", [y, y]))
    registry = BackendRegistry.from_modules({"far": far(kernel=Kernel)})
    with CompiledJob(
        builder.finish(), registry, CompileOptions(concurrency=Concurrency(width))
    ) as compiled:
        for op, device in (("add", "far:1/s0"), ("relu", "far:0/s0"), ("add", "far:1/s0")):
            Kernel.broken.append(op)
            with pytest.raises(RunError, match=f"{op} is on fire") as caught:
                compiled.run({"x": X})
            assert (caught.value.op, caught.value.device) == (op, device)
            assert isinstance(caught.value.__cause__, ArithmeticError)
            assert compiled.run({"x": X})["y"].tolist() == [2, 0, 6]
