"""``check_wheel``: what would go wrong for those who install a backend's wheel."""

from __future__ import annotations

import configparser
import zipfile
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import BytesParser
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion

from headrace.registry.discover import GROUP
from headrace.registry.screen import CORE, TAG

NATIVE = (".so", ".pyd", ".dylib", ".dll")
"""Ends of the names of files that hold machine code."""


def check_wheel(path: Path) -> list[str]:
    """Everything that is wrong with a backend's wheel, one sentence each; empty when it is sound.

    Reads the file; installs and imports nothing.
    """
    try:
        _, _, _, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        return [f"its file name is not a wheel's: {error}"]
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if name[-1:] != "/"}
    except (OSError, zipfile.BadZipFile) as error:
        return [f"it cannot be read: {error}"]
    return [
        *_check_metadata(files),
        *_check_entry_points(files),
        *_check_contents(files, tags),
    ]


def _check_metadata(files: Mapping[str, bytes]) -> Iterator[str]:
    message = _metadata(files)
    if message is None:
        yield "it has no METADATA"
        return
    for field in ("Name", "Version"):
        if not message[field]:
            yield f"its metadata have no {field}"
    ranges = []
    for line in message.get_all("Requires-Dist", []):
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            yield f"its requirement {line!r} is malformed: {error}"
            continue
        if canonicalize_name(requirement.name) == CORE:
            ranges.append(requirement.specifier)
    if not ranges:
        yield f"it does not require {CORE}; say which versions it was tested with"
    for specifier in ranges:
        if not any(one.operator in ("<", "<=", "==", "~=", "===") for one in specifier):
            yield f"its requirement {CORE}{specifier} has no upper bound"
        if not specifier.contains(version(CORE), prereleases=True):
            yield f"its requirement {CORE}{specifier} leaves out this {CORE} {version(CORE)}"


def _check_entry_points(files: Mapping[str, bytes]) -> Iterator[str]:
    entries = _entry_points(files)
    if not entries:
        yield f"it has no entry point in group {GROUP}, so {CORE} will not find it"
    for tag, module in entries.items():
        if not TAG.match(tag):
            yield f"entry point {tag!r} is no device tag: letters, digits, '_' and '-'"
        stem = module.replace(".", "/")
        if f"{stem}.py" not in files and f"{stem}/__init__.py" not in files:
            yield f"entry point {tag!r} names module {module!r}, which is not in the wheel"


def _check_contents(files: Mapping[str, bytes], tags: frozenset[Tag]) -> Iterator[str]:
    own = {module.split(".")[0] for module in _entry_points(files).values()}
    packages = {PurePosixPath(name).parts[0] for name in files if not _is_metadata(name)}
    for package in sorted(packages - own):
        if not package.endswith(".data"):
            yield f"it holds {package!r}, which is not the package of its entry point"
    for package in sorted(packages & own):
        if package.removesuffix(".py") == CORE:
            yield f"it holds files of {CORE} itself"
        elif f"{package}/__init__.py" in files and f"{package}/py.typed" not in files:
            yield f"{package} has no py.typed, so type checkers ignore its annotations"
    native = [name for name in files if name.endswith(NATIVE)]
    anywhere = any(tag.platform == "any" for tag in tags)
    if native and anywhere:
        yield f"it claims to run anywhere and holds machine code: {', '.join(native)}"
    if not native and not anywhere:
        yield "it holds no machine code; as py3-none-any it would install everywhere"


def _is_metadata(name: str) -> bool:
    return PurePosixPath(name).parts[0].endswith(".dist-info")


def _metadata(files: Mapping[str, bytes]) -> Message | None:
    for name, data in files.items():
        if name.endswith(".dist-info/METADATA"):
            return BytesParser().parsebytes(data, headersonly=True)
    return None


def _entry_points(files: Mapping[str, bytes]) -> dict[str, str]:
    """Device tag -> module, of the group that backends use."""
    for name, data in files.items():
        if name.endswith(".dist-info/entry_points.txt"):
            parser = configparser.ConfigParser(delimiters="=", interpolation=None)
            parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their case
            try:
                parser.read_string(data.decode("utf-8", "replace"))
            except configparser.Error:
                return {}
            if parser.has_section(GROUP):
                return dict(parser.items(GROUP))
    return {}
