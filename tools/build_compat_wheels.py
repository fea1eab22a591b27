"""Write the wheels of tests/compat: plugins of earlier, this and later versions of the contract.

    python tools/build_compat_wheels.py [--check]

They are stored, as users have them stored: a plugin that was built years ago is not built again
when headrace changes. Run this only to add one. The same sources give the same bytes; `--check`
compares and writes nothing.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests/compat/wheels"

PLUGIN = '''"""Device compat, as the scaffold wrote it for version {api} of the contract."""

import os
from collections.abc import Iterable
from pathlib import Path

from headrace.device import AllocatorEntry, DeviceEntry, HostAllocator, KernelEntry, MemoryKind
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel

TAG = "compat"

if "COMPAT_CANARY" in os.environ:
    Path(os.environ["COMPAT_CANARY"]).touch()


@hookimpl
def headrace_devices() -> Iterable[DeviceEntry]:
    yield DeviceEntry(TAG, api_version={version})


@hookimpl
def headrace_allocators() -> Iterable[AllocatorEntry]:
    yield AllocatorEntry(TAG, MemoryKind.HOST, 64, HostAllocator)


@hookimpl
def headrace_kernels() -> Iterable[KernelEntry]:
    yield KernelEntry(TAG, "add", NumpyKernel)
'''

HOOKS_OF_1_1 = """

from headrace.device import ConformanceProfile  # noqa: E402


@hookimpl
def headrace_conformance_profiles() -> Iterable[ConformanceProfile]:
    yield ConformanceProfile(TAG)
"""


@dataclass(frozen=True)
class Plugin:
    """One wheel: its version, the contract its code was written for, and what it requires."""

    version: str
    api: tuple[int, int]
    requires: str = "headrace>=0.1,<1"
    more: str = ""


PLUGINS = (
    Plugin("1.0", (1, 0)),
    Plugin("1.1", (1, 1), more=HOOKS_OF_1_1),
    Plugin("1.2", (1, 2), more=HOOKS_OF_1_1),
    Plugin("1.3", (1, 3), more=HOOKS_OF_1_1),
    Plugin("1.4", (1, 4), more=HOOKS_OF_1_1),
    Plugin("1.5", (1, 5), more=HOOKS_OF_1_1),
    Plugin("1.6", (1, 6), more=HOOKS_OF_1_1),
    Plugin("2.0", (2, 0)),
    Plugin("9.0", (1, 0), requires="headrace>=99,<100"),
)


def wheel(plugin: Plugin) -> tuple[str, bytes]:
    """File name and content of a plugin's wheel."""
    info = f"headrace_compat-{plugin.version}.dist-info"
    api = ".".join(map(str, plugin.api))
    source = PLUGIN.format(api=api, version=plugin.api) + plugin.more
    metadata = (
        f"Metadata-Version: 2.1\nName: headrace-compat\nVersion: {plugin.version}\n"
        f"Requires-Dist: {plugin.requires}\n"
    )
    files = {
        "headrace_compat/__init__.py": "",
        "headrace_compat/plugin.py": source,
        "headrace_compat/py.typed": "",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": "[headrace.backends]\ncompat = headrace_compat.plugin\n",
    }
    record = "".join(f"{name},{_hash(text)},{len(text.encode())}\n" for name, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
    return f"headrace_compat-{plugin.version}-py3-none-any.whl", buffer.getvalue()


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(description="write the stored wheels of tests/compat")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    made = dict(map(wheel, PLUGINS))
    stored = {path.name: path.read_bytes() for path in FOLDER.glob("*.whl")}
    if check:
        sys.exit(None if made == stored else "the stored wheels are not what this script writes")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (FOLDER / name).write_bytes(data)
        print(name)


if __name__ == "__main__":
    main()
