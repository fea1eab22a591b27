"""The records that hooks return. Frozen; core gathers them once and builds tables from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType

from headrace.data_format import CHANNELS_FIRST
from headrace.device.allocator import Allocator
from headrace.device.collective import Collective
from headrace.device.context import DeviceContext
from headrace.device.device import Device
from headrace.device.kernel import Kernel
from headrace.device.match import Match, any_call
from headrace.device.stream_index import StreamIndexGenerator
from headrace.light_dataclass import dataclass
from headrace.memory_case import MemoryKind
from headrace.op_call import OpCall

API_VERSION = (1, 5)
"""Major and minor of this contract. Minor rises when something optional is added.

1.0: devices, allocators, kernels, device contexts, stream index generators.
1.1: conformance profiles, ops, passes, collectives, peer copies.
1.2: data formats of kernels.
1.3: pinned host memory, free bytes of a device.
1.4: allocators are told of memory that is used again.
1.5: events can be asked whether they are reached; passes that are shown weights as they are stored.
"""

MAX_ALIGNMENT_BYTES = 2 << 20
"""That of a huge page. Buffers lie on multiples of the alignment; more of it is a mistake in units,
and would waste memory without a word."""

PEER_COPIES = "peer-copies"
"""The capability of devices that copy to each other without the host."""

CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "in-place": "kernels may write an output over the input that the op allows it to replace",
        PEER_COPIES: "copy_peer of a context brings memory of any other device of the tag",
    }
)
"""What a device may claim beyond the core contract; the conformance suite holds it to its claim."""


def _one() -> int:
    return 1


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A device type.

    Attributes:
        tag: the word users write: equal to the entry point's name.
        count: how many devices there are; may load the driver; 0 means no hardware. Called more
            than once, and always gives the same number.
        open: opens the device of an index; core has checked that it is below ``count``.
        capabilities: what it can do beyond the core contract: names in ``CAPABILITIES``.
        api_version: the contract that the plugin was written for, (major, minor).
        versions: driver and library versions to show, by name. Plans that were kept on disk are
            found as long as these and the plugin's code stay the same, and then no list of kernels
            is made anew; so name here what else kernels are chosen or listed by.
    """

    tag: str
    count: Callable[[], int] = _one
    open: Callable[[int], Device] = Device
    capabilities: frozenset[str] = frozenset()
    api_version: tuple[int, int] = API_VERSION
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AllocatorEntry:
    """How to get memory of a device.

    Attributes:
        tag: the device tag.
        memory_kind: ``MemoryKind.DEVICE``, or ``MemoryKind.HOST`` when kernels work in host memory
            (then nothing is copied between the host and the device).
        alignment_bytes: what ``allocate`` guarantees, a power of two of at most
            ``MAX_ALIGNMENT_BYTES``.
        create: makes an allocator of an opened device; called any number of times for one.
        create_pinned: makes an allocator of host memory that is page-locked for the device, and
            for the others of its tag; with ``MemoryKind.DEVICE`` alone. What is copied between the
            host and the device then lies there, and so do weights on their way. None: in pageable
            memory. Since 1.3.
    """

    tag: str
    memory_kind: MemoryKind
    alignment_bytes: int
    create: Callable[[Device], Allocator]
    create_pinned: Callable[[Device], Allocator] | None = None


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel.

    Attributes:
        tag: the device tag.
        op: name of the op: one of core, one of the plugin's own, or ``othertag.op`` of another
            plugin, which need not be installed.
        create: makes the kernel for one call; must not touch the device.
        match: which calls it takes: True or False, and nothing else that counts as one. It is
            printed in messages: give it a ``__str__`` as those of ``headrace.device.dtypes`` have,
            or a name.
        priority: of several that match, the highest is taken; equal ones are an error.
        data_formats: of calls of ops that have a ``data_format``, those that are shown to
            ``match``. A kernel that was written before there were two is never given the other.
            Between kernels for two formats, the priority says which one the device prefers.
    """

    tag: str
    op: str
    create: Callable[[OpCall], Kernel]
    match: Match = any_call
    priority: int = 0
    data_formats: tuple[str, ...] = (CHANNELS_FIRST,)


@dataclass(frozen=True, slots=True)
class CollectiveEntry:
    """A collective that the devices of a tag do among themselves.

    Attributes:
        tag: the device tag.
        name: one of ``COLLECTIVES``, which says what it does and what its call holds.
        create: makes it for one call; must not touch a device.
        match: which calls it takes; what none takes, core says in slices, copies and sums.
        priority: of several that match, the highest is taken; equal ones are an error.
    """

    tag: str
    name: str
    create: Callable[[OpCall], Collective]
    match: Match = any_call
    priority: int = 0


@dataclass(frozen=True, slots=True)
class DeviceContextEntry:
    """How to make a stream: ``create(device, stream_index)``."""

    tag: str
    create: Callable[[Device, int], DeviceContext] = DeviceContext


@dataclass(frozen=True, slots=True)
class StreamIndexEntry:
    """How to number the streams of a device: ``create(device_index)``."""

    tag: str
    create: Callable[[int], StreamIndexGenerator] = StreamIndexGenerator


@dataclass(frozen=True, slots=True)
class ConformanceProfile:
    """What the conformance suite is told about a device. Used by the suite alone.

    A pattern is compared with the name of a test (``test_matmul[matmul-batch]``) and with each of
    its tags (``ops/matmul/float16``); ``*``, ``?`` and ``[...]`` are those of file names, and a
    ``[`` that stands for itself is written ``[[]``. One that fits no test is an error.

    Attributes:
        tag: the device tag.
        unsupported: pattern -> reason; tests that are skipped, for good.
        expected_failures: pattern -> reason; tests that fail for now. One that passes is an error,
            so that the list can only shrink.
    """

    tag: str
    unsupported: Mapping[str, str] = field(default_factory=dict)
    expected_failures: Mapping[str, str] = field(default_factory=dict)
