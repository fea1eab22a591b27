"""Collectives that a plugin offers: right on every device, and in the order of every stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from headrace.device import COLLECTIVES, DeviceContext, HostBuffer, OpCall
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder, SbpHint
from headrace.op_call import Attrs
from headrace.placement import Placement
from headrace.registry import Backend
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.opened import OpenedDevice

pytestmark = pytest.mark.conformance("collectives")

ROWS, COLUMNS = 7, 5  # divided by neither 2 nor 3
X = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
JOIN = {"sum": np.add, "max": np.maximum, "min": np.minimum}

# (collective, its attributes but for the devices)
KINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("all_reduce", {"reduction": reduction}) for reduction in JOIN),
    *(("reduce_scatter", {"reduction": r, "axis": axis}) for r in JOIN for axis in (0, 1)),
    *(("all_gather", {"axis": axis}) for axis in (0, 1)),
    *(("broadcast", {"root": root}) for root in (0, 1)),
    *(("all_to_all", {"from_axis": a, "axis": b}) for a, b in ((0, 1), (1, 0))),
)


class Meeting:
    """One collective among the first devices of a backend, on one stream of each."""

    def __init__(
        self, opened: list[OpenedDevice], name: str, attrs: dict[str, Any], seed: int
    ) -> None:
        count = len(opened)
        random = np.random.default_rng(seed)
        terms = [random.integers(-9, 9, X.shape).astype(np.float32) for _ in range(count)]
        whole = terms[0]
        if "reduction" in attrs:
            for term in terms[1:]:
                whole = JOIN[str(attrs["reduction"])](whole, term)
        holders = list(range(count))
        if name in ("all_reduce", "reduce_scatter"):
            self.given = terms
        elif name == "broadcast":
            self.given, holders = [whole], [int(str(attrs["root"]))]
        else:
            self.given = np.array_split(whole, count, axis=attrs.get("from_axis", attrs["axis"]))
        if name in ("reduce_scatter", "all_to_all"):
            self.wanted = np.array_split(whole, count, axis=attrs["axis"])
        else:
            self.wanted = [whole] * count
        specs = [tuple(map(TensorSpec.of, arrays)) for arrays in (self.given, self.wanted)]
        values = Attrs({"devices": tuple(range(count)), **attrs})
        self.call = OpCall(name, name, specs[0], specs[1], values, count)
        self.opened = opened
        self.holders = holders

    def run(self, contexts: list[DeviceContext]) -> list[Array]:
        """Copy in, meet, copy out, all queued; then wait for each stream."""
        entry = self.opened[0].backend.collectives.select(self.call)
        if entry is None:
            pytest.skip(f"device {self.opened[0].backend.tag!r} does not offer {self.call.op} so")
        inputs = [
            self.opened[i].allocate(array.nbytes)
            for i, array in zip(self.holders, self.given, strict=True)
        ]
        outputs = [o.allocate(a.nbytes) for o, a in zip(self.opened, self.wanted, strict=True)]
        launch = entry.create(self.call).bind(contexts, inputs, outputs)
        results: list[tuple[HostBuffer, TensorSpec]] = []
        for i, buffer, array in zip(self.holders, inputs, self.given, strict=True):
            contexts[i].copy_h2d(buffer, self.opened[i].host_copy(np.ascontiguousarray(array)))
        launch()
        for i, (buffer, array) in enumerate(zip(outputs, self.wanted, strict=True)):
            host = self.opened[i].host(array.nbytes)
            contexts[i].copy_d2h(host, buffer)
            results.append((host, TensorSpec.of(array)))
        for context in reversed(contexts):
            context.synchronize()
        return [host.array(spec) for host, spec in results]


@pytest.fixture(params=[2, 3])
def opened(
    request: pytest.FixtureRequest, tag: str, backend: Backend
) -> Iterator[list[OpenedDevice]]:
    """The first devices of the backend; skips where there are fewer, or no collective."""
    if not backend.collectives.names():
        pytest.skip(f"backend {tag!r} offers no collectives; core says them in other ops")
    count = backend.device.count()
    if count < request.param:
        pytest.skip(f"backend {tag!r} has {count} devices here; this needs {request.param}")
    with ExitStack() as stack:
        yield [
            stack.enter_context(OpenedDevice(f"{tag}:{index}")) for index in range(request.param)
        ]


def test_every_one_is_known(backend: Backend) -> None:
    """A collective that core never asks for would never run."""
    assert set(backend.collectives.names()) <= set(COLLECTIVES)


@pytest.mark.parametrize(("name", "attrs"), KINDS, ids=str)
def test_a_collective_gives_what_it_says(
    opened: list[OpenedDevice], name: str, attrs: dict[str, Any]
) -> None:
    """On each device, for parts that are not of one size, behind copies that are only queued."""
    meeting = Meeting(opened, name, attrs, seed=1)
    contexts = [device.compute() for device in opened]
    for got, want in zip(meeting.run(contexts), meeting.wanted, strict=True):
        assert np.array_equal(got, want)


def test_meetings_follow_each_other(opened: list[OpenedDevice]) -> None:
    """On the same streams again and again; none reads what an earlier one left."""
    contexts = [device.compute() for device in opened]
    for seed in range(5):
        meeting = Meeting(opened, "all_reduce", {"reduction": "sum"}, seed)
        for got, want in zip(meeting.run(contexts), meeting.wanted, strict=True):
            assert np.array_equal(got, want)


def test_a_launch_reads_its_inputs_each_time(opened: list[OpenedDevice]) -> None:
    """A collective bound once exchanges what its buffers hold when it is launched."""
    meeting = Meeting(opened, "all_reduce", {"reduction": "sum"}, seed=2)
    contexts = [device.compute() for device in opened]
    entry = opened[0].backend.collectives.select(meeting.call)
    if entry is None:
        pytest.skip(f"device {opened[0].backend.tag!r} does not offer all_reduce of float32")
    inputs = [device.allocate(X.nbytes) for device in opened]
    outputs = [device.allocate(X.nbytes) for device in opened]
    launch = entry.create(meeting.call).bind(contexts, inputs, outputs)
    for factor in (1, -2, 3):
        for device, context, buffer in zip(opened, contexts, inputs, strict=True):
            context.copy_h2d(buffer, device.host_copy(X * factor))
        launch()
        for context in contexts:
            context.synchronize()
        for device, buffer in zip(opened, outputs, strict=True):
            got = device.download(buffer, TensorSpec.of(X))
            assert np.array_equal(got, X * factor * len(opened))


def test_a_job_meets_in_the_middle(opened: list[OpenedDevice], tag: str, backend: Backend) -> None:
    """Columns summed over rows that lie on several devices, then read by all of them."""
    for op in ("reduce_sum", "add"):
        if not backend.kernels.entries(op):
            pytest.skip(f"device {tag!r} has no kernel for {op}")
    placement = Placement.parse(tag, f"0:0-{len(opened) - 1}")
    builder = JobGraphBuilder("meeting", placement)
    x = builder.input("x", TensorSpec.of(X))
    builder.hint(x, SbpHint.of("S(0)"))
    (total,) = builder.op("reduce_sum", [x], axes=(0,), keep_dims=True)
    builder.hint(total, SbpHint.of("P"))
    (y,) = builder.op("add", [x, total])
    builder.output("y", y)
    with CompiledJob(builder.finish()) as job:
        rules = {boxed.rule for boxed in job.boxing if boxed.tensor == total.name}
        for factor in (1, 2):
            want = X * factor + (X * factor).sum(axis=0, keepdims=True)
            np.testing.assert_allclose(job.run({"x": X * factor})["y"], want, rtol=1e-6)
    if "all_reduce" in backend.collectives.names():
        assert "all_reduce" in rules
