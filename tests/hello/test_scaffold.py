"""What ``headrace new-backend`` writes is built, installed and used, as its author would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLINT = ("flint", True)  # the one with native code
NAMES = (("hello", False), FLINT, ("my-chip_7", False))

# The thread is inside the native call nearly all the time, and so when the program ends.
PROGRAM_THAT_LEAVES_A_THREAD = """
import threading
import numpy as np
from headrace_flint import _native

x = np.ones(1 << 22, np.float32)
begun = threading.Event()

def work():
    while True:
        _native.add(x, x, x)
        begun.set()

threading.Thread(target=work, daemon=True).start()
begun.wait()
print("ended")
"""


class Package:
    """A package from the scaffold, its wheel, and an environment in which it is installed."""

    def __init__(self, name: str, native: bool, folder: Path) -> None:
        self.name = name
        self.folder = folder / f"headrace-{name}"
        self.dist = folder / "dist"
        self._environment = os.environ | {
            "PYTHONPATH": str(folder / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HEADRACE_STATE": str(folder / "state"),
        }
        words = ["new-backend", name, "--dir", str(folder), *(["--native"] if native else [])]
        self.run("headrace", *words)
        pip = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
        build = [*pip, "--no-build-isolation", "--wheel-dir", str(self.dist), str(self.folder)]
        self.run("pip", "wheel", *build)
        target = ["--root-user-action=ignore", "--target", str(folder / "site")]
        self.run("pip", "install", *pip, *target, *map(str, self.dist.glob("*.whl")))

    def run(self, module: str, *words: str, cwd: Path = ROOT) -> str:
        """Run ``python -m MODULE``; what it printed, if it ended with 0."""
        return self.python("-m", module, *words, cwd=cwd)

    def python(self, *words: str, cwd: Path = ROOT) -> str:
        """Run Python with ``words``; what it printed, if it ended with 0."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=cwd,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="module", params=NAMES, ids=lambda pair: pair[0])
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A package, once for each name."""
    name, native = request.param
    return Package(name, native, tmp_path_factory.mktemp("scaffold"))


def test_its_wheel_is_sound(package: Package) -> None:
    """The entry point is in it, and nothing that belongs to anybody else."""
    said = package.run("headrace.testing", "wheel", str(package.dist))
    assert said.endswith(": sound\n")


def test_doctor_finds_it_well(package: Package) -> None:
    """It opens, allocates, copies and adds."""
    assert package.run("headrace", "doctor", package.name).splitlines()[-1] == "healthy"


def test_a_program_runs_on_it(package: Package) -> None:
    """The job of the example, whose program names no device."""
    said = package.run("headrace", "run", "--device", package.name, "examples/add.py")
    assert said == f"[11. 22. 33.] on {package.name} 0:0\n"


def test_it_passes_the_core_of_the_suite(package: Package) -> None:
    """Every test of tag core ran on the device and passed."""
    words = ["-q", "-p", "headrace.testing.pytest_plugin", "--device", package.name]
    words += ["--tags", "core,memory,streams,events,errors", "--min-ran", "85"]
    said = package.run("pytest", *words, "--pyargs", "headrace.testing.conformance")
    assert " failed" not in said


def test_nothing_of_it_can_be_missing_in_silence(package: Package) -> None:
    """Each hook and method is taken away in turn."""
    said = package.run("headrace.testing", "ablate", package.name).splitlines()[-1]
    assert said.endswith("removals misled nobody")


def test_its_own_tests_pass(package: Package) -> None:
    """As they are written."""
    package.run("pytest", "-q", "-p", "no:cacheprovider", "tests", cwd=package.folder)


@pytest.mark.parametrize("package", [FLINT], indirect=True, ids=lambda pair: pair[0])
def test_a_program_ends_while_a_daemon_thread_is_in_its_native_code(package: Package) -> None:
    """The thread comes back to an interpreter that is no more, and takes nothing down with it."""
    assert package.python("-c", PROGRAM_THAT_LEAVES_A_THREAD) == "ended\n"


def test_it_is_typed_and_tidy(package: Package) -> None:
    """mypy --strict and ruff find nothing, with the settings that it brings."""
    package.run("mypy", "--strict", "--no-incremental", "src", "tests", cwd=package.folder)
    package.run("ruff", "check", "--no-cache", ".", cwd=package.folder)
    package.run("ruff", "format", "--check", "--no-cache", ".", cwd=package.folder)
