"""Host memory as a queued copy sees it: an address that it does not keep alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import numpy as np

from headrace.device import Buffer, HostBuffer
from headrace.tensor_spec import Array
from headrace_fakedevice.memory import MemoryFault


def host_range(buffer: Buffer) -> Callable[[], Array]:
    """What opens the bytes of ``buffer`` when a copy runs; it does not keep them alive.

    A driver is given an address and no more. Whoever lets go of the memory while a copy is queued
    hears of it here; on hardware the copy would read or write what has come to lie there.

    Raises (the result, when it is called):
        MemoryFault: the memory is gone, or ``buffer`` is no host memory.
    """
    if not isinstance(buffer, HostBuffer):
        what = f"{type(buffer).__name__} at {buffer.address:#x} is no host memory"

        def refuse() -> Array:
            raise MemoryFault(what)

        return refuse
    memory, address, nbytes = buffer.memory, buffer.address, buffer.nbytes
    root = memory
    while isinstance(root.base, np.ndarray):
        root = root.base
    foreign: object = root.base  # bytes, or what another library lent
    if foreign is not None or not root.flags.c_contiguous:
        return lambda: memory
    alive = weakref.ref(root)
    start = address - root.ctypes.data
    is_writeable = memory.flags.writeable

    def open_range() -> Array:
        found = alive()
        if found is None:
            raise MemoryFault(
                f"{nbytes} bytes of the host at {address:#x} were let go of while a copy of them "
                "was queued; keep them until the stream was synchronised"
            )
        data = found.reshape(-1).view(np.uint8)[start : start + nbytes]
        data.flags.writeable = data.flags.writeable and is_writeable
        return data

    return open_range
