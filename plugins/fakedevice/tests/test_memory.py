"""Memory that checks itself: every misuse is found, and says what it was."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.device import HostAllocator
from headrace.errors import OutOfMemoryError, SettingError
from headrace_fakedevice import MemoryFault
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.device import BYTES_VARIABLE, FakeDevice
from headrace_fakedevice.memory import ALIGNMENT_BYTES, MAGIC, open_buffer
from headrace_fakedevice.statistics import statistics


def raw(device: FakeDevice, address: int) -> np.ndarray:
    """Header, data and trailer of a block: what a kernel that runs wild would write to."""
    return device.blocks[address]._storage


@pytest.mark.parametrize("nbytes", [0, 1, 511, 512, 513, 100_000])
def test_blocks_are_aligned_and_do_not_touch(allocator: FakeAllocator, nbytes: int) -> None:
    """Whatever the size, the next block begins on the alignment, behind two guards."""
    first, second = allocator.allocate(nbytes), allocator.allocate(1)
    assert first.nbytes == nbytes
    assert first.address % ALIGNMENT_BYTES == second.address % ALIGNMENT_BYTES == 0
    assert second.address >= first.address + nbytes + ALIGNMENT_BYTES


def test_addresses_lie_where_no_process_can_map(allocator: FakeAllocator) -> None:
    """A fake address is above the user half of any 57-bit address space and fits into int64."""
    assert 2**56 < allocator.allocate(1).address < 2**63


def test_two_devices_share_no_address(allocator: FakeAllocator) -> None:
    """Devices with neighbouring indices have disjoint ranges."""
    other = FakeAllocator(FakeDevice(allocator.device.index + 1))
    mine, theirs = allocator.allocate(1), other.allocate(1)
    assert theirs.address - mine.address >= 2**40
    other.free(theirs)


def test_two_allocators_of_a_device_share_no_address(allocator: FakeAllocator) -> None:
    """Addresses belong to the device, not to whoever asked."""
    first = allocator.allocate(100)
    second = FakeAllocator(allocator.device).allocate(100)
    assert second.address >= first.address + 100


def test_a_block_begins_with_the_magic_code(device: FakeDevice, allocator: FakeAllocator) -> None:
    """The header holds 0x46414B45, which reads FAKE."""
    block = raw(device, allocator.allocate(8).address)
    assert block[:4].tobytes() == b"FAKE" == MAGIC.to_bytes(4, "big")


def test_fresh_memory_is_nan_in_every_float_dtype(
    device: FakeDevice, allocator: FakeAllocator
) -> None:
    """What nobody wrote cannot pass for a number."""
    data = open_buffer(allocator.allocate(64), device.index)
    assert all(np.isnan(data.view(dtype)).all() for dtype in ("float16", "float32", "float64"))


def test_freed_memory_is_poisoned(device: FakeDevice, allocator: FakeAllocator) -> None:
    """Nothing of the data is left when the block is gone."""
    buffer = allocator.allocate(4)
    storage = raw(device, buffer.address)
    open_buffer(buffer, device.index)[:] = 7
    allocator.free(buffer)
    assert storage[ALIGNMENT_BYTES:][:4].tolist() == [0xFE] * 4


def test_use_after_free_is_found(device: FakeDevice, allocator: FakeAllocator) -> None:
    """Views made before the free are dead as well."""
    buffer = allocator.allocate(8)
    view = buffer.view(4, 4)
    allocator.free(buffer)
    for stale in (buffer, view):
        with pytest.raises(MemoryFault, match="used after it was freed"):
            open_buffer(stale, device.index)


def test_double_free_is_found(allocator: FakeAllocator) -> None:
    """The second free is an error and changes no count."""
    buffer = allocator.allocate(8)
    allocator.free(buffer)
    before = statistics(allocator.device.index)
    with pytest.raises(MemoryFault, match="freed a second time"):
        allocator.free(buffer)
    assert statistics(allocator.device.index) == before


@pytest.mark.parametrize(
    ("offset", "message"),
    [(0, "magic code"), (4, "before its beginning"), (511, "before its beginning"),
     (520, "behind its end"), (1031, "behind its end")],
)  # fmt: skip
def test_a_write_outside_is_found(
    device: FakeDevice, allocator: FakeAllocator, offset: int, message: str
) -> None:
    """One wrong byte at either end is found on the next use and on free."""
    buffer = allocator.allocate(8)
    raw(device, buffer.address)[offset] = 0
    with pytest.raises(MemoryFault, match=message):
        open_buffer(buffer, device.index)
    with pytest.raises(MemoryFault, match=message):
        allocator.free(buffer)


@pytest.mark.parametrize(("offset", "nbytes"), [(-1, 2), (0, 9), (8, 1), (4, 5), (0, -1)])
def test_a_view_out_of_range_is_refused(allocator: FakeAllocator, offset: int, nbytes: int) -> None:
    """A view lies inside its buffer, also when that is a view itself."""
    view = allocator.allocate(32).view(8, 8)
    with pytest.raises(MemoryFault, match="reaches out of 8 bytes"):
        view.view(offset, nbytes)


def test_views_of_views_open_the_right_bytes(device: FakeDevice, allocator: FakeAllocator) -> None:
    """Offsets add up."""
    buffer = allocator.allocate(16)
    open_buffer(buffer, device.index)[:] = np.arange(16)
    view = buffer.view(4, 8).view(3, 2)
    assert open_buffer(view, device.index).tolist() == [7, 8]
    assert view.address == buffer.address + 7


def test_a_view_cannot_be_freed(allocator: FakeAllocator) -> None:
    """Only what ``allocate`` returned is given back."""
    with pytest.raises(MemoryFault, match="a view cannot be freed"):
        allocator.free(allocator.allocate(8).view(0, 4))


def test_the_host_gets_no_array(allocator: FakeAllocator) -> None:
    """Neither numpy nor the attribute of host buffers opens device memory."""
    buffer = allocator.allocate(8)
    assert not hasattr(buffer, "memory")
    assert not hasattr(buffer, "array")
    with pytest.raises(MemoryFault, match="copy it with copy_d2h"):
        np.asarray(buffer)


def test_host_memory_is_not_device_memory(device: FakeDevice, allocator: FakeAllocator) -> None:
    """A forgotten copy to the device is named as such."""
    host = HostAllocator(device).allocate(8)
    with pytest.raises(MemoryFault, match="copy it with copy_h2d"):
        open_buffer(host, device.index)
    with pytest.raises(MemoryFault, match="not its memory"):
        allocator.free(host)


def test_memory_of_another_device_is_out_of_reach(allocator: FakeAllocator) -> None:
    """Devices do not see each other's memory."""
    buffer = allocator.allocate(8)
    with pytest.raises(MemoryFault, match="fakedevice:0 cannot reach"):
        open_buffer(buffer, 0)


