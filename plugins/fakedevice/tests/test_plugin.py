"""What the hooks return, how many devices there are, and kernels on device memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from small_jobs import JOBS, executor

from headrace import ops
from headrace.device import HostBuffer, MemoryKind
from headrace.errors import DeviceUnavailableError, SettingError
from headrace.numpy_ops import FUNCTIONS
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec
from headrace_fakedevice import MemoryFault, plugin, statistics
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import BYTES_VARIABLE, COUNT_VARIABLE, device_count
from headrace_fakedevice.kernels import PREFERS_VARIABLE, FakeKernel, fake_kernels
from headrace_fakedevice.memory import ALIGNMENT_BYTES
from headrace_fakedevice.pinned import PAGEABLE_VARIABLE

ADD = ops.make_call(
    ops.get_op("add"), "sum", [TensorSpec((4,), "float32"), TensorSpec((4,), "float32")], {}
)


def host(values: list[float]) -> HostBuffer:
    return HostBuffer(np.array(values, np.float32).view(np.uint8))


def test_headrace_devices_names_one_type() -> None:
    """One entry, whose tag is the name of the entry point; no version of a driver to show."""
    (entry,) = plugin.headrace_devices()
    assert (entry.tag, entry.open(2).index) == ("fakedevice", 2)


def test_headrace_allocators_give_device_memory() -> None:
    """The memory is not the host's, and is aligned as the record says."""
    (entry,) = plugin.headrace_allocators()
    assert entry.memory_kind is MemoryKind.DEVICE
    assert entry.alignment_bytes == ALIGNMENT_BYTES == 512


def test_headrace_device_contexts_are_asynchronous() -> None:
    """Core must not take the path of devices that return when the work is done."""
    (entry,) = plugin.headrace_device_contexts()
    (device,) = plugin.headrace_devices()
    assert not entry.create(device.open(0), 1).host_synchronous


def test_headrace_stream_index_generators_number_three_streams() -> None:
    """Compute, host to device and device to host are 0, 1 and 2."""
    (entry,) = plugin.headrace_stream_index_generators()
    streams = entry.create(0)
    assert (streams.compute(), streams.h2d(), streams.d2h()) == (0, 1, 2)


def test_headrace_kernels_cover_every_op() -> None:
    """Whatever numpy computes runs here."""
    assert {entry.op for entry in plugin.headrace_kernels()} == FUNCTIONS.keys()


