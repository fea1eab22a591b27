"""How the files of a package get into the cache folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.version import Version

from headrace.cli.group import CommandError
from headrace.cli.progress import Bar

RAW_PROGRESS = Version("24.1")
"""The first pip that reports its progress for programs."""


def fetch_wheel(name: str, release: str, folder: Path) -> Path:
    """Return the wheel of a package, from ``folder`` or, the first time, by ``pip download``.

    Raises:
        CommandError: it is not there and cannot be brought; says what pip said.
    """
    found = sorted(folder.glob(f"{name}-{release}-*.whl"))
    if found:
        return found[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: the wheel is moved into place when it is complete.
        with tempfile.TemporaryDirectory(prefix="download-", dir=folder) as new:
            _download(f"{name}=={release}", Path(new), folder)
            (wheel,) = Path(new).glob("*.whl")
            return wheel.replace(folder / wheel.name)
    except OSError as error:
        raise CommandError(
            f"cannot write to the cache: {error}; choose another folder with HEADRACE_CACHE"
        ) from None


def _download(requirement: str, target: Path, cache: Path) -> None:
    try:
        raw = Version(version("pip")) >= RAW_PROGRESS
    except PackageNotFoundError:
        raise CommandError(
            f"bringing {requirement} needs pip, which this Python does not have. "
            f"Try: {sys.executable} -m ensurepip"
        ) from None
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
        "--disable-pip-version-check", "--no-input", "--progress-bar", "raw" if raw else "off",
        "--dest", str(target), requirement,
    ]  # fmt: skip
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints,
        Bar(f"bringing {requirement}") as bar,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as pip,
    ):
        assert pip.stdout is not None
        try:
            for line in pip.stdout:
                bar.follow(line)
        except BaseException:
            pip.kill()  # Ctrl-C, or a closed terminal: leave no download behind
            raise
        status = pip.wait()
        complaints.seek(0)
        said = [line for line in complaints.read().splitlines() if line.startswith("ERROR")]
    if status:
        why = said[-1].removeprefix("ERROR:").strip() if said else f"pip ended with code {status}"
        raise CommandError(
            f"{requirement} is not in the cache ({cache}) and could not be downloaded: {why}. "
            "The first run needs a network or a package index that pip can reach"
        )
