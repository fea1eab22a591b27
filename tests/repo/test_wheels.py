"""The wheels hold what they should and nothing else."""

from __future__ import annotations

import configparser
import email
import sys
import zipfile
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

NATIVE = {
    "plugins/cambricon": "headrace_cambricon/_native",
    "plugins/cpu": "headrace_cpu/_native",
}
"""Folder -> its extension, without the suffix. A distribution that is not here is pure Python."""

FOLDERS = ["core", "plugins/cambricon", "plugins/cpu", "plugins/fakedevice"]
EXTENSION_SUFFIXES = {".so", ".pyd", ".dylib", ".dll"}


class Wheel:
    """One built wheel, opened for questions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.names = [PurePosixPath(name) for name in archive.namelist() if name[-1] != "/"]
            self._texts = {
                name.name: archive.read(str(name)).decode("utf-8")
                for name in self.names
                if name.parts[0].endswith(".dist-info") and len(name.parts) == 2
            }

    @property
    def metadata(self) -> Message:
        return email.message_from_string(self._texts["METADATA"])

    @property
    def entry_points(self) -> dict[str, dict[str, str]]:
        parser = configparser.ConfigParser()
        parser.read_string(self._texts.get("entry_points.txt", ""))
        return {section: dict(parser[section]) for section in parser.sections()}

    @property
    def files(self) -> set[PurePosixPath]:
        return {name for name in self.names if not name.parts[0].endswith(".dist-info")}

    @property
    def extensions(self) -> list[PurePosixPath]:
        return [name for name in self.files if name.suffix in EXTENSION_SUFFIXES]


def import_name(folder: str) -> str:
    return "headrace" if folder == "core" else f"headrace_{PurePosixPath(folder).name}"


def is_a_test(name: PurePosixPath) -> bool:
    """Whether a file of a wheel belongs to a test suite; the conformance suite is public API."""
    if name.parts[:3] == ("headrace", "testing", "conformance"):
        return False
    in_a_test_folder = bool({"test", "tests"} & set(name.parts[:-1]))
    return in_a_test_folder or name.name.startswith("test_") or name.name == "conftest.py"


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wheel(folder: str, wheel_folder: Path) -> Wheel:
    own = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = [
        path
        for path in wheel_folder.glob(f"{import_name(folder)}-*.whl")
        if path.name.split("-")[-3] in (own, "py3")
    ]
    assert len(found) == 1, found
    return Wheel(found[0])


def test_every_distribution_is_looked_at(distributions: dict[str, Any]) -> None:
    assert sorted(distributions) == FOLDERS


def test_one_top_level_package(wheel: Wheel, folder: str) -> None:
    """One name each, so that no wheel can shadow a part of another."""
    assert {name.parts[0] for name in wheel.files} == {import_name(folder)}


def test_typed(wheel: Wheel, folder: str) -> None:
    assert PurePosixPath(import_name(folder), "py.typed") in wheel.files


def test_entry_point(wheel: Wheel, folder: str) -> None:
    """The command in core; in a plugin one backend, named like its folder."""
    tag = PurePosixPath(folder).name
    expected = (
        {"console_scripts": {"headrace": "headrace.cli:main"}}
        if folder == "core"
        else {"headrace.backends": {tag: f"headrace_{tag}.plugin"}}
    )
    assert wheel.entry_points == expected


def test_no_tests(wheel: Wheel) -> None:
    """But those that the scaffold writes for others."""
    templates = PurePosixPath("headrace/scaffold/templates")
    tests = [name for name in wheel.files if is_a_test(name) and templates not in name.parents]
    assert tests == []


def test_native_code_is_one_extension_where_it_is_due(wheel: Wheel, folder: str) -> None:
    """Core is pure Python; a native plugin has exactly one private extension and its stub."""
    if folder not in NATIVE:
        assert wheel.extensions == []
        assert wheel.path.name.endswith("-py3-none-any.whl")
        return
    stand_in = PurePosixPath(import_name(folder), "sim")  # libraries that are opened, not imported
    (extension,) = [name for name in wheel.extensions if stand_in not in name.parents]
    assert str(extension).split(".")[0] == NATIVE[folder]
    assert PurePosixPath(NATIVE[folder] + ".pyi") in wheel.files


def test_the_wheel_holds_the_whole_source(wheel: Wheel, folder: str, root: Path) -> None:
    """A file that the build leaves out is missed only by users."""
    source = root / folder / "src"
    files = {
        PurePosixPath(path.relative_to(source).as_posix())
        for path in source.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in EXTENSION_SUFFIXES
        and not path.parent.name.endswith(".egg-info")
    }
    assert wheel.files - set(wheel.extensions) == files


def test_metadata(wheel: Wheel, folder: str, distributions: dict[str, Any]) -> None:
    """What core reads of a plugin before importing it is in the metadata; the licence too."""
    project = distributions[folder]["project"]
    assert wheel.metadata["Name"] == project["name"]
    assert wheel.metadata["Version"] == project["version"]
    assert wheel.metadata["License-Expression"] == "Apache-2.0"
    assert any(name.name == "LICENSE" for name in wheel.names)
    if folder != "core":
        required = [
            r for r in wheel.metadata.get_all("Requires-Dist", []) if r.startswith("headrace")
        ]
        assert required == ["headrace<0.2,>=0.1"]
