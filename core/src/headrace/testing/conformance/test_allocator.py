"""Memory of a device: aligned, independent, and holding what was copied into it."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.device import Buffer
from headrace.dtypes import ALL, DType
from headrace.errors import DeviceError, OutOfMemoryError
from headrace.tensor_spec import Array, TensorSpec
from headrace.testing.arrays import noise
from headrace.testing.opened import OpenedDevice

pytestmark = pytest.mark.conformance("memory")

SIZES = (1, 2, 3, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 100_003, 1 << 20)


def content(opened: OpenedDevice, buffer: Buffer, nbytes: int) -> Array:
    return opened.download(buffer, TensorSpec((nbytes,), "uint8"))


@pytest.mark.parametrize("nbytes", [0, *SIZES])
def test_memory_is_aligned(opened: OpenedDevice, nbytes: int) -> None:
    """Every address is a multiple of what the record promises, whatever was allocated before."""
    for _ in range(3):
        buffer = opened.allocator.allocate(nbytes)
        try:
            assert buffer.address % opened.backend.allocator.alignment_bytes == 0
            assert buffer.nbytes >= nbytes
        finally:
            opened.allocator.free(buffer)
        opened.allocate(1)


@pytest.mark.parametrize("nbytes", SIZES)
def test_data_survives_the_way_there_and_back(opened: OpenedDevice, nbytes: int) -> None:
    """Every byte arrives, at sizes around those at which copies are split."""
    data = noise(nbytes, nbytes)
    assert np.array_equal(content(opened, opened.upload(data), nbytes), data)


def test_nothing_can_be_allocated_and_copied(opened: OpenedDevice) -> None:
    """Zero bytes are a size like any other: tensors may be empty."""
    buffer = opened.upload(np.empty(0, np.uint8))
    assert content(opened, buffer, 0).size == 0


@pytest.mark.parametrize("dtype", sorted(ALL), ids=str)
def test_every_dtype_survives_bit_for_bit(opened: OpenedDevice, dtype: DType) -> None:
    """Copies do not look at what they copy: each NaN keeps its bits."""
    bits = noise(256 * dtype.itemsize, dtype.number)
    if dtype.kind == "b":
        bits &= 1
    spec = TensorSpec((4, 64), dtype)
    array = bits.view(dtype.numpy).reshape(spec.shape)
    result = opened.download(opened.upload(array), spec)
    assert result.dtype == dtype.numpy
    assert np.array_equal(result.reshape(-1).view(np.uint8), bits)


def test_a_view_reads_its_part(opened: OpenedDevice) -> None:
    """Also a view of a view, and an empty one at the end."""
    data = noise(1000, 1)
    buffer = opened.upload(data)
    assert np.array_equal(content(opened, buffer.view(100, 300), 300), data[100:400])
    inner = buffer.view(100, 300).view(37, 5)
    assert np.array_equal(content(opened, inner, 5), data[137:142])
    assert content(opened, buffer.view(1000, 0), 0).size == 0


def test_a_view_writes_its_part_and_no_more(opened: OpenedDevice) -> None:
    """The bytes beside it keep their value."""
    data, patch = noise(1000, 1), noise(10, 2)
    buffer, context = opened.upload(data), opened.compute()
    context.copy_h2d(buffer.view(500, 10), opened.host_copy(patch))
    context.synchronize()
    data[500:510] = patch
    assert np.array_equal(content(opened, buffer, 1000), data)


def test_a_view_knows_where_it_is(opened: OpenedDevice) -> None:
    """Addresses are those of the memory, so that alignment can be computed from them."""
    buffer = opened.allocate(1024)
    view = buffer.view(512, 100)
    assert (view.address - buffer.address, view.nbytes) == (512, 100)


def test_buffers_are_independent(opened: OpenedDevice) -> None:
    """Many at once, of many SIZES: no two share a byte, also after some were freed."""
    kept = [opened.upload(noise(size, size)) for size in SIZES]
    for size in SIZES:
        opened.allocator.free(opened.allocator.allocate(size))
    more = [opened.upload(noise(size, size + 1)) for size in SIZES]
    for size, old, new in zip(SIZES, kept, more, strict=True):
        assert np.array_equal(content(opened, old, size), noise(size, size))
        assert np.array_equal(content(opened, new, size), noise(size, size + 1))


@pytest.mark.parametrize("order", [(2, 0, 4, 1, 3), (4, 3, 2, 1, 0)], ids=str)
def test_memory_is_given_back_in_any_order(opened: OpenedDevice, order: tuple[int, ...]) -> None:
    """What is left keeps its bytes after each one that goes, and what is new does not lie on it."""
    context = opened.h2d()
    live = {}
    for index in range(5):
        live[index] = opened.allocator.allocate(1000 + index)
        context.copy_h2d(live[index].view(0, 1000), opened.host_copy(noise(1000, index)))
    context.synchronize()
    for index in order:
        opened.allocator.free(live.pop(index))
        opened.upload(noise(1000 + index, 99))
        for other, buffer in live.items():
            assert np.array_equal(content(opened, buffer.view(0, 1000), 1000), noise(1000, other))


def test_memory_changes_hands(opened: OpenedDevice) -> None:
    """Of a part that is recycled the next user makes what it likes; beside it nothing changes."""
    data, patch = noise(4096, 1), noise(1024, 2)
    buffer, context = opened.upload(data), opened.h2d()
    for offset in (1024, 2048):
        opened.allocator.recycle(buffer.view(offset, 1024))
        context.copy_h2d(buffer.view(offset, 1024), opened.host_copy(patch))
        context.synchronize()
        data[offset : offset + 1024] = patch
        assert np.array_equal(content(opened, buffer, 4096), data)
    opened.allocator.recycle(buffer)


def test_two_allocators_of_a_device_agree(opened: OpenedDevice) -> None:
    """Each session makes one of its own: none gives what another has given."""
    other = opened.backend.allocator.create(opened.device)
    context, given = opened.h2d(), []
    for index in range(6):
        allocator = (opened.allocator, other)[index % 2]
        given.append((allocator, allocator.allocate(777)))
        context.copy_h2d(given[-1][1].view(0, 777), opened.host_copy(noise(777, index)))
    context.synchronize()
    for index, (_, buffer) in enumerate(given):
        assert np.array_equal(content(opened, buffer.view(0, 777), 777), noise(777, index))
    for allocator, buffer in given:
        allocator.free(buffer)


def test_a_view_that_reaches_out_is_an_error(opened: OpenedDevice) -> None:
    """Before the beginning, behind the end, of a negative length: never somebody else's memory."""
    buffer = opened.allocate(100)
    for offset, nbytes in ((-1, 10), (0, 101), (100, 1), (60, 41), (10, -1)):
        with pytest.raises(DeviceError):
            buffer.view(offset, nbytes)
    with pytest.raises(DeviceError):
        buffer.view(10, 20).view(0, 21)


def test_copies_within_the_device(opened: OpenedDevice) -> None:
    """The source keeps its data and the destination gets it."""
    data = noise(3000, 1)
    source, destination, context = opened.upload(data), opened.allocate(3000), opened.compute()
    context.copy_d2d(destination, source)
    context.synchronize()
    assert np.array_equal(content(opened, destination, 3000), data)
    assert np.array_equal(content(opened, source, 3000), data)


def test_more_than_there_is_is_out_of_memory(opened: OpenedDevice) -> None:
    """Nobody has an exbibyte; afterwards memory is given as before."""
    with pytest.raises(OutOfMemoryError, match=str(1 << 60)):
        opened.allocator.allocate(1 << 60)
    data = noise(100, 1)
    assert np.array_equal(content(opened, opened.upload(data), 100), data)
