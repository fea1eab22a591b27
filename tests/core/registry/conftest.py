"""Small backends for the tests of the registry, and a way to install one without installing it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.device import (
    AllocatorEntry,
    DeviceEntry,
    HostAllocator,
    Kernel,
    KernelEntry,
    MemoryKind,
    OpCall,
)
from headrace.hookspecs import hookimpl

TAG = "toy"

MODULE = """
from headrace.device import (
    AllocatorEntry, DeviceEntry, HostAllocator, Kernel, KernelEntry, MemoryKind
)
from headrace.hookspecs import hookimpl

@hookimpl
def headrace_devices():
    yield DeviceEntry("TAG")

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("TAG", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    yield KernelEntry("TAG", "add", lambda call: Kernel())
"""


class ToyKernel(Kernel):
    """Takes every call; never launched here."""

    def __init__(self, call: OpCall) -> None:
        self.call = call

    def launch(self, *buffers: object) -> None:
        """Do nothing."""


def _plugin(tag: str = TAG, **hooks: Callable[..., object] | None) -> SimpleNamespace:
    def headrace_devices() -> Iterable[DeviceEntry]:
        yield DeviceEntry(tag)

    def headrace_allocators() -> Iterable[AllocatorEntry]:
        yield AllocatorEntry(tag, MemoryKind.HOST, 64, HostAllocator)

    def headrace_kernels() -> Iterable[KernelEntry]:
        yield KernelEntry(tag, "add", ToyKernel)

    found: dict[str, Callable[..., object] | None] = {
        "headrace_devices": headrace_devices,
        "headrace_allocators": headrace_allocators,
        "headrace_kernels": headrace_kernels,
        **hooks,
    }
    return SimpleNamespace(
        **{name: hookimpl(hook) for name, hook in found.items() if hook is not None}
    )


def _install(
    folder: Path,
    distribution: str = "headrace-toy",
    *,
    tag: str = TAG,
    version: str = "0.3.1",
    requires: Iterable[str] = (),
    source: str = MODULE,
) -> str:
    stem = distribution.replace("-", "_")
    module = f"{stem}_plugin"
    text = textwrap.dedent(source).replace("TAG", tag)
    (folder / f"{module}.py").write_text(text, "utf-8")
    info = folder / f"{stem}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[headrace.backends]\n{tag} = {module}\n", "utf-8")
    return module


@pytest.fixture
def make_plugin() -> Callable[..., SimpleNamespace]:
    """Makes an object with the required hooks; keywords replace, add or (None) remove hooks."""
    return _plugin


@pytest.fixture
def install() -> Callable[..., str]:
    """Writes into a folder what pip would: a module and a ``.dist-info``; returns the module."""
    return _install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder on ``sys.path``; what was imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]
