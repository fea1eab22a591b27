"""What tells code apart: the text that plans are kept under."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import pytest
from toy_backends import FarAllocator, FarContext, FarKernel

from headrace.device import (
    AllocatorEntry,
    DeviceContextEntry,
    DeviceEntry,
    HostAllocator,
    KernelEntry,
    MemoryKind,
)
from headrace.frontend.plan_cache import identity, identity_of, installed_code
from headrace.hookspecs import hookimpl
from headrace.registry.discover import InstalledBackend, version_of
from headrace.registry.registry import BackendRegistry

MODULE = "headrace_toy_near"


def plugin(
    count: int = 2,
    capabilities: frozenset[str] = frozenset(),
    versions: Mapping[str, str] = MappingProxyType({"driver": "1.0"}),
    alignment_bytes: int = 64,
    pinned: bool = False,
    lists: bool = True,
) -> object:
    """The hooks of backend ``near``, as they would answer here."""

    @hookimpl
    def headrace_devices() -> object:
        yield DeviceEntry("near", lambda: count, capabilities=capabilities, versions=dict(versions))

    @hookimpl
    def headrace_allocators() -> object:
        create_pinned = HostAllocator if pinned else None
        yield AllocatorEntry(
            "near", MemoryKind.DEVICE, alignment_bytes, FarAllocator, create_pinned
        )

    @hookimpl
    def headrace_device_contexts() -> object:
        yield DeviceContextEntry("near", FarContext)

    @hookimpl
    def headrace_kernels() -> object:
        assert lists, "nobody needs them"
        return [KernelEntry("near", "add", FarKernel)]

    return SimpleNamespace(**{k: v for k, v in locals().items() if k.startswith("headrace_")})


class Identity:
    """Asks for the identity as a process that starts now would see it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(
        self,
        tags: tuple[str, ...] = ("near",),
        version: str = "1.0",
        requires: tuple[str, ...] = ("headrace", "toyhelper>=1"),
        others: tuple[InstalledBackend, ...] = (),
        **hooks: Any,
    ) -> str | None:
        installed_code.code_of.cache_clear()
        identity.processor.cache_clear()
        self._monkeypatch.setattr("headrace.IMPORTED_NS", 1 << 62)
        near = InstalledBackend(
            "near", MODULE, "headrace-near", version, requires, implementation=plugin(**hooks)
        )
        return identity_of(BackendRegistry([near, *others], allow=None, block=()), tags)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed plugin, within reach of an import."""
    folder = tmp_path / MODULE
    (folder / "kernels").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "plugin.py").write_text("# hooks\n")
    (folder / "kernels/native.so").write_bytes(b"machine code")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.fixture
def asked(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Identity]:
    """The identity where the package is installed."""
    yield Identity(monkeypatch)
    installed_code.code_of.cache_clear()
    identity.processor.cache_clear()


def test_the_same_code_has_the_same_identity(asked: Identity) -> None:
    """It does not depend on what was imported or asked before."""
    first = asked()
    assert first is not None
    assert asked() == first


@pytest.mark.parametrize("file", ["plugin.py", "kernels/native.so"])
def test_an_edit_in_place_changes_it(asked: Identity, package: Path, file: str) -> None:
    """Also one that keeps the length and sets the time of modification back."""
    before = asked()
    path = package / file
    status = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert asked() not in (before, None)


def test_a_new_file_changes_it(asked: Identity, package: Path) -> None:
    """Whatever it is called; what Python makes of sources while it runs does not count."""
    before = asked()
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__/plugin.pyc").write_bytes(b"")
    assert asked() == before
    (package / "kernels/table.json").write_text("{}")
    assert asked() not in (before, None)


def test_code_that_changed_while_the_process_ran_has_none(
    asked: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was imported may be older than what is there."""
    assert asked() is not None
    installed_code.code_of.cache_clear()
    monkeypatch.setattr("headrace.IMPORTED_NS", 0)
    installed = InstalledBackend("near", MODULE, "headrace-near", "1.0")
    assert identity_of(BackendRegistry([installed], allow=None, block=()), ["near"]) is None


@pytest.fixture
def record(package: Path, tmp_path: Path) -> Path:
    """The list of files that a wheel of the package left behind."""
    metadata = tmp_path / "headrace_near-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: headrace-near\nVersion: 1.0\n")
    path = metadata / "RECORD"
    path.write_text(f"{MODULE}/__init__.py,sha256=aaaa,0\n{MODULE}/plugin.py,sha256=bbbb,8\n")
    return path


def test_a_wheel_is_told_apart_by_the_hashes_that_it_was_installed_with(
    asked: Identity, record: Path
) -> None:
    """The same version built anew has others; the same build has the same, installed again, too."""
    before = asked()
    text = record.read_text()
    record.write_text(text.replace("bbbb", "cccc"))
    assert asked() not in (before, None)
    record.unlink()
    record.write_text(text)
    assert asked() == before


def test_files_of_a_wheel_are_not_looked_at(asked: Identity, record: Path, package: Path) -> None:
    """They are as they were installed: that takes no longer the more there are."""
    before = asked()
    (package / "plugin.py").write_text("# edited by hand\n")
    assert asked() == before


