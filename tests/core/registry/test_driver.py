"""A plugin is loaded in two steps: what runs plans, then what compilers choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.device import DeviceEntry, Kernel, KernelEntry
from headrace.errors import DeviceUnavailableError
from headrace.registry import BackendRegistry
from headrace.registry.discover import discover

Make = Callable[..., SimpleNamespace]
Install = Callable[..., str]


def noted(calls: list[str]) -> dict[str, Callable[[], object]]:
    """Hooks that note in ``calls`` when they are called."""

    def count() -> int:
        calls.append("count")
        return 2

    def headrace_devices() -> Iterator[DeviceEntry]:
        calls.append("devices")
        yield DeviceEntry("toy", count=count)

    def headrace_kernels() -> Iterator[KernelEntry]:
        calls.append("kernels")
        yield KernelEntry("toy", "add", lambda call: Kernel())

    def listed(name: str) -> Callable[[], tuple[object, ...]]:
        def hook() -> tuple[object, ...]:
            calls.append(name)
            return ()

        return hook

    lists = ("ops", "passes", "collectives", "conformance_profiles")
    return {
        "headrace_devices": headrace_devices,
        "headrace_kernels": headrace_kernels,
        **{f"headrace_{name}": listed(name) for name in lists},
    }


def test_a_driver_takes_the_hooks_about_devices_alone(make_plugin: Make) -> None:
    """The others are called when the backend is asked for, each once, and none a second time."""
    calls: list[str] = []
    registry = BackendRegistry.from_modules({"toy": make_plugin(**noted(calls))})

    driver = registry.driver("toy")
    registry.check_index("toy", 1)
    assert registry.driver("toy") is driver
    assert (driver.tag, registry.device_count("toy")) == ("toy", 2)
    assert calls == ["devices", "count"]
    assert [record.state for record in registry.records()] == ["found"]

    backend = registry.backend("toy")
    assert registry.driver("toy") is registry.backend("toy") is backend
    assert (backend.device, backend.kernels.ops()) == (driver.device, ("add",))
    lists = {"kernels", "ops", "passes", "collectives", "conformance_profiles"}
    assert Counter(calls) == {"devices": 1, "count": 2, **dict.fromkeys(lists, 1)}
    assert [record.state for record in registry.records()] == ["ready"]


def test_a_list_that_breaks_the_contract_is_refused_when_it_is_asked_for(make_plugin: Make) -> None:
    """By the same words as where nothing was loaded before; from then on there is no driver."""

    def headrace_kernels() -> Iterator[KernelEntry]:
        yield KernelEntry("toy", "rellu", lambda call: Kernel())

    plugin = make_plugin(headrace_kernels=headrace_kernels)
    begun = BackendRegistry.from_modules({"toy": plugin})
    assert begun.driver("toy").tag == "toy"
    said = []
    for registry in (begun, BackendRegistry.from_modules({"toy": plugin})):
        with pytest.raises(DeviceUnavailableError) as caught:
            registry.backend("toy")
        said.append(str(caught.value))
        assert [record.state for record in registry.records()] == ["invalid"]
    assert said[0] == said[1]
    assert "offers op 'rellu', which headrace does not have; did you mean 'relu'?" in said[0]


def test_a_device_hook_that_breaks_the_contract_is_refused_at_once(make_plugin: Make) -> None:
    """There is no driver then, and no backend."""

    def headrace_devices() -> list[DeviceEntry]:
        return []

    plugin = make_plugin(headrace_devices=headrace_devices)
    registry = BackendRegistry.from_modules({"toy": plugin})
    for ask in (registry.driver, registry.backend):
        with pytest.raises(DeviceUnavailableError, match="returned 0 records"):
            ask("toy")


LACKS = """
from headrace.device import AllocatorEntry, DeviceEntry, HostAllocator, MemoryKind
from headrace.hookspecs import hookimpl

@hookimpl
def headrace_devices():
    yield DeviceEntry("TAG")

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("TAG", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    import not_there_at_all
"""


def test_a_module_that_a_list_needs_and_is_missing_is_said(site: Path, install: Install) -> None:
    """As of one that is imported above; the command that helps imports it by the hook."""
    install(site, source=LACKS)
    registry = BackendRegistry(discover([str(site)]), block=(), core_version="0.1.0")
    assert registry.driver("toy").tag == "toy"
    with pytest.raises(DeviceUnavailableError):
        registry.backend("toy")
    (record,) = registry.records()
    assert (record.state, record.phase, record.cause, record.hint) == (
        "import-failed",
        "hooks",
        "ModuleNotFoundError: No module named 'not_there_at_all'",
        "headrace doctor toy",
    )
