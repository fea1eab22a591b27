"""Memory: what a plugin's allocator gives, and the host memory that core provides."""

from __future__ import annotations

import numpy as np

from headrace.aligned import ALIGNMENT_BYTES, aligned_empty
from headrace.device.device import Device
from headrace.errors import DeviceError, OutOfMemoryError
from headrace.tensor_spec import Array, TensorSpec


class Buffer:
    """A range of device memory. Core never looks inside; it slices and passes it on.

    Subclass it, or use it as it is when an address says everything.

    Attributes:
        address: where the range begins, in the plugin's own terms.
        nbytes: length in bytes; may be 0.
        owner: whatever must stay alive as long as the range is used.
    """

    __slots__ = ("address", "nbytes", "owner")

    def __init__(self, address: int, nbytes: int, owner: object = None) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner = owner

    def view(self, offset: int, nbytes: int) -> Buffer:
        """The part from ``offset`` on; shares memory with this buffer, and is not freed itself.

        Raises:
            DeviceError: it reaches out of this buffer.
        """
        self.check_view(offset, nbytes)
        return Buffer(self.address + offset, nbytes, self.owner)

    def check_view(self, offset: int, nbytes: int) -> None:
        """Refuse a part that is not inside; for the ``view`` of subclasses.

        Raises:
            DeviceError: it reaches out of this buffer.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise DeviceError(
                f"a view of {nbytes} bytes at offset {offset} reaches out of {self.nbytes} bytes "
                f"at {self.address:#x}"
            )


class HostBuffer(Buffer):
    """Memory that the host reads and writes: a view of a numpy byte array.

    What a kernel is given of a weight is read-only: numpy raises where it is written.
    """

    __slots__ = ("memory",)

    def __init__(self, memory: Array, owner: object = None) -> None:
        """Wrap ``memory``: uint8[nbytes], contiguous."""
        super().__init__(memory.ctypes.data, memory.nbytes, owner)
        self.memory = memory

    @classmethod
    def at(cls, address: int, memory: Array, owner: object) -> HostBuffer:
        """As the constructor, for whoever knows where ``memory`` is: asking numpy takes longer."""
        buffer = cls.__new__(cls)
        buffer.address = address
        buffer.nbytes = len(memory)
        buffer.owner = owner
        buffer.memory = memory
        return buffer

    def view(self, offset: int, nbytes: int) -> HostBuffer:
        """The part from ``offset`` on; shares memory with this buffer.

        Raises:
            DeviceError: it reaches out of this buffer.
        """
        self.check_view(offset, nbytes)
        part = self.memory[offset : offset + nbytes]
        return HostBuffer.at(self.address + offset, part, self.owner)

    def array(self, spec: TensorSpec) -> Array:
        """The first ``spec.nbytes`` bytes as an array; shares memory with this buffer."""
        return np.ndarray(spec.shape, spec.dtype.numpy, self.memory)


class Allocator:
    """Gives memory of one device. Called while sessions open and close, never while jobs run.

    Core asks for a few large chunks, slices them itself, and keeps those that a session gives back
    for the next one as long as the device is open, so an allocator needs no pool. May be
    called from any thread, one call at a time for each device. There may be several allocators of
    one device: what they must agree on belongs to the ``Device``.
    """

    def __init__(self, device: Device) -> None:
        self.device = device

    def allocate(self, nbytes: int) -> Buffer:
        """Return at least ``nbytes`` bytes aligned as the ``AllocatorEntry`` says.

        Core never asks for less than one byte: of empty tensors it views parts of length 0. It
        looks at each buffer once, when it gets it: at its length, its address, two of its views
        and, in host memory, at where these begin. One that cannot be used it frees, and raises
        ``PluginError``.

        Raises:
            OutOfMemoryError: there is not enough; says what was asked and what is in use.
        """
        raise NotImplementedError

    def free(self, buffer: Buffer) -> None:
        """Take back what ``allocate`` returned. No work that uses it is queued any more.

        The default does nothing: core lets go of the buffer and of its views, and host memory is
        gone with the last reference. With ``MemoryKind.DEVICE``, and for pinned memory, it must be
        overridden, also by a method that does nothing: a driver that is never told would leak in
        silence.
        """

    def recycle(self, buffer: Buffer) -> None:
        """Be told that core keeps memory of a device, or pinned memory, for others. Since 1.4.

        ``buffer`` is what ``allocate`` returned, or a view of it. Its user has gone, no queued work
        uses it, and what it holds is of no use. The default does nothing; for instruments, which
        may overwrite it and look whether that is so.
        """


class HostAllocator(Allocator):
    """Pageable host memory; for devices whose kernels read host memory, and for core itself."""

    ALIGNMENT_BYTES = ALIGNMENT_BYTES

    def allocate(self, nbytes: int) -> HostBuffer:
        """Return host memory for ``nbytes`` bytes; its content is whatever was there.

        Raises:
            OutOfMemoryError: the host has not enough.
        """
        try:
            # Never empty: numpy places an empty slice at the beginning of what it was sliced from.
            return HostBuffer(aligned_empty((max(nbytes, 1),), np.dtype(np.uint8)))
        except MemoryError:
            raise OutOfMemoryError(f"the host cannot give {nbytes} bytes") from None

    def free(self, buffer: Buffer) -> None:
        """Nothing to do: the memory is gone with the last reference to it."""
