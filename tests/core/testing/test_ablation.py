"""Nothing of a backend can be missing in silence: one removal after the other."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from plugin_ops import fuse, hello
from toy_backends import FarAllocator, FarContext, FarKernel, far, near

from headrace.device import AllocatorEntry, Buffer, DeviceContext, DeviceContextEntry, MemoryKind
from headrace.errors import (
    DeviceError,
    DeviceUnavailableError,
    HeadraceError,
    PluginError,
    Reason,
    RunError,
    UnsupportedError,
)
from headrace.hookspecs import hookimpl
from headrace.registry import BackendRegistry
from headrace.registry.discover import InstalledBackend
from headrace.testing.ablation import Removal, ablate, judge, removals
from headrace.testing.conformance import test_streams
from headrace.testing.opened import OpenedDevice

PLUGINS: dict[str, Any] = {"near": near(), "far": far(), "hello": hello(fuse)}


@pytest.mark.parametrize(
    ("tag", "removal"),
    [(tag, removal) for tag, plugin in PLUGINS.items() for removal in removals(plugin)],
    ids=str,
)
def test_a_removal_misleads_nobody(tag: str, removal: Removal) -> None:
    """An error that names what is missing, or the default and right numbers."""
    result = ablate(tag, PLUGINS[tag], removal)
    assert result.is_sound, result


@pytest.mark.parametrize(
    ("removal", "outcome"),
    [
        (Removal("headrace_kernels", "left out"), "refused"),
        (Removal("headrace_device_contexts", "left out"), "refused"),
        (Removal("Allocator.free", "left out"), "refused"),
        (Removal("DeviceContext.synchronize", "left out"), "refused"),
        (Removal("DeviceContext.host_synchronous", "left out"), "refused"),
        (Removal("DeviceContext.wait_event", "left out"), "same"),
        (Removal("Event.synchronize", "left out"), "refused"),
        (Removal("Buffer.view", "left out"), "refused"),
        (Removal("Device.close", "absent"), "refused"),
    ],
    ids=str,
)
def test_what_comes_of_a_removal(removal: Removal, outcome: str) -> None:
    """Of a device with late streams and memory of its own: required things are refused."""
    assert ablate("far", PLUGINS["far"], removal).outcome == outcome


@pytest.mark.parametrize(
    ("name", "way", "outcome"),
    [
        ("headrace_ops.compute", "not callable", "refused"),
        ("headrace_ops.compute", "left out", "default"),
        ("headrace_passes.rewrite", "not callable", "refused"),
    ],
)
def test_records_about_graphs_are_covered(name: str, way: str, outcome: str) -> None:
    """What computes a plugin's op on the host may be left out; what rewrites a graph may not."""
    assert Removal(name, way) in removals(PLUGINS["hello"])
    assert ablate("hello", PLUGINS["hello"], Removal(name, way)).outcome == outcome


def test_events_of_core_are_not_taken_away() -> None:
    """A context that works at once keeps core's event; what it never had is the same without."""

    class AtOnce(DeviceContext):
        pass

    hook = hookimpl(lambda: [DeviceContextEntry("near", AtOnce)])
    plugin = SimpleNamespace(**vars(near()) | {"headrace_device_contexts": hook})
    for way in ("left out", "absent"):
        assert ablate("near", plugin, Removal("Event.synchronize", way)).outcome == "same"


def test_messages_name_the_distribution() -> None:
    """With the metadata of its package an error names that, and not a module."""
    installed = InstalledBackend("far", "headrace_far.plugin", "headrace-far", "1.2")
    for removal in (Removal("Buffer.view", "absent"), Removal("DeviceContext.close", "absent")):
        result = ablate("far", PLUGINS["far"], removal, installed)
        assert result.outcome == "refused"
        assert "headrace-far 1.2" in result.detail
        assert "toy_backends.Far" in result.detail  # the author's class, not one of the suite


def _answering(entry: object) -> Callable[[], list[object]]:
    return lambda: [entry]


def far_with(**entries: object) -> SimpleNamespace:
    """The backend ``far`` with other records: the one record of each of these hooks."""
    hooks = {name: hookimpl(_answering(entry)) for name, entry in entries.items()}
    return SimpleNamespace(**vars(far()) | hooks)


class Idle(FarKernel):
    """Computes nothing."""

    def enqueue(self, context: Any, work: Any) -> Any:
        return lambda: None


NOTHING = Removal("nothing", "left out")


def test_a_device_that_computes_nothing_is_found() -> None:
    """The programs can fail: numbers are compared, not only errors counted."""
    assert ablate("far", far(kernel=Idle), NOTHING).outcome == "wrong"


class Telling(FarAllocator):
    """Raises when it is given something back."""

    def free(self, buffer: Buffer) -> None:
        raise PluginError("there is no nothing here")


def test_an_error_after_a_launch_is_late() -> None:
    """It names what is missing and is of the right type, but something was computed before."""
    entry = AllocatorEntry("far", MemoryKind.DEVICE, 16, Telling)
    result = ablate("far", far_with(headrace_allocators=entry), NOTHING)
    assert (result.outcome, result.is_sound) == ("late", False)
    assert result.detail == "after 6 launches: PluginError: there is no nothing here"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Allocator.free", "memory was never freed"),
        ("Device.close", "x was closed twice"),
        ("Kernel.bind", "no binding"),
        ("Buffer.view", "overview"),
        ("DeviceContext.copy_d2h", "has no copy_d2h_async"),
    ],
)
def test_a_part_of_a_word_names_nothing(name: str, text: str) -> None:
    """A message that happens to hold the letters of a name does not tell what is missing."""
    removal = Removal(name, "left out")
    assert judge(removal, PluginError(text), 0)[0] == "unclear"
    word = name.rpartition(".")[2]
    assert judge(removal, PluginError(f"its class has no {word}; add it"), 0)[0] == "refused"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (PluginError("no free"), "refused"),
        (UnsupportedError("no free"), "refused"),
        (DeviceUnavailableError("no free", tag="far", reason=Reason.INVALID), "refused"),
        (DeviceError("no free"), "unclear"),
        (RunError("no free"), "unclear"),
        (HeadraceError("no free"), "unclear"),
        (AttributeError("no free"), "unclear"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_an_error_must_be_about_the_plugin(error: Exception, outcome: str) -> None:
    """The right word in an error of another kind is luck."""
    assert judge(Removal("Allocator.free", "absent"), error, 0)[0] == outcome
    assert judge(Removal("Allocator.free", "absent"), error, 1)[0] != "refused"


class Lying(FarContext):
    """Queues its work, and says that it is done on return."""

    host_synchronous = True
    synchronize = DeviceContext.synchronize
    record_event = DeviceContext.record_event


@pytest.mark.parametrize("kind", [FarContext, Lying])
def test_a_context_that_lies_fails_the_conformance_suite(kind: type[FarContext]) -> None:
    """No look at a class tells that work is done late; a test of tag ``streams`` does."""
    plugin = far_with(headrace_device_contexts=DeviceContextEntry("far", kind))
    with OpenedDevice("far:0", BackendRegistry.from_modules({"far": plugin})) as opened:
        one = opened.upload(test_streams.ONE)
        if kind is FarContext:
            test_streams.test_what_says_that_it_is_done_on_return_is(opened, one)
        else:
            with pytest.raises(AssertionError):
                test_streams.test_what_says_that_it_is_done_on_return_is(opened, one)
