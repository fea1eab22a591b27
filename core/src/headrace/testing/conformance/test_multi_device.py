"""Two devices of one backend at once: equal answers, and nothing of one on the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from headrace.device import Buffer, DeviceContext, Launch
from headrace.dtypes import ALL, DType
from headrace.errors import OutOfMemoryError, UnsupportedError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import Backend, default_registry
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.arrays import noise
from headrace.testing.case import Case
from headrace.testing.failing import error_of, failing_launch
from headrace.testing.fenced import run_fenced
from headrace.testing.opened import OpenedDevice
from headrace.testing.run import UncoveredError, call_of, compare
from headrace.testing.suite.witness import Evidence, WitnessedRegistry

pytestmark = pytest.mark.conformance("multi-device")

Pair = tuple[OpenedDevice, OpenedDevice]

SPEC = TensorSpec((5, 7), "float32")
X = np.arange(35, dtype=np.float32).reshape(SPEC.shape)
ONE = np.full(SPEC.shape, 1, np.float32)

# The parameter is not called `case`: tests with one of this name must leave no trace on a device
# other than the one under test.
SAMPLES = (
    Case("two", "add", (X, X[::-1] * 3)),
    Case("two", "matmul", (X, X.T.copy())),
    Case("two", "softmax", (X / 7,), {"axis": 1}),
    Case("two", "reduce_sum", (X,), {"axes": (0,)}),
    Case("two", "transpose", (X,), {"perm": (1, 0)}),
)


@pytest.fixture
def two(tag: str, backend: Backend) -> str:
    """The tag of a backend that has two devices."""
    count = backend.device.count()
    if count < 2:
        pytest.skip(f"backend {tag!r} has {count} device here; this needs two")
    return tag


@pytest.fixture
def pair(two: str) -> Iterator[Pair]:
    """The first two devices, both open."""
    with OpenedDevice(f"{two}:0") as first, OpenedDevice(f"{two}:1") as second:
        yield first, second


def content(opened: OpenedDevice, buffer: Buffer) -> Array:
    return opened.download(buffer, TensorSpec((buffer.nbytes,), "uint8"))


def adding_one(opened: OpenedDevice, context: DeviceContext, x: Buffer, y: Buffer) -> Launch:
    """A launch of ``y = x + 1``."""
    if not opened.backend.kernels.entries("add"):
        pytest.skip(f"device {opened.backend.tag!r} has no kernel for add")
    return opened.bind(context, "add", [(SPEC, x), (SPEC, opened.upload(ONE))], [y])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_each_device_gives_the_same_answer(pair: Pair, sample: Case) -> None:
    """Bit for bit, and the right one."""
    if pair[0].backend.kernels.select(call_of(sample)) is None:
        pytest.skip(f"device {pair[0].backend.tag!r} has no kernel for {sample.op}")
    answers = [run_fenced(opened, sample) for opened in pair]
    for opened, answer in zip(pair, answers, strict=True):
        compare(sample, answer, f"on {opened.backend.tag}:{opened.device.index}")
    assert answers[0][0].tobytes() == answers[1][0].tobytes()


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_job_on_both_gives_what_the_oracle_gives(two: str, sample: Case) -> None:
    """Both do their part of it, and the parts are put together."""
    evidence = Evidence()
    registry = WitnessedRegistry(default_registry(), evidence)
    if registry.backend(two).kernels.select(call_of(sample)) is None:
        pytest.skip(f"device {two!r} has no kernel for {sample.op}")
    builder = JobGraphBuilder(str(sample), Placement.parse(two, "0:0-1"))
    feeds = {f"x{i}": array for i, array in enumerate(sample.inputs) if array is not None}
    inputs = [builder.input(name, TensorSpec.of(array)) for name, array in feeds.items()]
    builder.output("y", *builder.op(sample.op, inputs, attrs=sample.attrs))
    try:
        job = CompiledJob(builder.finish(), registry)
    except UnsupportedError as error:  # parts are cut out and put together by kernels as well
        raise UncoveredError(str(error)) from error
    with job:
        for _ in range(2):
            compare(sample, (job.run(feeds)["y"],), f"on {two} 0:0-1")
    assert evidence.computed == {f"{two}:0", f"{two}:1"}


@pytest.mark.parametrize("dtype", sorted(ALL), ids=str)
def test_a_job_carries_tensors_from_device_to_device(two: str, dtype: DType) -> None:
    """There and back, bit for bit: the way leads through the host where there is no other."""
    bits = noise(24 * dtype.itemsize, dtype.number)
    if dtype.kind == "b":
        bits &= 1
    x = bits.view(dtype.numpy).reshape(2, 3, 4)
    builder = JobGraphBuilder("carry", Placement.parse(two, "0:0"))
    y = builder.input("x", TensorSpec.of(x))
    for index in (0, 1, 0):
        with builder.placed(Placement.parse(two, f"0:{index}")):
            (y,) = builder.op("identity", [y])
    builder.output("y", y)
    if default_registry().backend(two).kernels.select(call_of(Case("", "identity", (x,)))) is None:
        pytest.skip(f"device {two!r} has no kernel for identity of {dtype}")
    with CompiledJob(builder.finish()) as job:
        result = job.run({"x": x})["y"]
    assert result.dtype == x.dtype
    assert result.tobytes() == bits.tobytes()


@pytest.mark.parametrize("nbytes", [1, 13, 4097, 100_003])
def test_copies_through_the_host_are_exact(pair: Pair, nbytes: int) -> None:
    """Out of one device and into the other, by streams that wait for each other, not the host."""
    first, second = pair
    data = noise(nbytes, nbytes)
    source, destination, staging = first.upload(data), second.allocate(nbytes), first.host(nbytes)
    out, into = first.d2h(), second.h2d()
    out.copy_d2h(staging, source)
    into.wait_event(out.record_event())
    into.copy_h2d(destination, staging)
    into.synchronize()
    assert np.array_equal(content(second, destination), data)
    assert np.array_equal(content(first, source), data)


def test_memory_of_one_is_not_memory_of_the_other(pair: Pair) -> None:
    """Many buffers of equal sizes on both, at the same addresses perhaps, hold what each got."""
    sizes = (1, 64, 513, 4096, 70_001)
    kept = [[opened.upload(noise(n, n + i)) for n in sizes] for i, opened in enumerate(pair)]
    for index, (opened, buffers) in enumerate(zip(pair, kept, strict=True)):
        for nbytes, buffer in zip(sizes, buffers, strict=True):
            assert np.array_equal(content(opened, buffer), noise(nbytes, nbytes + index))


def test_what_one_frees_the_other_keeps(pair: Pair) -> None:
    """And what is allocated next on the first is not what the second still has."""
    first, second = pair
    kept = second.upload(noise(5000, 1))
    for seed in range(2, 6):
        freed = first.allocator.allocate(5000)
        first.allocator.free(freed)
        first.upload(noise(5000, seed))
    assert np.array_equal(content(second, kept), noise(5000, 1))


@pytest.mark.parametrize("full", [0, 1])
def test_one_that_has_no_memory_left_takes_none_of_the_other(pair: Pair, full: int) -> None:
    """Out of memory on one: the other gives memory, and so does the first."""
    with pytest.raises(OutOfMemoryError):
        pair[full].allocator.allocate(1 << 60)
    for opened in (pair[1 - full], pair[full]):
        assert np.array_equal(content(opened, opened.upload(noise(999, 1))), noise(999, 1))


def test_streams_of_both_work_at_once(pair: Pair) -> None:
    """With one stream index: the work of each is done there, whoever is waited for first."""
    results = []
    for index, opened in enumerate(pair):
        context, y = opened.compute(), opened.allocate(SPEC.nbytes)
        adding_one(opened, context, opened.upload(X * (index + 1)), y)()
        results.append((opened, context, y))
    for index, (opened, context, y) in reversed(list(enumerate(results))):
        context.synchronize()
        assert np.array_equal(opened.download(y, SPEC), X * (index + 1) + 1)


def test_devices_take_turns(pair: Pair) -> None:
    """Ten steps, each on the other device than the one before and waiting for its event."""
    contexts = [opened.compute() for opened in pair]
    buffers = [(opened.upload(X), opened.allocate(SPEC.nbytes)) for opened in pair]
    launches = [
        adding_one(opened, context, *both)
        for opened, context, both in zip(pair, contexts, buffers, strict=True)
    ]
    staging = pair[0].host_copy(X)
    for step in range(10):
        at = step % 2
        context, (x, y) = contexts[at], buffers[at]
        if step:
            context.wait_event(contexts[1 - at].record_event())
        context.copy_h2d(x, staging)
        launches[at]()
        context.copy_d2h(staging, y)
    contexts[1].synchronize()
    assert np.array_equal(staging.array(SPEC), X + 10)


def test_an_event_of_an_idle_device_is_reached(pair: Pair) -> None:
    """What the first device has queued is nothing that the second waits for, nor the reverse."""
    first, second = pair
    busy, idle = first.compute(), second.compute()
    source, destination = first.host_copy(X), first.allocate(SPEC.nbytes)
    busy.copy_h2d(destination, source)
    idle.record_event().synchronize()
    idle.synchronize()
    busy.synchronize()
    assert np.array_equal(first.download(destination, SPEC), X)


def test_an_error_on_one_is_no_error_of_the_other(pair: Pair) -> None:
    """Work that fails on the first leaves the second clean."""
    first, second = pair
    bad, good, y = first.compute(), second.compute(), second.allocate(SPEC.nbytes)
    failing, adding = failing_launch(first, bad), adding_one(second, good, second.upload(X), y)
    adding()
    errors = [error_of(failing), error_of(good.synchronize), error_of(bad.synchronize)]
    assert errors[1] is None
    assert errors.count(None) == 2, "the error was lost, or raised twice"
    assert np.array_equal(second.download(y, SPEC), X + 1)


def test_one_that_closes_leaves_the_other_at_work(two: str) -> None:
    """Its memory, its streams and its devices are its own; it opens again while the other runs."""
    with OpenedDevice(f"{two}:1") as kept:
        context, x, y = kept.compute(), kept.upload(X), kept.allocate(SPEC.nbytes)
        adding_one(kept, context, x, y)()
        for factor in (2, 3):
            with OpenedDevice(f"{two}:0") as other:
                data = other.upload(X * factor)
                assert np.array_equal(other.download(data, SPEC), X * factor)
        context.synchronize()
        assert np.array_equal(kept.download(y, SPEC), X + 1)
