"""What a plugin's objects answer is looked at once, before a launch: each bad answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from toy_backends import FarAllocator, FarBuffer, far

from headrace.device import (
    Allocator,
    AllocatorEntry,
    Buffer,
    Device,
    HostAllocator,
    HostBuffer,
    Kernel,
    KernelEntry,
    MemoryKind,
    OpCall,
    StreamIndexEntry,
    StreamIndexGenerator,
    dtypes,
)
from headrace.errors import DeviceUnavailableError, PluginError
from headrace.hookspecs import hookimpl
from headrace.ops import get_op, make_call
from headrace.registry import BackendRegistry
from headrace.registry.discover import InstalledBackend
from headrace.tensor_spec import TensorSpec

Make = Callable[..., SimpleNamespace]
CALL = make_call(get_op("add"), "sum", [TensorSpec((3,), "float32")] * 2, {}, outputs=1)


def loaded(plugin: object, tag: str = "toy") -> Any:
    installed = InstalledBackend(tag, "headrace_toy", "headrace-toy", "1.2", implementation=plugin)
    return BackendRegistry([installed], allow=[tag], block=()).backend(tag)


# --- numbers of streams ----------------------------------------------------------------------


@pytest.mark.parametrize("answer", [None, "1", True, -1, 4096, 1.0], ids=repr)
@pytest.mark.parametrize("method", ["compute", "h2d", "d2h", "named"])
def test_a_stream_that_is_no_number_is_refused(
    make_plugin: Make, method: str, answer: object
) -> None:
    """The message names plugin, class and method, and shows the answer."""
    kind = type("Odd", (StreamIndexGenerator,), {method: lambda self, *name: answer})
    entry = StreamIndexEntry("toy", kind)
    streams = loaded(make_plugin(headrace_stream_index_generators=lambda: [entry])).streams
    ask = getattr(streams.create(0), method)
    with pytest.raises(
        PluginError, match=rf"^headrace-toy 1\.2: {method} of .*\.Odd returned {answer!r};"
    ):
        ask(*["a"] * (method == "named"))


@pytest.mark.parametrize("by_function", [False, True])
@pytest.mark.parametrize("number", [0, 7, 4095])
def test_a_stream_that_is_a_number_is_served(
    make_plugin: Make, number: int, by_function: bool
) -> None:
    """Both ends of the range are in it; what is not overridden keeps its default."""
    kind = type("Fine", (StreamIndexGenerator,), {"compute": lambda self: number})
    entry = StreamIndexEntry("toy", partial(kind) if by_function else kind)
    streams = loaded(make_plugin(headrace_stream_index_generators=lambda: [entry])).streams
    made = streams.create(3)
    assert (made.compute(), made.h2d(), made.named("a")) == (number, 1, 3)
    assert made.device_index == 3


# --- buffers ---------------------------------------------------------------------------------


class Giving(Allocator):
    """Gives what ``give`` makes, and counts what it got back."""

    def __init__(self, device: Device, give: Callable[[int], Any]) -> None:
        super().__init__(device)
        self._give = give
        self.freed = 0

    def allocate(self, nbytes: int) -> Any:
        return self._give(nbytes)

    def free(self, buffer: Buffer) -> None:
        self.freed += 1


def aligned(nbytes: int, beyond: int = 0) -> Any:
    """Host memory that begins ``beyond`` bytes behind a multiple of 64: uint8[nbytes]."""
    raw = np.zeros(nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + beyond
    return raw[start : start + nbytes]


def viewing(base: type, view: Callable[[Any, int, int], object]) -> Any:
    """A subclass of buffer ``base`` with this ``view``."""
    slots = {"__slots__": (), "view": view}
    return type(f"Odd{base.__name__}", (base,), slots)


def raising(self: Buffer, offset: int, nbytes: int) -> Buffer:
    raise ZeroDivisionError("on purpose")


def elsewhere(nbytes: int) -> HostBuffer:
    """A buffer that says it is where it is not."""
    buffer = HostBuffer(aligned(nbytes))
    buffer.address += 64
    return buffer


def hidden(nbytes: int) -> Any:
    return np.zeros(nbytes, np.uint8)


HOST: dict[str, tuple[Callable[[int], Any], str]] = {
    "too-short": (lambda n: HostBuffer(aligned(n - 1)), "returned 99 bytes; it was asked for 100"),
    "misaligned": (
        lambda n: HostBuffer(aligned(n, 4)),
        "which is no multiple of 64",
    ),
    "elsewhere": (elsewhere, "address is not that of its memory"),
    "view-none": (
        lambda n: viewing(HostBuffer, lambda s, o, k: None)(aligned(n)),
        "view(0, 100) of toy.OddHostBuffer returned None, which is no Buffer",
    ),
    "view-whole": (
        lambda n: viewing(HostBuffer, lambda s, o, k: s)(aligned(n)),
        "view(50, 50) of toy.OddHostBuffer returned 100 bytes",
    ),
    "view-from-zero": (
        lambda n: viewing(HostBuffer, lambda s, o, k: HostBuffer(s.memory[:k]))(aligned(n)),
        "begins 0 bytes behind the beginning, not 50",
    ),
    "view-copies": (
        lambda n: viewing(HostBuffer, lambda s, o, k: HostBuffer(aligned(k)))(aligned(n)),
        "bytes behind the beginning, not 0",
    ),
    "view-plain": (
        lambda n: viewing(HostBuffer, lambda s, o, k: Buffer(s.address + o, k))(aligned(n)),
        "returned a Buffer; a part of a HostBuffer is one as well",
    ),
    "view-raises": (lambda n: viewing(HostBuffer, raising)(aligned(n)), "raised ZeroDivisionError"),
}
DEVICE: dict[str, tuple[Callable[[int], Any], str]] = {
    "too-short": (lambda n: FarBuffer(hidden(n // 2)), "returned 50 bytes; it was asked for 100"),
    "no-length": (lambda n: Buffer(0, None), "whose nbytes is None"),  # type: ignore[arg-type]
    "view-none": (
        lambda n: viewing(FarBuffer, lambda s, o, k: None)(hidden(n)),
        "returned None, which is no Buffer",
    ),
    "view-whole": (
        lambda n: viewing(FarBuffer, lambda s, o, k: s)(hidden(n)),
        "view(50, 50) of toy.OddFarBuffer returned 100 bytes; it must return a part of 50",
    ),
    "view-raises": (lambda n: viewing(FarBuffer, raising)(hidden(n)), "raised ZeroDivisionError"),
}


@pytest.mark.parametrize(
    ("memory", "give", "says"),
    [
        pytest.param(memory, *case, id=f"{memory.name.lower()}-{name}")
        for memory, cases in ((MemoryKind.HOST, HOST), (MemoryKind.DEVICE, DEVICE))
        for name, case in cases.items()
    ],
)
def test_a_buffer_that_cannot_be_used_is_refused_and_given_back(
    memory: MemoryKind, give: Callable[[int], Any], says: str
) -> None:
    """When it is allocated, with the plugin's name; the allocator gets it back, once."""
    made: list[Giving] = []

    def create(device: Device) -> Allocator:
        made.append(Giving(device, give))
        return made[0]

    allocator = with_allocator(memory, create).create(Device())
    with pytest.raises(PluginError, match=r"^headrace-toy 1\.2: ") as caught:
        allocator.allocate(100)
    assert says in re.sub(r"of \S*\.(Odd\w+)", r"of toy.\1", str(caught.value))
    assert made[0].freed == 1