@pytest.mark.parametrize(("text", "count"), [(None, 4), ("0", 0), ("1", 1), ("128", 128)])
def test_the_number_of_devices_is_set_by_a_variable(
    monkeypatch: pytest.MonkeyPatch, text: str | None, count: int
) -> None:
    """Four by default; none stands for a machine without the hardware."""
    monkeypatch.delenv(COUNT_VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(COUNT_VARIABLE, text)
    assert device_count() == count


@pytest.mark.parametrize("text", ["-1", "129", "many", "1.0", "²", " 1"])
def test_a_bad_number_of_devices_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Nothing is guessed from a value that is no count."""
    monkeypatch.setenv(COUNT_VARIABLE, text)
    with pytest.raises(SettingError, match=COUNT_VARIABLE):
        device_count()


def test_a_kernel_runs_on_device_memory_when_its_stream_does(
    allocator: FakeAllocator, stream: Callable[[], FakeContext]
) -> None:
    """Copy in, add, copy out on one stream; the counters tell what ran."""
    context, before = stream(), statistics(allocator.device.index)
    a, b, y = (allocator.allocate(16) for _ in range(3))
    one, ten, result = host([1, 2, 3, 4]), host([10, 20, 30, 40]), host([0.0] * 4)
    context.copy_h2d(a, one)
    context.copy_h2d(b, ten)
    FakeKernel(ADD).bind(context, (a, b), (y,), None)()
    context.copy_d2h(result, y)
    assert statistics(allocator.device.index).launches == before.launches
    context.synchronize()
    after = statistics(allocator.device.index)
    assert result.memory.view(np.float32).tolist() == [11, 22, 33, 44]
    assert after.launches - before.launches == 1
    assert after.copies_h2d - before.copies_h2d == 2
    assert after.copies_d2h - before.copies_d2h == 1


def test_every_launch_checks_its_memory(
    allocator: FakeAllocator, stream: Callable[[], FakeContext]
) -> None:
    """A launch bound long ago finds that its buffer is gone."""
    context = stream()
    a, y = allocator.allocate(16), allocator.allocate(16)
    launch = FakeKernel(ADD).bind(context, (a, a), (y,), None)
    launch()
    context.synchronize()
    allocator.free(a)
    launch()
    with pytest.raises(MemoryFault, match="used after it was freed"):
        context.synchronize()


def test_a_kernel_that_writes_to_its_input_is_found(
    allocator: FakeAllocator,
    stream: Callable[[], FakeContext],
) -> None:
    """Inputs are opened for reading only."""
    context, kernel = stream(), FakeKernel(ADD)

    def vandal(call, inputs, outputs):
        inputs[0][:] = 0

    kernel.function = vandal
    a, y = allocator.allocate(16), allocator.allocate(16)
    kernel.bind(context, (a, a), (y,), None)()
    with pytest.raises(ValueError, match="read-only"):
        context.synchronize()


def test_statistics_count_memory(allocator: FakeAllocator) -> None:
    """Live bytes rise with an allocation and fall when it is freed; the total only rises."""
    index = allocator.device.index
    before = statistics(index)
    buffer = allocator.allocate(100)
    during = statistics(index)
    allocator.free(buffer)
    after = statistics(index)
    assert during.live_bytes - before.live_bytes == 100
    assert during.live_allocations - before.live_allocations == 1
    assert (after.live_bytes, after.live_allocations) == (
        before.live_bytes,
        before.live_allocations,
    )
    assert after.allocations - before.allocations == 1


@pytest.mark.parametrize("preferred", ["channels_first", "channels_last"])
def test_a_format_of_images_may_be_preferred(
    monkeypatch: pytest.MonkeyPatch, preferred: str
) -> None:
    """Its kernels go before the others, which take both and are there without the variable too."""
    monkeypatch.delenv(PREFERS_VARIABLE, raising=False)
    (both,) = (entry for entry in fake_kernels("fakedevice") if entry.op == "conv")
    assert both.data_formats == ("channels_first", "channels_last")
    monkeypatch.setenv(PREFERS_VARIABLE, preferred)
    same, better = (entry for entry in fake_kernels("fakedevice") if entry.op == "conv")
    assert same == both
    assert better.data_formats == (preferred,)
    assert better.priority > both.priority


def test_a_format_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variable and what it may be."""
    monkeypatch.setenv(PREFERS_VARIABLE, "NHWC")
    with pytest.raises(
        SettingError, match=f"{PREFERS_VARIABLE} is 'NHWC'; it must be channels_first or channels_"
    ):
        list(fake_kernels("fakedevice"))


@pytest.mark.parametrize("variable", [PREFERS_VARIABLE, COUNT_VARIABLE])
def test_a_wrong_setting_is_not_said_of_the_plugin(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Nobody is told to look for hardware, or for another version: the variable is wrong."""
    monkeypatch.setenv(variable, "many")
    with pytest.raises(DeviceUnavailableError) as caught:
        BackendRegistry.from_modules({plugin.TAG: plugin}).backend(plugin.TAG)
    told = str(caught.value)
    assert f"did not load: {variable} is 'many'; it must be " in told
    assert told.endswith(f". Try: unset {variable}")


@pytest.mark.parametrize(
    "variable", [PREFERS_VARIABLE, COUNT_VARIABLE, BYTES_VARIABLE, PAGEABLE_VARIABLE]
)
def test_a_setting_of_nothing_is_none(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """As with the variables of core."""
    monkeypatch.setenv(variable, "")
    registry = BackendRegistry.from_modules({plugin.TAG: plugin})
    assert registry.device_count(plugin.TAG) == 4
    with closing(executor("chain", registry=registry)) as ready:
        JOBS["chain"].check(1, ready.run(JOBS["chain"].feeds(1)))
