"""The contract with a backend: records that hooks return, and the objects behind them.

Start with ``entries.py`` (what a plugin registers), then ``context.py``, ``allocator.py`` and
``kernel.py`` (what it implements); ``match.py`` has predicates by which kernels say what they take.
``device.py``, ``stream_index.py`` and ``collective.py`` are for devices that hold something open,
have streams of several kinds, or exchange data by themselves. Base classes carry the defaults: a
device that runs in order and returns when the work is done overrides nothing but its kernels.
Nothing here knows a device, a graph or a plan.

A plugin imports this package and ``headrace.hookspecs``; for ops and passes of its own also
``headrace.ops`` and ``headrace.graph``; for kernels in numpy ``headrace.numpy_ops``; and the values
that all of these speak of: ``dtypes``, ``tensor_spec``, ``op_call``, ``data_format``, ``ids``,
``aligned`` and ``errors``. Its tests also import ``headrace.testing``, and ``BackendRegistry`` from
``headrace.registry``. All else in core may change without notice.
"""

from headrace.data_format import CHANNELS_FIRST, CHANNELS_LAST
from headrace.device.allocator import Allocator, Buffer, HostAllocator, HostBuffer
from headrace.device.collective import COLLECTIVES, Collective
from headrace.device.context import DeviceContext, Event
from headrace.device.device import Device
from headrace.device.entries import (
    API_VERSION,
    CAPABILITIES,
    MAX_ALIGNMENT_BYTES,
    PEER_COPIES,
    AllocatorEntry,
    CollectiveEntry,
    ConformanceProfile,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    StreamIndexEntry,
)
from headrace.device.kernel import Kernel, Launch
from headrace.device.match import any_call, dtypes
from headrace.device.stream_index import StreamIndexGenerator
from headrace.memory_case import MemoryKind
from headrace.op_call import Attrs, OpCall

__all__ = [
    "API_VERSION",
    "CAPABILITIES",
    "CHANNELS_FIRST",
    "CHANNELS_LAST",
    "COLLECTIVES",
    "MAX_ALIGNMENT_BYTES",
    "PEER_COPIES",
    "Allocator",
    "AllocatorEntry",
    "Attrs",
    "Buffer",
    "Collective",
    "CollectiveEntry",
    "ConformanceProfile",
    "Device",
    "DeviceContext",
    "DeviceContextEntry",
    "DeviceEntry",
    "Event",
    "HostAllocator",
    "HostBuffer",
    "Kernel",
    "KernelEntry",
    "Launch",
    "MemoryKind",
    "OpCall",
    "StreamIndexEntry",
    "StreamIndexGenerator",
    "any_call",
    "dtypes",
]
