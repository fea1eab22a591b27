"""``headrace lock`` and ``headrace devices`` as a user types them, in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ADD = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
from headrace.device import AllocatorEntry, DeviceEntry, HostAllocator, Kernel, KernelEntry
from headrace.device import MemoryKind
from headrace.hookspecs import hookimpl

@hookimpl
def headrace_devices():
    yield DeviceEntry("{tag}")

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("{tag}", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    yield KernelEntry("{tag}", "add", lambda call: Kernel())
"""


def install(site: Path, name: str, tag: str, requires: str = "headrace", source: str = ADD) -> Path:
    """Write what pip would; returns the file that is there once the plugin's code ran."""
    module = site / f"{name}_plugin.py"
    module.write_text(source.format(tag=tag), "utf-8")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: {requires}\n"
    (info / "METADATA").write_text(metadata, "utf-8")
    entry = f"[headrace.backends]\n{tag} = {name}_plugin\n"
    (info / "entry_points.txt").write_text(entry, "utf-8")
    return module.with_suffix(".ran")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


def python(site: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter in the folder above ``site``, with the packages in it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("HEADRACE_")}
    path = os.pathsep.join([str(site), *filter(None, sys.path)])
    state = str(site.parent / "state")
    return subprocess.run(
        [sys.executable, *words],
        cwd=site.parent,
        env={**clean, "PYTHONPATH": path, "HEADRACE_STATE": state, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def states(site: Path, **variables: str) -> dict[str, str]:
    """Distribution -> state, as ``headrace devices --json`` says."""
    done = python(site, "-m", "headrace", "devices", "--json", **variables)
    assert done.returncode == 0, done.stderr
    return {row["distribution"]: row["state"] for row in json.loads(done.stdout)}


def test_strict_mode_runs_what_was_locked_and_nothing_else(site: Path) -> None:
    """Lock, then install another: it is blocked, its code does not run, and --check ends with 0."""
    ran = install(site, "first", "one")
    assert python(site, "-m", "headrace", "lock").returncode == 0
    assert not ran.exists()
    assert python(site, "-m", "headrace", "lock", "--check").returncode == 0
    late = install(site, "second", "two")

    found = states(site, HEADRACE_STRICT="1")

    assert (found["first"], found["second"]) == ("ready", "blocked")
    assert ran.exists()
    assert not late.exists()


def test_check_names_the_file_that_drifted(site: Path) -> None:
    """The command ends with 1, names the file, and runs nothing."""
    ran = install(site, "first", "one")
    assert python(site, "-m", "headrace", "lock", "-o", "my.lock").returncode == 0
    (site / "first_plugin.py").write_text("raise SystemExit", "utf-8")

    done = python(site, "-m", "headrace", "lock", "--check", "-o", "my.lock")

    assert done.returncode == 1
    assert "file first_plugin.py is not the one that my.lock lists" in done.stdout
    assert not ran.exists()


def test_check_names_a_plugin_that_is_gone(site: Path) -> None:
    """A machine that lacks a locked plugin is not the one that was locked; a blocked one is."""
    install(site, "first", "one")
    install(site, "second", "two")
    assert python(site, "-m", "headrace", "lock").returncode == 0
    blocked = python(site, "-m", "headrace", "lock", "--check", HEADRACE_DISABLE="second")
    assert blocked.returncode == 0, blocked.stdout
    shutil.rmtree(site / "second-1.0.dist-info")

    done = python(site, "-m", "headrace", "lock", "--check")

    assert done.returncode == 1
    assert "two: second 1.0: headrace.lock lists it, and it is not installed" in done.stdout
    assert "one: first 1.0\n" in done.stdout
    assert python(site, "-m", "headrace", "lock").returncode == 0
    assert python(site, "-m", "headrace", "lock", "--check").returncode == 0


def test_check_without_a_lock_is_an_error(site: Path) -> None:
    """One line with what to do, also where no plugin is installed that could differ."""
    done = python(site, "-m", "headrace", "lock", "--check", "-o", "no.lock", HEADRACE_BACKENDS="-")
    assert done.returncode == 2
    assert done.stderr == (
        "error: there is no lock at no.lock: No such file or directory. "
        "Try: headrace lock -o no.lock\n"
    )


def test_refused_plugins_never_run(site: Path) -> None:
    """Incompatible, blocked and duplicate: each is listed, and none of their code is executed."""
    canaries = [
        install(site, "too_new", "one", requires="headrace>=99"),
        install(site, "unwanted", "two"),
        install(site, "twin", "three"),
        install(site, "other_twin", "three"),
    ]
    good = install(site, "fine", "four")

    found = states(site, HEADRACE_DISABLE="unwanted")

    assert found["too_new"] == "incompatible"
    assert found["unwanted"] == "blocked"
    assert found["twin"] == found["other_twin"] == "duplicate"
    assert found["fine"] == "ready"
    assert [canary.name for canary in canaries if canary.exists()] == []
    assert good.exists()


def test_importing_headrace_imports_no_plugin(site: Path) -> None:
    """Not even one that works; the canary is there as soon as its device is asked for."""
    ran = install(site, "fine", "four")
    assert python(site, "-c", "import headrace, headrace.registry").returncode == 0
    assert not ran.exists()
    ask = "from headrace.registry import default_registry; default_registry().backend('four')"
    assert python(site, "-c", ask).returncode == 0
    assert ran.exists()


def test_the_list_is_equal_under_any_hash_seed(site: Path) -> None:
    """Forty packages, some broken and some in conflict: one answer, to the letter."""
    for number in range(40):
        source = "raise OSError('{tag}')" if number % 4 == 0 else ADD
        install(site, f"package{number}", f"device{number % 30}", source=source)

    answers = {
        python(site, "-m", "headrace", "devices", "--json", PYTHONHASHSEED=seed).stdout
        for seed in ("0", "1", "4242")
    }

    (answer,) = answers
    rows = [row for row in json.loads(answer) if row["distribution"].startswith("package")]
    assert len(rows) == 40
    assert {row["state"] for row in rows} == {"ready", "duplicate", "import-failed"}
