"""Finds backends in installed metadata. Imports nothing of them and reads no other file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.light_tuple import NamedTuple
from headrace.registry.metadata import (
    Metadata,
    MetadataFolder,
    distribution_of,
    mentioning,
    normal_name,
)
from headrace.signals import let_handlers_through

GROUP = "headrace.backends"
"""Entry-point group of backends; an entry's name is the device tag, its value a module."""

UNNAMED = "(unnamed distribution)"


class InstalledBackend(NamedTuple):
    """An entry point and what its distribution's metadata say.

    Attributes:
        tag: name of the entry point.
        module: its value: the module that holds the hook implementations.
        distribution, version: of the package.
        requires: the package's ``Requires-Dist`` lines.
        fault: why the metadata cannot be used; empty when they can.
        implementation: the object with the hook implementations, when it is there already and
            need not be imported.
    """

    tag: str
    module: str
    distribution: str = ""
    version: str = ""
    requires: tuple[str, ...] = ()
    fault: str = ""
    implementation: object = None


def discover(path: Sequence[str] | None = None) -> tuple[InstalledBackend, ...]:
    """Return every backend that is installed, sorted by tag, then distribution.

    A distribution that is found twice counts once: the first on the path hides the others, as
    the first module of a name does. A distribution whose metadata are damaged is reported in
    ``fault`` and hides nothing.

    Args:
        path: folders to search; None means ``sys.path``.
    """
    found: list[InstalledBackend] = []
    seen: set[str] = set()
    for each in mentioning(GROUP, path):
        package = _package(each)
        if normal_name(package.name) in seen:
            continue
        seen.add(normal_name(package.name))
        found += _backends(each, package)
    return tuple(sorted(found, key=lambda b: (b.tag, b.distribution, b.version, b.module)))


def version_of(name: str) -> str | None:
    """The version of an installed package, as its metadata say; None when it is not installed."""
    found = distribution_of(name)
    if found is None:
        return None
    named = found.version if isinstance(found, MetadataFolder) else ""
    return named or _first(_fields(found).get("version", ()))


class _Package(NamedTuple):
    """What a distribution's metadata say; ``fault`` is empty when they can be read."""

    name: str
    version: str = ""
    requires: tuple[str, ...] = ()
    fault: str = ""


def _package(distribution: Metadata) -> _Package:
    name = UNNAMED
    try:
        fields = _fields(distribution)
        name = _first(fields.get("name", ())) or UNNAMED
        requires = fields.get("requires-dist") or distribution.requires or ()
        return _Package(name, _first(fields.get("version", ())), tuple(requires))
    except Exception as error:  # noqa: BLE001 - damaged metadata raise whatever their parser raises
        let_handlers_through(error)
        return _Package(name, fault=_unreadable(error))


def _fields(distribution: Metadata) -> dict[str, list[str]]:
    """The values of each field of the metadata, by its name in lower case.

    ``importlib.metadata`` gives the same; it parses the description, too, as the body of a mail,
    and importing what does that takes longer than finding all backends.
    """
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for line in text.partition("\n\n")[0].splitlines():
        if not line:
            break  # the description follows
        if line[0] in " \t" and values:
            values[-1] += f"\n{line}"
            continue
        name, _, value = line.partition(":")
        values = fields.setdefault(name.strip().lower(), [])
        values.append(value.strip())
    return fields


def _backends(distribution: Metadata, package: _Package) -> Iterator[InstalledBackend]:
    fault = package.fault
    pairs: list[tuple[str, str]] = []
    try:
        pairs = list(_entry_points(distribution.read_text("entry_points.txt") or ""))
    except Exception as error:  # noqa: BLE001 - as above
        let_handlers_through(error)
        fault = fault or _unreadable(error)
    if fault:
        tag = package.name.removeprefix("headrace-")
        yield InstalledBackend(tag, "", package.name, fault=fault)
        return
    for tag, module in pairs:
        if not package.version:
            fault = "its metadata have no version"
        elif not all(part.isidentifier() for part in module.split(".")):
            fault = f"entry point {tag} = {module!r} does not name a module, like package.plugin"
        else:
            fault = ""
        yield InstalledBackend(tag, module, package.name, package.version, package.requires, fault)


def _entry_points(text: str) -> Iterator[tuple[str, str]]:
    """(name, value) of each entry point of ``GROUP``.

    Raises:
        ValueError: one has no value.
    """
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group == GROUP and line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"entry point {line!r} has no '='")
            yield name.strip(), value.strip()


def _unreadable(error: Exception) -> str:
    return f"its metadata cannot be read: {type(error).__name__}: {error}"


def _first(values: Sequence[str]) -> str:
    return values[0] if values else ""