def with_allocator(memory: MemoryKind, create: Callable[[Device], Allocator]) -> AllocatorEntry:
    """The record as it is served, of a plugin whose record has this ``create``."""
    entry = AllocatorEntry("far", memory, 64 if memory is MemoryKind.HOST else 16, create)
    plugin = SimpleNamespace(**vars(far()) | {"headrace_allocators": hookimpl(lambda: [entry])})
    found: AllocatorEntry = loaded(plugin, "far").allocator
    return found


PINNED: dict[str, tuple[Callable[[Device], Any], str]] = {
    "too-short": (
        lambda device: Giving(device, lambda n: HostBuffer(aligned(n - 1))),
        "returned 99 bytes; it was asked for 100",
    ),
    "of-the-device": (
        lambda device: Giving(device, lambda n: FarBuffer(hidden(n))),
        "returned a FarBuffer; host memory must be a HostBuffer",
    ),
    "no-allocator": (lambda device: None, "create_pinned of its AllocatorEntry returned None"),
    "never-freed": (
        lambda device: Keeping(device),
        "which does not override free, and gives pinned memory",
    ),
}


@pytest.mark.parametrize(("create", "says"), PINNED.values(), ids=PINNED)
def test_pinned_memory_that_cannot_be_used_is_refused(
    create: Callable[[Device], Any], says: str
) -> None:
    """It is memory of the host, and a driver's: what holds for either is asked of it."""
    entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, FarAllocator, create)
    plugin = SimpleNamespace(**vars(far()) | {"headrace_allocators": hookimpl(lambda: [entry])})
    served: AllocatorEntry = loaded(plugin, "far").allocator
    assert served.create_pinned is not None
    with pytest.raises(PluginError, match=r"^headrace-toy 1\.2: ") as caught:
        served.create_pinned(Device()).allocate(100)
    assert says in str(caught.value)


def test_a_free_that_fails_hides_no_refusal() -> None:
    """The author learns what was wrong with the buffer; the other error is its cause."""

    class Sulking(FarAllocator):
        def allocate(self, nbytes: int) -> FarBuffer:
            return FarBuffer(hidden(nbytes - 1))

        def free(self, buffer: Buffer) -> None:
            raise ZeroDivisionError("on purpose")

    allocator = with_allocator(MemoryKind.DEVICE, Sulking).create(Device())
    with pytest.raises(PluginError, match="returned 9 bytes") as caught:
        allocator.allocate(10)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("hook", ["allocators", "device_contexts"])
