"""The generated code was made from the committed sources, and runs on any allowed protobuf."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

GENERATED = Path("core/src/headrace/proto")
HEADER = re.compile(r"^# Protobuf Python Version: (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, Path]:
    """Path relative to protos/ -> file."""
    found = {
        p.relative_to(root / "protos").as_posix(): p for p in (root / "protos").rglob("*.proto")
    }
    assert found
    return found


def test_manifest_is_of_these_sources(root: Path, sources: dict[str, Path]) -> None:
    """A .proto file edited without `tox run -e protos` differs from the manifest."""
    lines = (root / GENERATED / "manifest.sha256").read_text("utf-8").splitlines()
    manifest = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    assert manifest == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sources.items()
    }


def test_each_source_has_its_generated_files(root: Path, sources: dict[str, Path]) -> None:
    """And nothing is left of a source that was removed."""
    stems = {Path(name).stem for name in sources}
    for suffix in (".py", ".pyi"):
        present = {path.name for path in (root / GENERATED).glob(f"*_pb2{suffix}")}
        assert present == {f"{stem}_pb2{suffix}" for stem in stems}


def test_sources_mirror_the_import_path(sources: dict[str, Path]) -> None:
    """Folder, package and import path are one, so the generated imports need no rewriting."""
    for name, path in sources.items():
        assert name.startswith("headrace/proto/")
        assert re.search(r"^package headrace\.proto;$", path.read_text("utf-8"), re.MULTILINE)


def test_lower_bound_is_what_generated_the_code(root: Path, distributions: dict[str, Any]) -> None:
    """Older protobuf refuses the generated code at import; a higher bound would shut users out."""
    headers = {
        match.group(1)
        for path in (root / GENERATED).glob("*_pb2.py")
        if (match := HEADER.search(path.read_text("utf-8")))
    }
    assert len(headers) == 1
    requirements = map(Requirement, distributions["core"]["project"]["dependencies"])
    (protobuf,) = [r for r in requirements if r.name == "protobuf"]
    bounds = {clause.operator: Version(clause.version) for clause in protobuf.specifier}
    generated = Version(headers.pop())
    assert bounds[">="] == generated
    assert bounds["<"] == Version(str(generated.major + 2))
