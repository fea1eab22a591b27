"""Memory of the device, and memory of the host that is page-locked for it."""

from __future__ import annotations

import ctypes

import numpy as np

from headrace.device import Allocator, Buffer, Device, HostBuffer
from headrace.errors import OutOfMemoryError
from headrace_cambricon.device import CambriconDevice
from headrace_cambricon.errors import CambriconError

ALIGNMENT_BYTES = 64
"""What addresses are multiples of. The driver's own are of more; core asks for no more."""


class CambriconBuffer(Buffer):
    """A range of a device's memory, which knows whose it is."""

    __slots__ = ("device_index",)

    def __init__(self, address: int, nbytes: int, device_index: int) -> None:
        super().__init__(address, nbytes)
        self.device_index = device_index

    def view(self, offset: int, nbytes: int) -> CambriconBuffer:
        """The part from ``offset`` on.

        Raises:
            DeviceError: it reaches out of this buffer.
        """
        self.check_view(offset, nbytes)
        return CambriconBuffer(self.address + offset, nbytes, self.device_index)


class CambriconAllocator(Allocator):
    """Gives memory of one device. The driver is asked for each allocation: core pools them."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        assert isinstance(device, CambriconDevice)
        self._device = device

    def allocate(self, nbytes: int) -> CambriconBuffer:
        """``nbytes`` bytes; what they hold is whatever was there.

        Raises:
            OutOfMemoryError: the device has not enough; says how much it has.
        """
        library, index = self._device.library, self._device.index
        try:
            # A size of 0 means different things to different releases.
            return CambriconBuffer(library.allocate(index, max(nbytes, 1)), nbytes, index)
        except CambriconError as error:
            raise _out_of_memory(self._device, nbytes, error) from error

    def free(self, buffer: Buffer) -> None:
        """Give memory back. The driver does not wait for work that uses it; core has."""
        self._device.library.free(self._device.index, buffer.address)


class PinnedAllocator(Allocator):
    """Gives memory of the host from and to which the device copies by itself."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        assert isinstance(device, CambriconDevice)
        self._device = device

    def allocate(self, nbytes: int) -> HostBuffer:
        """``nbytes`` bytes of the host.

        Raises:
            OutOfMemoryError: the host has not enough that can be locked.
        """
        size = max(nbytes, 1)
        try:
            address = self._device.library.allocate_host(self._device.index, size)
        except CambriconError as error:
            raise _out_of_memory(self._device, nbytes, error) from error
        lent = (ctypes.c_uint8 * size).from_address(address)
        return HostBuffer(np.ctypeslib.as_array(lent))

    def free(self, buffer: Buffer) -> None:
        """Give memory back; its array must not be used any more."""
        self._device.library.free_host(self._device.index, buffer.address)


def _out_of_memory(device: CambriconDevice, nbytes: int, error: CambriconError) -> Exception:
    if not isinstance(error, OutOfMemoryError):
        return error
    free, total = device.library.memory(device.index)
    return OutOfMemoryError(
        f"{device} cannot give {nbytes} bytes: {total - free} of its {total} are in use ({error})"
    )
