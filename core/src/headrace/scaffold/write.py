"""Writes the package of a new backend."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from packaging.version import Version

from headrace.errors import InputError

SUFFIX = ".in"

# A device tag that is the end of a distribution's name and of a module's name as well; of a length
# that folders and wheels can be named after, with something before and behind.
_NAME = re.compile(r"[a-z]([a-z0-9_-]{0,62}[a-z0-9])?\Z")


def new_backend(name: str, folder: Path, *, native: bool = False) -> Path:
    """Write the package ``headrace-NAME`` below ``folder``, whole or not at all.

    Args:
        name: the device tag.
        folder: where to put the package's folder; made if it is not there.
        native: with a kernel in C++.

    Returns:
        The package's folder.

    Raises:
        InputError: the name is no device tag, or the package would hide one that is there.
        OSError: the folder cannot be written.
    """
    words = _words(name)
    target = folder / words["DISTRIBUTION"]
    if target.exists():
        raise InputError(f"{target} exists already; choose another name, or another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-backend-", dir=folder) as scratch:
        for kind in ("both", "native" if native else "python"):
            _copy(kind, Path(scratch), words)
        shutil.copytree(scratch, target)
    return target


def _words(name: str) -> Mapping[str, str]:
    """What stands for the words between ``@`` in a template."""
    if not _NAME.match(name):
        raise InputError(
            f"{name!r} cannot name a package of a device: lower-case letters, digits, '-' and '_', "
            "at most 64 of them, beginning with a letter and ending with a letter or digit, for "
            "example 'my-chip'"
        )
    module = "headrace_" + name.replace("-", "_")
    if importlib.util.find_spec(module) is not None:
        raise InputError(
            f"a package {module!r} is importable here already; two would hide each other"
        )
    core = Version(version("headrace"))
    return {
        "NAME": name,
        "DISTRIBUTION": f"headrace-{name}",
        "MODULE": module,
        "NAMESPACE": module,
        "RANGE": f">={core.major}.{core.minor},<{core.major}.{core.minor + 1}",
    }


def _copy(kind: str, target: Path, words: Mapping[str, str]) -> None:
    root = Path(str(files("headrace.scaffold") / "templates" / kind))
    for template in sorted(root.rglob(f"*{SUFFIX}")):
        relative = template.relative_to(root).as_posix().removesuffix(SUFFIX)
        path = target / _filled(relative, words)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_filled(template.read_text("utf-8"), words), "utf-8")


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)
