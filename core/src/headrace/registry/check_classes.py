"""What the objects behind the records must have, so that nothing is missing in silence.

Each rule looks at a type and says in a sentence what is wrong with it, or nothing. A class that a
record names is looked at when the plugin loads; where a record holds a function, what it makes is
looked at when it is made (``guards.py``), which is when a device is opened or a job compiled.
"""

from __future__ import annotations

from numbers import Integral

from headrace.device import (
    Allocator,
    Buffer,
    Collective,
    Device,
    DeviceContext,
    Event,
    HostBuffer,
    Kernel,
    MemoryKind,
    StreamIndexGenerator,
)
from headrace.ids import STREAM_INDEX_BITS

COPIES = ("copy_h2d", "copy_d2h", "copy_d2d")
LATE = ("synchronize", "record_event")
"""What a context must do itself when its work is not done on return."""


def fault_of_device(kind: type) -> str:
    """Why ``kind`` cannot be what ``DeviceEntry.open`` returns; empty when it can."""
    return _absent(kind, Device, "close")


def fault_of_allocator(kind: type, memory: MemoryKind, pinned: bool = False) -> str:
    """Why ``kind`` cannot be what ``AllocatorEntry.create`` returns; empty when it can.

    Args:
        kind: the type.
        memory: where its memory is. Host memory goes with its last reference; of a device's memory
            nobody knows that, and a driver that is not told leaks without a word.
        pinned: it is host memory that a driver has locked, which is the driver's to free.
    """
    fault = _absent(kind, Allocator, "allocate", "free") or _inherited(kind, Allocator, "allocate")
    drivers = pinned or memory is MemoryKind.DEVICE
    if not fault and drivers and _inherited(kind, Allocator, "free"):
        what = "pinned memory" if pinned else "memory of MemoryKind.DEVICE"
        return (
            f"does not override free, and gives {what}; where that goes with "
            "the last reference to a buffer, write a free that does nothing"
        )
    return fault


def fault_of_buffer(buffer: object, memory: MemoryKind) -> str:
    """Why ``buffer`` cannot be what an allocator returns; empty when it can."""
    kind = type(buffer)
    if not isinstance(buffer, Buffer):
        return f"returned {buffer!r}, which is no Buffer"
    if memory is MemoryKind.HOST and not isinstance(buffer, HostBuffer):
        return f"returned a {kind.__name__}; host memory must be a HostBuffer"
    for base in (HostBuffer, Buffer):
        if kind is base:
            return ""
        if isinstance(buffer, base):
            view = getattr(kind, "view", None)
            if not callable(view):
                return f"returned a {kind.__name__}, which has no view"
            if view is base.view:
                return (
                    f"returned a {kind.__name__}, which does not override view: a part of it "
                    f"would be a plain {base.__name__}"
                )
            return ""
    return ""


def fault_of_range(buffer: Buffer, nbytes: int, alignment_bytes: int) -> str:
    """Why ``buffer`` is not what was asked of an allocator; empty when it is.

    Args:
        buffer: what it returned.
        nbytes: what it was asked for.
        alignment_bytes: what its record promises. Of no bytes no address is asked.
    """
    length: object = buffer.nbytes
    if not isinstance(length, Integral):
        return f"returned a buffer whose nbytes is {length!r}; it must be a number of bytes"
    if isinstance(buffer, HostBuffer):
        length = min(buffer.nbytes, buffer.memory.nbytes)
        if buffer.address != buffer.memory.ctypes.data:
            return "returned a HostBuffer whose address is not that of its memory"
    if length < nbytes:
        return f"returned {length} bytes; it was asked for {nbytes}"
    if nbytes and buffer.address % alignment_bytes:
        return (
            f"returned memory at {buffer.address:#x}, which is no multiple of {alignment_bytes}, "
            "the alignment_bytes of its AllocatorEntry"
        )
    return ""


