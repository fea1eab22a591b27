"""The distributions, the environments and the requirement files agree with each other."""

from __future__ import annotations

import configparser
import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.requirements import Requirement

OURS = re.compile(r"headrace(-\w+)?")


def group(settings: dict[str, Any], name: str) -> dict[str, Requirement]:
    """The requirements of one dependency group, with what it includes."""
    found: dict[str, Requirement] = {}
    for item in settings["dependency-groups"][name]:
        if isinstance(item, dict):
            found |= group(settings, item["include-group"])
        else:
            requirement = Requirement(item)
            found[requirement.name] = requirement
    return found


def third_party(distributions: dict[str, Any]) -> dict[str, list[Requirement]]:
    """What the wheels require at run time, by name; `headrace[onnx]` included, as tests need it."""
    found: dict[str, list[Requirement]] = {}
    for settings in distributions.values():
        project = settings["project"]
        lines = [
            *project["dependencies"],
            *project.get("optional-dependencies", {}).get("onnx", []),
        ]
        for requirement in map(Requirement, lines):
            if not OURS.fullmatch(requirement.name):
                found.setdefault(requirement.name, []).append(requirement)
    return found


def test_group_runtime_is_what_the_wheels_require(
    settings: dict[str, Any], distributions: dict[str, Any]
) -> None:
    """`--no-deps` installs rest on this group: no more and no less than the wheels declare."""
    required = third_party(distributions)
    present = group(settings, "runtime")
    assert present.keys() == required.keys()
    for name, requirements in required.items():
        assert all(requirement.specifier == present[name].specifier for requirement in requirements)


def test_group_wheels_covers_every_build_requirement(
    settings: dict[str, Any], distributions: dict[str, Any]
) -> None:
    """Wheels are built without isolation, so what they build with must be in the group."""
    present = group(settings, "wheels")
    for folder, project in distributions.items():
        for line in project["build-system"]["requires"]:
            assert Requirement(line).name.replace("_", "-") in present, folder


def test_one_version(distributions: dict[str, Any]) -> None:
    """All distributions are released together; a plugin admits this minor version of core only."""
    (version,) = {project["project"]["version"] for project in distributions.values()}
    major, minor = map(int, version.split(".")[:2])
    for folder, project in distributions.items():
        if folder != "core":
            requirements = map(Requirement, project["project"]["dependencies"])
            (core,) = [r for r in requirements if r.name == "headrace"]
            assert core == Requirement(f"headrace>={major}.{minor},<{major}.{minor + 1}")


def test_one_word_per_backend(root: Path, distributions: dict[str, Any]) -> None:
    """Folder, distribution, import package and entry point carry the same tag."""
    for folder in distributions.keys() - {"core"}:
        tag = PurePosixPath(folder).name
        project = distributions[folder]["project"]
        assert project["name"] == f"headrace-{tag}"
        assert project["entry-points"]["headrace.backends"] == {tag: f"headrace_{tag}.plugin"}
        assert [p.name for p in (root / folder / "src").glob("headrace*")] == [f"headrace_{tag}"]


@pytest.mark.parametrize("key", ["license", "requires-python"])
def test_common_metadata(distributions: dict[str, Any], key: str) -> None:
    assert len({project["project"][key] for project in distributions.values()}) == 1


def test_licence_is_in_every_distribution(root: Path, distributions: dict[str, Any]) -> None:
    """A build backend reads inside its own folder only, so each has a copy, and they are equal."""
    text = (root / "LICENSE").read_bytes()
    assert b"Apache License" in text
    assert all((root / folder / "LICENSE").read_bytes() == text for folder in distributions)


FOR_OWNERS = {"plugins/cambricon"}
"""Of use to who has the hardware, and to who works on it; it takes a minute to build."""


def test_requirements_install_what_a_newcomer_needs(
    root: Path, distributions: dict[str, Any]
) -> None:
    lines = (root / "requirements.txt").read_text("utf-8").splitlines()
    paths = [line.removeprefix("./").split("[")[0] for line in lines if line.startswith("./")]
    assert paths == [folder for folder in distributions if folder not in FOR_OWNERS]


def test_every_backend_is_in_the_matrix(root: Path, distributions: dict[str, Any]) -> None:
    """Each has its label, its environment in `ci`, and its place among the import rules."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(root / "tox.ini", "utf-8")
    labels = dict(
        line.split(" = ", 1) for line in tox["tox"]["labels"].strip().splitlines() if " = " in line
    )
    for folder in distributions.keys() - {"core"}:
        tag = PurePosixPath(folder).name
        assert labels[tag] == f"wheels, backend-{tag}"
        assert f"backend-{tag}" in labels["ci"].split(", ")


def test_changelog_fragments_are_named_by_kind(root: Path) -> None:
    names = {path.name for path in (root / "changelog.d").iterdir()} - {"README.md"}
    pattern = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed|removed)\.md")
    assert {name for name in names if not pattern.fullmatch(name)} == set()


def test_decision_records_are_listed(root: Path) -> None:
    folder = root / "docs/adr"
    records = {path.name for path in folder.glob("[0-9]*.md")}
    assert records == set(
        re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))
    )
    for name in records:
        headings = re.findall(r"^## (.+)$", (folder / name).read_text("utf-8"), re.MULTILINE)
        assert headings == ["Context", "Choice", "Turned down", "Consequences"], name
