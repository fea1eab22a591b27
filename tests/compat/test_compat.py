"""Stored wheels of plugins for earlier, this and later versions of the contract."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHEELS = Path(__file__).with_name("wheels")


def run(version: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Install a stored wheel with --no-deps, run a job on it; True when its code ran."""
    site, canary = folder / "site", folder / "ran"
    wheel = WHEELS / f"headrace_compat-{version}-py3-none-any.whl"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    pip += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(site)]
    subprocess.run([*pip, str(wheel)], check=True)
    environment = os.environ | {
        "PYTHONPATH": str(site),
        "HEADRACE_STATE": str(folder / "state"),
        "COMPAT_CANARY": str(canary),
    }
    example = str(ROOT / "examples/add.py")
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "run", "--device", "compat", example],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, canary.exists()


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"])
def test_this_contract_and_those_before_are_served(version: str, tmp_path: Path) -> None:
    """A plugin that nobody touched since an earlier minor version runs, with the right answer."""
    done, ran = run(version, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[11. 22. 33.] on compat 0:0\n"
    assert ran


@pytest.mark.parametrize("version", ["1.6", "2.0"])
def test_a_newer_contract_is_refused_with_both_numbers(version: str, tmp_path: Path) -> None:
    """A newer minor may count on what is not there; another major is another contract."""
    done, _ = run(version, tmp_path)
    assert done.returncode == 1
    assert f"written for version {version} of the plugin contract" in done.stderr
    assert "this headrace has 1.5" in done.stderr


def test_a_plugin_for_another_headrace_is_refused_before_it_runs(tmp_path: Path) -> None:
    """Its metadata say that it does not fit, and pip was told not to look: its code never runs."""
    done, ran = run("9.0", tmp_path)
    assert done.returncode == 1
    assert "it needs headrace<100,>=99" in done.stderr
    assert not ran


def test_the_wheels_are_those_of_the_script() -> None:
    """Nobody edited a stored wheel by hand."""
    script = ROOT / "tools/build_compat_wheels.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