def fault_of_part(buffer: Buffer, part: object, offset: int, length: int) -> str:
    """Why ``part`` cannot be what ``buffer.view(offset, length)`` returns; empty when it can.

    In host memory the place is compared as well. Whether device memory begins where it should,
    only a copy can tell, which is what the conformance suite does.
    """
    if not isinstance(part, Buffer):
        return f"returned {part!r}, which is no Buffer"
    if part.nbytes != length:
        return f"returned {part.nbytes} bytes; it must return a part of {length}"
    if not isinstance(buffer, HostBuffer):
        return ""
    if not isinstance(part, HostBuffer):
        return f"returned a {type(part).__name__}; a part of a HostBuffer is one as well"
    if part.memory.nbytes != length:
        return f"returned memory of {part.memory.nbytes} bytes; it must return a part of {length}"
    begins = part.memory.ctypes.data - buffer.memory.ctypes.data
    if begins != offset or part.address != part.memory.ctypes.data:
        return f"returned a part that begins {begins} bytes behind the beginning, not {offset}"
    return ""


def fault_of_stream_number(number: object) -> str:
    """Why ``number`` cannot be the index of a stream; empty when it can."""
    last = (1 << STREAM_INDEX_BITS) - 1
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= last:
        return ""
    return f"returned {number!r}; the number of a stream is an int from 0 to {last}"


def fault_of_context(
    kind: type, memory: MemoryKind, host_synchronous: object, peers: bool = False
) -> str:
    """Why ``kind`` cannot be what ``DeviceContextEntry.create`` returns; empty when it can.

    Args:
        kind: the type.
        memory: where the device's kernels work.
        host_synchronous: what the context says of itself.
        peers: the device claims peer copies.
    """
    names = (*COPIES, *LATE, "wait_event", "capture", "close")
    absent = _absent(kind, DeviceContext, *names)
    if absent:
        return absent
    if not isinstance(host_synchronous, bool):
        return f"has host_synchronous {host_synchronous!r}; it must be True or False"
    if host_synchronous:
        for name in LATE:
            if not _inherited(kind, DeviceContext, name):
                return (
                    f"overrides {name} and says host_synchronous, which is the default; a context "
                    "whose work is not done on return says host_synchronous = False"
                )
    else:
        late = _inherited(kind, DeviceContext, *LATE, *COPIES)
        if late:
            return f"is not host-synchronous and {late}"
    if memory is MemoryKind.DEVICE:
        copies = _inherited(kind, DeviceContext, *COPIES)
        if copies:
            return f"{copies}, which cannot reach memory of MemoryKind.DEVICE"
    if peers:
        fault = _absent(kind, DeviceContext, "copy_peer")
        fault = fault or _inherited(kind, DeviceContext, "copy_peer")
        if fault:
            return f"{fault}, and its DeviceEntry claims peer-copies"
    return ""


def fault_of_event(event: object) -> str:
    """Why ``event`` cannot be what ``record_event`` of a late stream returns; empty when it can."""
    kind = type(event)
    if event is None:
        return "returned None"
    if not callable(getattr(kind, "synchronize", None)):
        return f"returned a {kind.__name__}, which has no synchronize"
    if getattr(kind, "synchronize", None) is Event.synchronize:
        return (
            f"returned a {kind.__name__}, which does not override synchronize: it would be taken "
            "for one that has been reached"
        )
    return ""


def fault_of_kernel(kind: type) -> str:
    """Why ``kind`` cannot be what ``KernelEntry.create`` returns; empty when it can."""
    absent = _absent(kind, Kernel, "bind", "workspace_bytes")
    if absent:
        return absent
    if getattr(kind, "bind", None) is Kernel.bind:
        return _absent(kind, Kernel, "launch") or (
            "overrides neither launch nor bind" if _inherited(kind, Kernel, "launch") else ""
        )
    return ""


def fault_of_collective(kind: type) -> str:
    """Why ``kind`` cannot be what ``CollectiveEntry.create`` returns; empty when it can."""
    return _absent(kind, Collective, "bind") or _inherited(kind, Collective, "bind")


def fault_of_streams(kind: type) -> str:
    """Why ``kind`` cannot be what ``StreamIndexEntry.create`` returns; empty when it can."""
    return _absent(kind, StreamIndexGenerator, "compute", "h2d", "d2h", "named")


def _absent(kind: type, base: type, *names: str) -> str:
    for name in names:
        if not callable(getattr(kind, name, None)):
            return f"has no {name}; {base.__name__} has"
    return ""


def _inherited(kind: type, base: type, *names: str) -> str:
    for name in names:
        if getattr(kind, name) is getattr(base, name):
            return f"does not override {name}"
    return ""