def test_what_create_raises_says_whose_it_is(hook: str) -> None:
    """The plugin and the function are named; what it raised is the cause."""

    def create(*args: object) -> Any:
        raise ZeroDivisionError("on purpose")

    hooks = dict(vars(far()))
    (entry,) = hooks[f"headrace_{hook}"]()
    changed = replace(entry, create=create)
    hooks[f"headrace_{hook}"] = hookimpl(lambda: [changed])
    backend = loaded(SimpleNamespace(**hooks), "far")
    served = backend.allocator if hook == "allocators" else backend.context
    says = rf"^headrace-toy 1\.2: create of its {type(entry).__name__} raised ZeroDivisionError: on"
    with pytest.raises(PluginError, match=says) as caught:
        served.create(Device(), *([0] if hook == "device_contexts" else []))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("more", [0, 7])
@pytest.mark.parametrize("nbytes", [1, 2, 1000])
def test_a_buffer_that_is_right_is_handed_on_as_it_is(nbytes: int, more: int) -> None:
    """Also one that is longer than was asked for, and one of a single byte."""
    buffer = HostBuffer(aligned(nbytes + more))
    entry = with_allocator(MemoryKind.HOST, lambda device: Giving(device, lambda n: buffer))
    assert entry.create(Device()).allocate(nbytes) is buffer


class Keeping(Allocator):
    """Does not override ``free``."""

    def allocate(self, nbytes: int) -> Buffer:
        return HostBuffer(aligned(nbytes))


def test_memory_of_its_own_needs_a_free() -> None:
    """A driver that is never told leaks in silence; of host memory the default is right."""
    with pytest.raises(DeviceUnavailableError, match="does not override free, and gives memory of"):
        with_allocator(MemoryKind.DEVICE, Keeping)
    made = with_allocator(MemoryKind.DEVICE, lambda device: Keeping(device))
    with pytest.raises(PluginError, match="does not override free"):
        made.create(Device())
    assert with_allocator(MemoryKind.HOST, Keeping).create(Device()).allocate(9).nbytes == 9
    assert with_allocator(MemoryKind.DEVICE, HostAllocator).create(Device()).allocate(9).nbytes == 9


# --- matches ---------------------------------------------------------------------------------


def some_calls(answer: object, call: OpCall) -> Any:
    return answer


class Silent:
    """A match that does not print itself."""

    def __call__(self, call: OpCall) -> Any:
        return None


def kernels(make_plugin: Make, *matches: Any) -> Any:
    entries = [KernelEntry("toy", "add", lambda call: Kernel(), match) for match in matches]
    return loaded(make_plugin(headrace_kernels=lambda: entries)).kernels


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", []], ids=repr)
def test_a_match_answers_true_or_false(make_plugin: Make, answer: object) -> None:
    """Anything else is refused with match, device and op, whether it is true or not."""
    table = kernels(make_plugin, partial(some_calls, answer))
    with pytest.raises(PluginError) as caught:
        table.select(CALL)
    name = f"{some_calls.__module__}.some_calls"
    says = f"match {name} of a kernel that device 'toy' offers for 'add' returned {answer!r};"
    assert says in str(caught.value)


def test_true_and_false_decide(make_plugin: Make) -> None:
    """A match that says False passes the call on to the next kernel."""
    table = kernels(make_plugin, partial(some_calls, False), partial(some_calls, True))
    assert table.select(CALL) is table.entries("add")[1]


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (lambda call: False, r"test_guarded\.<lambda>, line \d+"),
        (some_calls, r"test_guarded\.some_calls"),
        (partial(some_calls, None), r"test_guarded\.some_calls"),
        (Silent(), r"test_guarded\.Silent"),
        (Silent().__call__, r"test_guarded\.Silent\.__call__"),
        (dtypes("float32", "int8"), r"float32 \| int8"),
    ],
    ids=["lambda", "function", "partial", "object", "method", "dtypes"],
)
def test_a_match_is_printed_without_an_address(make_plugin: Make, match: Any, shown: str) -> None:
    """By what it says of itself, else by module and name; a lambda by its line as well."""
    (entry,) = kernels(make_plugin, match).entries("add")
    assert re.fullmatch(rf"(\S*\.)?{shown}", str(entry.match))


def test_messages_about_two_kernels_have_no_address(make_plugin: Make) -> None:
    """Neither when the plugin loads nor when a call is looked up."""
    with pytest.raises(DeviceUnavailableError, match="offers 'add' twice for float32") as caught:
        kernels(make_plugin, dtypes("float32"), dtypes("float32"))
    assert " at 0x" not in str(caught.value)
    yes = (partial(some_calls, True), partial(some_calls, True))
    with pytest.raises(PluginError, match="offers two kernels of priority 0") as clash:
        kernels(make_plugin, *yes).select(CALL)
    assert " at 0x" not in str(clash.value)
