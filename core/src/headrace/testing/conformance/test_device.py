"""What a backend says of itself, and opening its devices."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.device import API_VERSION
from headrace.errors import DeviceUnavailableError
from headrace.memory_case import MemoryKind
from headrace.registry import Backend, default_registry
from headrace.tensor_spec import TensorSpec
from headrace.testing.case import Case
from headrace.testing.opened import OpenedDevice
from headrace.testing.run import run_op

pytestmark = pytest.mark.conformance("core")

ADD = Case("one", "add", (np.array([1, 2], np.float32), np.array([3, 4], np.float32)))


def test_the_tag_is_the_name_that_was_asked_for(backend: Backend, tag: str) -> None:
    """All records of a backend carry the name of its entry point."""
    records = (backend.device, backend.allocator, backend.context, backend.streams)
    assert {record.tag for record in records} == {tag}
    kernels = [entry for op in backend.kernels.ops() for entry in backend.kernels.entries(op)]
    assert {entry.tag for entry in kernels} == {tag}


def test_the_device_entry_can_be_shown(backend: Backend) -> None:
    """Versions and capabilities are text, and the contract is one that core serves."""
    entry = backend.device
    texts: list[object] = [*entry.versions, *entry.versions.values(), *entry.capabilities]
    assert all(isinstance(text, str) for text in texts)
    assert entry.api_version[0] == API_VERSION[0]


def test_the_number_of_devices_does_not_change(backend: Backend, tag: str) -> None:
    """Counting is free of side effects, and core counts what the plugin counts."""
    counts = {backend.device.count(), backend.device.count(), default_registry().device_count(tag)}
    assert len(counts) == 1
    assert counts.pop() >= 1


def test_the_alignment_is_a_power_of_two(backend: Backend) -> None:
    """And the kind of memory is one of those that core knows how to copy."""
    alignment = backend.allocator.alignment_bytes
    assert alignment > 0
    assert alignment & (alignment - 1) == 0
    assert backend.allocator.memory_kind in MemoryKind


def test_there_is_a_kernel(backend: Backend) -> None:
    """A device without one runs nothing."""
    assert backend.kernels.ops() != ()


def test_a_device_knows_its_index(tag: str, backend: Backend) -> None:
    """The first and the last device open as themselves, at the same time."""
    last = backend.device.count() - 1
    with OpenedDevice(f"{tag}:0") as first, OpenedDevice(f"{tag}:{last}") as other:
        assert (first.device.index, other.device.index) == (0, last)


def test_a_closed_device_opens_again(device: str) -> None:
    """Sessions come and go; the device stays usable."""
    for value in (1, 2):
        data = np.full(4, value, np.uint8)
        with OpenedDevice(device) as opened:
            result = opened.download(opened.upload(data), TensorSpec((4,), "uint8"))
        assert result.tolist() == data.tolist()


def test_an_index_that_does_not_exist_is_an_error(tag: str, backend: Backend) -> None:
    """The first index too many is refused, with the number of devices, and the others still run."""
    count = backend.device.count()
    with pytest.raises(DeviceUnavailableError, match=rf"{tag}:{count}\b.*{count}"):
        run_op(f"{tag}:{count}", ADD)
    (result,) = run_op(f"{tag}:{count - 1}", ADD)
    assert result.tolist() == [4, 6]


def test_streams_are_numbered_the_same_each_time(backend: Backend) -> None:
    """Plans are reproducible: equal calls in equal order give equal numbers, within 12 bits."""

    def numbers() -> list[int]:
        streams = backend.streams.create(0)
        asked = [streams.compute(), streams.h2d(), streams.d2h(), streams.compute()]
        return [*asked, streams.named("a"), streams.named("b"), streams.named("a")]

    assert numbers() == numbers()
    assert all(0 <= number < 2**12 for number in numbers())
    assert numbers()[-1] == numbers()[-3] != numbers()[-2]


def test_kernels_say_what_they_match(backend: Backend) -> None:
    """Error messages print the match of a kernel; that it is a lambda helps nobody."""
    for op in backend.kernels.ops():
        for entry in backend.kernels.entries(op):
            assert "<lambda>" not in str(entry.match), f"{op}: {entry.match}"
