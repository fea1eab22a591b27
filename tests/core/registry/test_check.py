"""What a plugin answers is checked: every hook, every record, every field."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.device import (
    PEER_COPIES,
    AllocatorEntry,
    Buffer,
    Collective,
    CollectiveEntry,
    ConformanceProfile,
    Device,
    DeviceContext,
    DeviceContextEntry,
    DeviceEntry,
    HostAllocator,
    HostBuffer,
    Kernel,
    KernelEntry,
    Launch,
    MemoryKind,
    OpCall,
    StreamIndexEntry,
    StreamIndexGenerator,
    dtypes,
)
from headrace.errors import DeviceUnavailableError, PluginError
from headrace.hookspecs import hookimpl
from headrace.registry import Backend, BackendRecord, BackendRegistry

Make = Callable[..., SimpleNamespace]


def load(plugin: object) -> Backend:
    return BackendRegistry.from_modules({"toy": plugin}).backend("toy")


def refusal(plugin: object) -> BackendRecord:
    """The record of a plugin that must be refused."""
    registry = BackendRegistry.from_modules({"toy": plugin})
    with pytest.raises(DeviceUnavailableError):
        registry.backend("toy")
    (record,) = registry.records()
    return record


def record(kind: Any, *args: object, **fields: object) -> object:
    """A record of the right device with fields that a type checker would not let through."""
    return kind("toy", *args, **fields)


def kernel(op: str = "add", **fields: Any) -> KernelEntry:
    return KernelEntry("toy", op, **{"create": lambda call: Kernel(), **fields})


class Copying(DeviceContext):
    """Copies to and from memory of its own."""

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None: ...
    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None: ...
    def copy_d2d(self, destination: Buffer, source: Buffer) -> None: ...


def test_headrace_devices_is_served(make_plugin: Make) -> None:
    """The record of the plugin is what the backend holds."""
    entry = DeviceEntry("toy", count=lambda: 3, versions={"driver": "1.2"})

    assert load(make_plugin(headrace_devices=lambda: [entry])).device is entry


def test_headrace_allocators_is_served(make_plugin: Make) -> None:
    """The memory kind decides whether the backend works in host memory."""
    entry = AllocatorEntry("toy", MemoryKind.DEVICE, 256, HostAllocator)
    context = DeviceContextEntry("toy", Copying)
    backend = load(
        make_plugin(headrace_allocators=lambda: [entry], headrace_device_contexts=lambda: [context])
    )

    assert (backend.allocator.alignment_bytes, backend.works_in_host_memory) == (256, False)
    assert load(make_plugin()).works_in_host_memory


@pytest.mark.parametrize("create_pinned", [None, HostAllocator])
def test_headrace_allocators_may_give_pinned_memory(
    make_plugin: Make, create_pinned: type | None
) -> None:
    """Of a plugin that gives none, copies go through pageable memory."""
    entry = AllocatorEntry("toy", MemoryKind.DEVICE, 64, HostAllocator, create_pinned)
    context = DeviceContextEntry("toy", Copying)
    backend = load(
        make_plugin(headrace_allocators=lambda: [entry], headrace_device_contexts=lambda: [context])
    )

    assert backend.has_pinned_memory == (create_pinned is not None)


def test_headrace_kernels_are_served_by_priority(make_plugin: Make) -> None:
    """The table lists the kernels of an op, highest priority first."""
    entries = (kernel(priority=-1), kernel("relu"), kernel(priority=5))
    backend = load(make_plugin(headrace_kernels=lambda: entries))

    assert [entry.priority for entry in backend.kernels.entries("add")] == [5, -1]
    assert backend.kernels.ops() == ("add", "relu")


def test_headrace_device_contexts_replaces_the_default(make_plugin: Make) -> None:
    """Without the hook a device is host-synchronous; with it, what the plugin says."""
    entry = DeviceContextEntry("toy", Copying)

    default = load(make_plugin()).context.create(Device(0), 3)
    given = load(make_plugin(headrace_device_contexts=lambda: [entry])).context.create(Device(0), 3)

    assert (type(default), type(given)) == (DeviceContext, Copying)
    assert (default.host_synchronous, given.stream_index) == (True, 3)


def test_headrace_conformance_profiles_is_kept(make_plugin: Make) -> None:
    """The profile is there for the suite; without the hook it is empty."""
    profile = ConformanceProfile(
        "toy", {"ops/*/int4": "no 4-bit loads"}, {"test_x": "to be mended"}
    )
    assert load(make_plugin(headrace_conformance_profiles=lambda: [profile])).profile is profile
    assert load(make_plugin()).profile == ConformanceProfile("toy")


@pytest.mark.parametrize("patterns", [["a"], {"a": ""}, {"": "b"}, {"a": 1}, {1: "a"}], ids=repr)
@pytest.mark.parametrize("field", ["unsupported", "expected_failures"])
def test_a_profile_gives_a_reason_for_each_pattern(
    make_plugin: Make, field: str, patterns: Any
) -> None:
    """A pattern without a reason is a gap that nobody can close."""
    profile = ConformanceProfile("toy", **{field: patterns})
    cause = refusal(make_plugin(headrace_conformance_profiles=lambda: [profile])).cause
    assert f"{field} of its ConformanceProfile is" in cause


class Meets(Collective):
    """A collective that does nothing."""

    def __init__(self, call: OpCall) -> None: ...

    def bind(self, contexts: object, inputs: object, outputs: object) -> Launch:
        return lambda: None


def test_headrace_collectives_are_kept(make_plugin: Make) -> None:
    """They are found by the call; without the hook there are none."""
    entry = CollectiveEntry("toy", "all_reduce", Meets)
    backend = load(make_plugin(headrace_collectives=lambda: [entry]))
    assert backend.collectives.names() == ("all_reduce",)
    found = backend.collectives.select(OpCall("all_reduce", "node", ()))
    assert found is not None
    assert isinstance(found.create(OpCall("all_reduce", "node", ())), Meets)
    assert backend.collectives.select(OpCall("all_gather", "node", ())) is None
    assert load(make_plugin()).collectives.names() == ()


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([CollectiveEntry("toy", "allreduce", Meets)],
         "offers 'allreduce', which is no collective; did you mean 'all_reduce'?"),
        ([CollectiveEntry("toy", "all_reduce", Meets)] * 2, "offers 'all_reduce' twice for any"),
        ([record(CollectiveEntry, "all_reduce", Collective)],
         "its collective 'all_reduce' (headrace.device.collective.Collective) does not override"),
        ([record(CollectiveEntry, "all_reduce", None)], "whose create cannot be called"),
        ([record(CollectiveEntry, "all_reduce", Meets, "float32")], "whose match cannot be called"),
        ([record(CollectiveEntry, "all_reduce", Meets, priority="x")], "has priority 'x'"),
        ([CollectiveEntry("other", "all_reduce", Meets)], "for device 'other'"),
    ],
)  # fmt: skip
def test_a_collective_that_could_not_run_is_refused(
    make_plugin: Make, entries: list[object], says: str
) -> None:
    """When the backend loads, and not in the middle of a job on eight devices."""
    assert says in refusal(make_plugin(headrace_collectives=lambda: entries)).cause


def test_a_function_that_makes_no_collective_is_named(make_plugin: Make) -> None:
    """What is made is looked at when it is made."""
    entry = CollectiveEntry("toy", "all_reduce", lambda call: Collective())
    backend = load(make_plugin(headrace_collectives=lambda: [entry]))
    (found,) = backend.collectives.entries("all_reduce")
    with pytest.raises(PluginError, match="create of its collective all_reduce returned a"):
        found.create(OpCall("all_reduce", "node", ()))


def test_a_claim_of_peer_copies_needs_the_copy(make_plugin: Make) -> None:
    """A device that claims them has a context that does them."""
    entry = DeviceEntry("toy", capabilities=frozenset({PEER_COPIES}))
    contexts = lambda: [DeviceContextEntry("toy", Copying)]  # noqa: E731
    plugin = make_plugin(headrace_devices=lambda: [entry], headrace_device_contexts=contexts)
    cause = refusal(plugin).cause
    assert "does not override copy_peer, and its DeviceEntry claims peer-copies" in cause


def test_a_capability_that_does_not_exist_is_refused(make_plugin: Make) -> None:
    """A misspelt claim would never be tested; the known ones are named."""
    entry = DeviceEntry("toy", capabilities=frozenset({"inplace"}))
    cause = refusal(make_plugin(headrace_devices=lambda: [entry])).cause
    assert "claims capability 'inplace'; capabilities are in-place" in cause


@pytest.mark.parametrize("claims", ["in-place", ["in-place"], None])
def test_capabilities_are_a_set(make_plugin: Make, claims: Any) -> None:
    """A text alone is not taken for a set of letters, and what is wrong is shown."""
    entry = DeviceEntry("toy", capabilities=claims)
    cause = refusal(make_plugin(headrace_devices=lambda: [entry])).cause
    assert cause.startswith(f"capabilities of its DeviceEntry is {claims!r}")


def test_headrace_stream_index_generators_replaces_the_default(make_plugin: Make) -> None:
    """Without the hook streams are numbered 0, 1, 2; with it, as the plugin says."""

    class Seven(StreamIndexGenerator):
        def compute(self) -> int:
            return 7

    entry = StreamIndexEntry("toy", Seven)

    assert load(make_plugin()).streams == StreamIndexEntry("toy", StreamIndexGenerator)
    given = load(make_plugin(headrace_stream_index_generators=lambda: [entry])).streams.create(0)
    assert (given.compute(), given.h2d()) == (7, 1)


@pytest.mark.parametrize("hook", ["headrace_devices", "headrace_allocators", "headrace_kernels"])
def test_a_required_hook_that_is_absent_is_named(make_plugin: Make, hook: str) -> None:
    """A plugin without one of the three is refused."""
    refused = refusal(make_plugin(**{hook: None}))

    assert refused.state == "invalid"
    assert refused.phase == "hooks"
    assert refused.cause == f"it does not implement {hook}, which is required"


def test_a_hook_without_its_marker_is_named(make_plugin: Make) -> None:
    """The usual slip: the function is there, ``@hookimpl`` is not."""
    plugin = make_plugin(headrace_kernels=None)
    plugin.headrace_kernels = lambda: [kernel()]

    assert refusal(plugin).cause.startswith("its headrace_kernels is not marked with @hookimpl")


def test_a_misspelt_hook_is_refused_with_the_right_name(make_plugin: Make) -> None:
    """pluggy alone would accept it and never call it."""
    refused = refusal(make_plugin(headrace_kernel=lambda: [kernel()]))

    assert "no hook has that name; did you mean headrace_kernels?" in refused.cause


def test_a_parameter_that_the_hook_does_not_have_is_refused(make_plugin: Make) -> None:
    """Core would have nothing to pass."""
    refused = refusal(make_plugin(headrace_kernels=lambda session: [kernel()]))

    assert refused.state == "invalid"
    assert "session" in refused.cause


def with_default(limit: int = 3) -> None: ...
def with_keyword_only(*, limit: int) -> None: ...
def with_rest(*limits: int) -> None: ...


@pytest.mark.parametrize("hook", [with_default, with_keyword_only, with_rest])
def test_defaults_and_keyword_only_parameters_are_refused(
    make_plugin: Make, hook: Callable[..., object]
) -> None:
    """pluggy would never fill them, and their default would win in silence."""
    refused = refusal(make_plugin(headrace_kernels=hook))

    assert "of its headrace_kernels has a default or is keyword-only" in refused.cause


def test_a_wrapper_is_refused(make_plugin: Make) -> None:
    """Wrappers change the answers of others; a backend answers for itself."""
    plugin = make_plugin(headrace_kernels=None)

    @hookimpl(wrapper=True)
    def headrace_kernels() -> Any:
        return (yield)

    plugin.headrace_kernels = headrace_kernels

    assert "headrace_kernels is a wrapper" in refusal(plugin).cause


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: None, "returned None"),
        (lambda: 7, "returned int, which is no iterable"),
        (lambda: kernel(), "returned KernelEntry, which is no iterable"),
        (lambda: ["add"], "returned 'add'; it must return KernelEntry records"),
        (lambda: [DeviceEntry("toy")], "it must return KernelEntry records"),
        (lambda: itertools.repeat(kernel()), "returned more than 100000 records"),
    ],
)
def test_an_answer_must_be_records_of_the_hook(
    make_plugin: Make, answer: Callable[[], object], says: str
) -> None:
    """None, a bare record, other types, an answer without end."""
    assert says in refusal(make_plugin(headrace_kernels=answer)).cause


def test_a_generator_that_raises_half_way_publishes_nothing(make_plugin: Make) -> None:
    """The kernels before the error are not served: a backend is published whole or not at all."""

    def half() -> Iterator[KernelEntry]:
        yield kernel()
        raise OSError("table is torn")

    refused = refusal(make_plugin(headrace_kernels=half))

    assert (refused.state, refused.cause) == ("invalid", "OSError: table is torn")


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("headrace_devices", DeviceEntry("other")),
        ("headrace_allocators", AllocatorEntry("other", MemoryKind.HOST, 64, HostAllocator)),
        ("headrace_kernels", KernelEntry("other", "add", lambda call: Kernel())),
        ("headrace_device_contexts", DeviceContextEntry("other")),
        ("headrace_stream_index_generators", StreamIndexEntry("other")),
    ],
)
def test_a_record_for_another_device_is_refused(
    make_plugin: Make, hook: str, answer: object
) -> None:
    """A backend answers for the tag of its entry point only."""
    refused = refusal(make_plugin(**{hook: lambda: [answer]}))

    assert f"its {hook} returned a" in refused.cause
    assert "for device 'other'; the entry point is named 'toy'" in refused.cause


@pytest.mark.parametrize("hook", ["headrace_devices", "headrace_allocators"])
@pytest.mark.parametrize("number", [0, 2])
def test_there_is_exactly_one_device_and_allocator(
    make_plugin: Make, hook: str, number: int
) -> None:
    """No device, or two, is refused with the number."""
    (entry,) = getattr(make_plugin(), hook)()
    refused = refusal(make_plugin(**{hook: lambda: [entry] * number}))

    assert f"its {hook} returned {number} records; it must return exactly one" == refused.cause


@pytest.mark.parametrize(
    ("hook", "entry"),
    [
        ("headrace_device_contexts", DeviceContextEntry("toy")),
        ("headrace_stream_index_generators", StreamIndexEntry("toy")),
    ],
)
def test_there_is_at_most_one_context_and_stream_record(
    make_plugin: Make, hook: str, entry: object
) -> None:
    """None means the default, which is no error; two is one."""
    assert load(make_plugin(**{hook: lambda: ()})).context.create(Device(0), 1).host_synchronous
    refused = refusal(make_plugin(**{hook: lambda: [entry, entry]}))

    assert f"its {hook} returned 2 records; at most one is allowed" == refused.cause


@pytest.mark.parametrize(
    ("hook", "entry", "says"),
    [
        ("headrace_devices", record(DeviceEntry, count=3), "whose count cannot be called"),
        ("headrace_devices", record(DeviceEntry, open="x"), "whose open cannot be called"),
        ("headrace_devices", record(DeviceEntry, api_version="1.0"), "api_version is '1.0'"),
        ("headrace_devices", record(DeviceEntry, api_version=(1,)), "api_version is (1,)"),
        (
            "headrace_allocators",
            record(AllocatorEntry, "host", 64, HostAllocator),
            "must be a MemoryKind",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.DEVICE, 64, HostAllocator, "pin"),
            "whose create_pinned cannot be called",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.HOST, 64, HostAllocator, HostAllocator),
            "create_pinned and memory_kind HOST: nothing is copied there",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.HOST, 48, HostAllocator),
            "alignment_bytes of its AllocatorEntry is 48; it must be a power of two",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.HOST, 0, HostAllocator),
            "must be a power of two",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.HOST, 1 << 40, HostAllocator),
            "alignment_bytes of its AllocatorEntry is 1099511627776; it must be a power of two, "
            "of at most 2097152",
        ),
        (
            "headrace_allocators",
            record(AllocatorEntry, MemoryKind.HOST, 64, None),
            "whose create cannot be called",
        ),
        ("headrace_kernels", kernel(create=None), "whose create cannot be called"),
        ("headrace_kernels", kernel(match="float32"), "whose match cannot be called"),
        ("headrace_kernels", kernel(priority="high"), "has priority 'high'"),
        ("headrace_kernels", kernel("rellu"), "which headrace does not have; did you mean 'relu'?"),
        (
            "headrace_device_contexts",
            record(DeviceContextEntry, 1),
            "whose create cannot be called",
        ),
        ("headrace_stream_index_generators", record(StreamIndexEntry, 1), "cannot be called"),
    ],
)
def test_every_field_is_checked(make_plugin: Make, hook: str, entry: object, says: str) -> None:
    """A field of the wrong kind is found when the backend loads, not when a job runs."""
    assert says in refusal(make_plugin(**{hook: lambda: [entry]})).cause


def test_the_same_kernel_twice_is_refused(make_plugin: Make) -> None:
    """Equal op, match and priority: neither could ever be chosen."""
    twice = [kernel(match=dtypes("float32")), kernel(match=dtypes("float32"))]
    refused = refusal(make_plugin(headrace_kernels=lambda: twice))

    assert "offers 'add' twice for float32 with priority 0" in refused.cause


def test_kernels_that_differ_are_not_duplicates(make_plugin: Make) -> None:
    """Another dtype, another priority or another op is another kernel."""
    kernels = (
        kernel(match=dtypes("float32")), kernel(match=dtypes("float64")), kernel(priority=-1),
        kernel("relu"),
    )  # fmt: skip

    assert len(load(make_plugin(headrace_kernels=lambda: kernels)).kernels.entries("add")) == 3


@pytest.mark.parametrize(
    ("count", "shown"), [(-1, "-1"), (True, "True"), ("2", "'2'"), (None, "None")]
)
def test_a_count_must_be_a_number(make_plugin: Make, count: object, shown: str) -> None:
    """What ``count`` returns is checked like a record."""
    entry = record(DeviceEntry, count=lambda: count)
    refused = refusal(make_plugin(headrace_devices=lambda: [entry]))

    assert (refused.state, refused.phase) == ("invalid", "count")
    assert f"returned {shown}" in refused.cause


def test_open_is_not_called_by_loading(make_plugin: Make) -> None:
    """A device is opened by a session, never by looking at it."""

    def open_device(index: int) -> Device:
        raise OSError(f"no device {index}")

    entry = DeviceEntry("toy", open=open_device)

    with pytest.raises(PluginError, match=r"DeviceEntry raised OSError: no device 3"):
        load(make_plugin(headrace_devices=lambda: [entry])).device.open(3)
