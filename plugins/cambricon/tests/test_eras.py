"""One process has one library, so each era is tested in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def run(library: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HEADRACE_CAMBRICON_LIBRARY": library}
    environment.pop("NEUWARE_HOME", None)
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("era", [4, 5])
def test_the_ports_tests_pass_in_older_eras(era: int) -> None:
    """Names, arities and error codes differ; the results do not."""
    done = run(
        f"sim:{era}", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "test_port_ops.py")
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("era", [4, 5])
def test_what_kernels_take_they_can_say_in_older_eras(era: int) -> None:
    """Every case whose kernel has a workspace: none asks for a function of later ones."""
    suite = ("-p", "headrace.testing.pytest_plugin", "--device", "cambricon", "--pyargs")
    case = "headrace.testing.conformance.test_layouts::test_scratch_memory_is_used_as_it_is"
    done = run(f"sim:{era}", "-m", "pytest", "-q", "-p", "no:cacheprovider", *suite, case)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("era", [4, 5, 6])
def test_the_era_is_read_from_the_library(era: int) -> None:
    """Its version says it; an error is decoded by it."""
    code = (
        "from headrace_cambricon.library import library\n"
        "from headrace_cambricon.errors import CambriconError\n"
        "opened = library()\n"
        "opened.device_count()\n"
        "print(opened.era, opened.runtime_version[0], opened.is_stand_in)\n"
        "try: opened.allocate(0, 1 << 60)\n"
        "except CambriconError as error: print(error.call, error.kind, error.status)\n"
    )
    done = run(f"sim:{era}", "-c", code)
    code_of_era = {4: 632008, 5: 632004, 6: 100100}[era]
    assert done.stdout.splitlines() == [
        f"{era} {era} True",
        f"cnrtMalloc out-of-memory {code_of_era}",
    ], done.stderr


def test_without_a_library_the_device_is_absent_and_says_where_it_looked(tmp_path: Path) -> None:
    """``auto`` does not take the stand-in; the state is that of a machine without the hardware."""
    code = (
        "from headrace.registry import default_registry\n"
        "registry = default_registry()\n"
        "try: registry.backend('cambricon')\n"
        "except Exception as error: print(error)\n"
        "print([r.state for r in registry.records() if r.tag == 'cambricon'][0])\n"
    )
    done = run("auto", "-c", code)
    assert "libcndrv.so" in done.stdout and "NEUWARE_HOME" in done.stdout, done.stdout
    assert done.stdout.splitlines()[-1] == "no-hardware"


def test_a_folder_without_the_library_is_named(tmp_path: Path) -> None:
    """The message has the path, and what decided that it was looked for there."""
    done = run(str(tmp_path), "-c", "from headrace_cambricon.library import library; library()")
    assert f"{tmp_path}/libcndrv.so" in done.stderr


@pytest.mark.parametrize("text", ["sim:7", "sim:", "/no/such/folder"])
def test_a_wrong_choice_is_refused(text: str) -> None:
    """Before anything is opened, with what there is to choose from."""
    done = run(text, "-c", "from headrace_cambricon.library import choose; choose()")
    assert "LibraryError" in done.stderr and text in done.stderr