def test_what_was_installed_while_the_process_ran_has_none(
    asked: Identity, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was imported is older than the list."""
    assert asked() is not None
    installed_code.code_of.cache_clear()
    monkeypatch.setattr("headrace.IMPORTED_NS", record.stat().st_ctime_ns)
    installed = InstalledBackend("near", MODULE, "headrace-near", "1.0")
    assert identity_of(BackendRegistry([installed], allow=None, block=()), ["near"]) is None


@pytest.mark.parametrize(
    "listed",
    [
        "headrace_near.pth,sha256=aaaa,20\n",
        f"{MODULE}/__init__.py,,\n",
        f"{MODULE}/native.so,sha256=aaaa,20\n",
    ],
    ids=["editable", "without hashes", "redirected"],
)
def test_a_list_that_does_not_speak_for_the_code_is_not_believed(
    asked: Identity, record: Path, package: Path, listed: str
) -> None:
    """Editable installs have one as well; it names what leads to the code."""
    record.write_text(listed)
    before = asked()
    (package / "plugin.py").write_text("# edited by hand\n")
    assert asked() not in (before, None)


def test_code_beside_its_wheel_is_looked_at(
    asked: Identity, record: Path, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout that comes first on the path is what is imported."""
    checkout = tmp_path / "src" / MODULE
    checkout.mkdir(parents=True)
    (checkout / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(checkout.parent))
    before = asked()
    (checkout / "__init__.py").write_text("# edited\n")
    assert asked() not in (before, None)


def test_a_backend_that_is_no_package_has_none(registry: BackendRegistry) -> None:
    """Nothing is known of where its code is."""
    assert identity_of(registry, ["near"]) is None


@pytest.mark.parametrize(
    ("name", "differs"),
    [
        ("HEADRACE_NEAR_SETTING", True),
        ("HEADRACE_VERIFY", True),
        ("HEADRACE_TRACEBACK", False),
        ("HEADRACE_CACHE", False),
        ("HOME", False),
    ],
)
def test_variables_that_may_change_a_plan_change_it(
    asked: Identity, monkeypatch: pytest.MonkeyPatch, name: str, differs: bool
) -> None:
    """All of headrace and of its backends, but those that are known to have no effect on plans."""
    before = asked()
    monkeypatch.setenv(name, "/some/value")
    assert (asked() != before) is differs


@pytest.mark.parametrize(
    "here",
    [
        {"count": 3},
        {"capabilities": frozenset({"in-place"})},
        {"versions": {"driver": "1.1"}},
        {"alignment_bytes": 128},
        {"pinned": True},
        {"version": "1.1"},
        {"others": (InstalledBackend("far", MODULE, "headrace-far", "1.0"),)},
    ],
    ids=lambda here: next(iter(here)),
)
def test_what_a_plugin_says_of_its_devices_changes_it(
    asked: Identity, here: dict[str, Any]
) -> None:
    """The same package may offer other kernels on another card, or with another driver."""
    before = asked()
    assert asked(**here) not in (before, None)
    assert asked() == before


def test_no_list_is_made_to_tell(asked: Identity) -> None:
    """What a plugin lists is in its code; a process that finds its plans asks for none of it."""
    assert asked(lists=False) == asked() is not None


def test_devices_that_no_job_uses_do_not_change_it(asked: Identity) -> None:
    """Nor is their plugin loaded to find out."""
    assert asked(tags=()) == asked(tags=(), count=3)
    assert asked(tags=("absent",)) == asked(tags=("absent",), count=3)
    assert asked(tags=("absent",)) != asked(tags=())


def test_a_package_that_a_plugin_needs_changes_it(asked: Identity, tmp_path: Path) -> None:
    """Its version, and whether it is there; what only an extra needs does not count."""
    found = [asked()]
    for version in ("1.0", "1.1"):
        metadata = tmp_path / f"toyhelper-{version}.dist-info/METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: toyhelper\nVersion: {version}\n")
        found.append(asked())
        metadata.unlink()
        metadata.parent.rmdir()
    assert len(set(found)) == 3
    more = ("headrace", "toyhelper>=1", "absent>=1; extra == 'test'")
    assert asked(requires=more) == asked() == found[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("headrace.frontend.plan_cache.identity.installed_version", lambda: "9.9"),
        ("headrace.frontend.plan_cache.identity.API_VERSION", (9, 9)),
        ("numpy.__version__", "9.9"),
        (
            "headrace.frontend.plan_cache.identity.version_of",
            lambda name: "9.9" if name == "ml_dtypes" else version_of(name),
        ),
        ("sys.version", "9.9"),
        ("platform.machine", lambda: "abacus"),
    ],
    ids=["headrace", "contract", "numpy", "ml_dtypes", "python", "machine"],
)
def test_versions_change_it(
    asked: Identity, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    """Of headrace, of the contract, and of what computes while a job is compiled."""
    before = asked()
    with monkeypatch.context() as patched:
        patched.setattr(name, value)
        assert asked() not in (before, None)
    assert asked() == before


def test_what_the_processor_can_do_changes_it(
    asked: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home on a network is shared by unlike machines. Its speed of the moment does not count."""
    before = asked()
    with monkeypatch.context() as patched:
        patched.setattr(identity, "_FEATURES", ())
        patched.setattr("platform.processor", lambda: "another")
        assert asked() not in (before, None)
    assert "MHz" not in identity.processor()
    assert asked() == before


def test_another_onnx_changes_it(
    asked: Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is looked at; it is not imported."""
    before = asked()
    origin = tmp_path / "elsewhere"
    origin.write_text("")
    module = ModuleType("onnx")
    module.__spec__ = ModuleSpec("onnx", None, origin=str(origin))
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "onnx", module)
        assert asked() not in (before, None)
    assert asked() == before
