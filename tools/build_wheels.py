"""Build the wheel of every distribution in this repository into one folder.

    python tools/build_wheels.py FOLDER

The folder then holds exactly one wheel of each distribution for this interpreter. Wheels that
another interpreter built stay, so that several Python versions can share the folder. There is no
build isolation: the interpreter that runs this must have dependency group `wheels`
(`tox run -e wheels` has it), which is what makes the second build fast.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INTERPRETER_TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"


def distributions() -> list[Path]:
    """The folder of every distribution, core first."""
    return [ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*command, *map(str, distributions())], check=True)


def replace_wheels(fresh: Path, destination: Path) -> list[Path]:
    """Move `fresh` wheels to `destination`, dropping those that they replace."""
    destination.mkdir(parents=True, exist_ok=True)
    for old in destination.glob("*.whl"):
        python_tag = old.name.split("-")[-3]
        if python_tag in (INTERPRETER_TAG, "py3"):
            old.unlink()
    return [Path(shutil.move(wheel, destination / wheel.name)) for wheel in sorted(fresh.glob("*"))]


def main() -> None:
    parser = argparse.ArgumentParser(description="build every wheel of this repository")
    parser.add_argument("folder", type=Path)
    destination = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        for wheel in replace_wheels(Path(folder), destination):
            print(wheel.name)


if __name__ == "__main__":
    main()