def test_more_than_there_is_says_how_much_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked, used and total are in the message, what is left is told, and the device goes on."""
    monkeypatch.setenv(BYTES_VARIABLE, "1000")
    device = FakeDevice(9)
    small = FakeAllocator(device)
    assert device.free_bytes() == 1000
    kept = small.allocate(600)
    with pytest.raises(OutOfMemoryError, match="401 bytes: 600 of its 1000 are in use"):
        small.allocate(401)
    assert device.free_bytes() == 400
    small.free(small.allocate(400))
    small.free(kept)
    device.close()


def test_a_negative_size_is_refused(allocator: FakeAllocator) -> None:
    """A size that was computed wrongly does not become an address."""
    with pytest.raises(MemoryFault, match="-1 bytes"):
        allocator.allocate(-1)


def test_a_leak_is_found_when_the_device_is_closed(
    device: FakeDevice, allocator: FakeAllocator
) -> None:
    """Closing counts what was not freed."""
    kept = allocator.allocate(100)
    allocator.free(allocator.allocate(1))
    with pytest.raises(MemoryFault, match="1 allocations of 100 bytes were not freed"):
        device.close()
    allocator.free(kept)
    device.close()


def test_memory_size_must_be_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad value of the variable is an error that names it."""
    monkeypatch.setenv(BYTES_VARIABLE, "4G")
    with pytest.raises(SettingError, match=f"{BYTES_VARIABLE} is '4G'; it must be a number"):
        FakeDevice(9)
