"""``python -m headrace.testing wheel`` finds what would go wrong at the user's."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.testing.__main__ import main
from headrace.testing.wheels import check_wheel

GOOD_NAME = "headrace_toy-1.0-py3-none-any.whl"
METADATA = f"""Metadata-Version: 2.1
Name: headrace-toy
Version: 1.0
Requires-Dist: headrace>={version("headrace")},<999
"""
GOOD = {
    "headrace_toy/__init__.py": "",
    "headrace_toy/plugin.py": "",
    "headrace_toy/py.typed": "",
    "headrace_toy-1.0.dist-info/METADATA": METADATA,
    "headrace_toy-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\n",
    "headrace_toy-1.0.dist-info/entry_points.txt": (
        "[headrace.backends]\ntoy = headrace_toy.plugin\n"
    ),
}
INFO = "headrace_toy-1.0.dist-info"


def write(folder: Path, files: Mapping[str, str | None], name: str = GOOD_NAME) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            if text is not None:
                archive.writestr(file, text)
    return path


def test_a_good_wheel_is_sound(tmp_path: Path) -> None:
    """Nothing is found where nothing is wrong."""
    assert check_wheel(write(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("change", "name", "finding"),
    [
        ({f"{INFO}/entry_points.txt": None}, GOOD_NAME, "no entry point in group"),
        ({f"{INFO}/entry_points.txt": "[other]\na = b\n"}, GOOD_NAME, "no entry point in group"),
        ({f"{INFO}/entry_points.txt": "not a file"}, GOOD_NAME, "no entry point in group"),
        (
            {f"{INFO}/entry_points.txt": "[headrace.backends]\n9x = headrace_toy.plugin\n"},
            GOOD_NAME,
            "'9x' is no device tag",
        ),
        ({"headrace_toy/plugin.py": None}, GOOD_NAME, "which is not in the wheel"),
        ({"headrace_toy/py.typed": None}, GOOD_NAME, "has no py.typed"),
        ({"headrace/extra.py": ""}, GOOD_NAME, "'headrace', which is not the package"),
        ({"tests/test_x.py": ""}, GOOD_NAME, "'tests', which is not the package"),
        ({"headrace_toy/_native.so": ""}, GOOD_NAME, "claims to run anywhere"),
        ({}, "headrace_toy-1.0-cp311-cp311-linux_x86_64.whl", "holds no machine code"),
        ({}, "headrace_toy.whl", "file name is not a wheel's"),
        ({f"{INFO}/METADATA": None}, GOOD_NAME, "no METADATA"),
        ({f"{INFO}/METADATA": "Name: x\n"}, GOOD_NAME, "no Version"),
        ({f"{INFO}/METADATA": "Name: x\nVersion: 1\n"}, GOOD_NAME, "does not require headrace"),
        (
            {f"{INFO}/METADATA": METADATA.replace(",<999", "")},
            GOOD_NAME,
            "has no upper bound",
        ),
        (
            {f"{INFO}/METADATA": "Name: x\nVersion: 1\nRequires-Dist: headrace<0.0.1\n"},
            GOOD_NAME,
            "leaves out this headrace",
        ),
        (
            {f"{INFO}/METADATA": METADATA + "Requires-Dist: numpy>>1\n"},
            GOOD_NAME,
            "is malformed",
        ),
    ],
)
def test_each_fault_is_found(
    change: dict[str, str | None], name: str, finding: str, tmp_path: Path
) -> None:
    """One change to a good wheel, one finding."""
    found = check_wheel(write(tmp_path, {**GOOD, **change}, name))
    assert any(finding in text for text in found), found


def test_a_file_that_is_no_archive_is_a_finding(tmp_path: Path) -> None:
    """And not a traceback."""
    (tmp_path / GOOD_NAME).write_text("no archive", "utf-8")
    assert "cannot be read" in check_wheel(tmp_path / GOOD_NAME)[0]


def test_the_command_checks_each_wheel_of_a_folder(tmp_path: Path) -> None:
    """One line for each finding, or `sound`; 1 when something was found, 2 for no wheel."""
    write(tmp_path, GOOD)
    run = CliRunner().invoke
    sound = run(main, ["wheel", str(tmp_path)])
    assert (sound.exit_code, sound.output) == (0, f"{GOOD_NAME}: sound\n")
    write(tmp_path, {**GOOD, "headrace_toy/py.typed": None}, "headrace_toy-1.1-py3-none-any.whl")
    found = run(main, ["wheel", str(tmp_path)])
    assert found.exit_code == 1
    assert len(found.output.splitlines()) == 2
    (tmp_path / "empty").mkdir()
    assert run(main, ["wheel", str(tmp_path / "empty")]).exit_code == 2
