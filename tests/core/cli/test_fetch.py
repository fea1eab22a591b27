"""Where the demo keeps its model, and what it says when it cannot bring it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from headrace.cli.fetch import fetch_wheel
from headrace.cli.group import CommandError
from headrace.frontend.cache_folder import cache_folder


def test_the_variable_goes_before_the_platform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``HEADRACE_CACHE`` is the folder itself."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))

    assert cache_folder() == tmp_path


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, ".cache/headrace"),
        ("linux", {"XDG_CACHE_HOME": "HOME/xdg"}, "xdg/headrace"),
        ("darwin", {}, "Library/Caches/headrace"),
        ("win32", {}, "AppData/Local/headrace/Cache"),
        ("win32", {"LOCALAPPDATA": "HOME/local"}, "local/headrace/Cache"),
    ],
)
def test_each_platform_has_its_folder(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    platform: str,
    variables: dict[str, str],
    folder: str,
) -> None:
    """As XDG, Apple and Microsoft ask for."""
    for name in ("HEADRACE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("HOME", str(tmp_path)))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("headrace.frontend.cache_folder.sys.platform", platform)

    assert cache_folder() == tmp_path / folder


def test_what_is_in_the_cache_is_not_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the wheel there, no process is started."""
    wheel = tmp_path / "toy-1.0-py3-none-any.whl"
    wheel.touch()
    (tmp_path / "toy-1.0.1-py3-none-any.whl").touch()

    def popen(*words: object, **options: object) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(subprocess, "Popen", popen)

    assert fetch_wheel("toy", "1.0", tmp_path) == wheel


def a_pip(folder: Path, body: str) -> str:
    """A Python whose ``-m pip`` runs ``body`` with the words in ``words``."""
    (folder / "pip.py").write_text(f"import sys\nwords = sys.argv[1:]\n{body}", "utf-8")
    return str(folder)


def test_a_download_is_kept_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """pip writes to a folder of its own; the wheel is moved into place and nothing else is left."""
    body = (
        "assert words[0] == 'download' and words[-1] == 'toy==1.0' and '--no-deps' in words\n"
        "print('Progress 1 of 2'); print('Progress 2 of 2')\n"
        "folder = words[words.index('--dest') + 1]\n"
        "open(f'{folder}/toy-1.0-py3-none-any.whl', 'wb').write(b'whole')\n"
    )
    monkeypatch.setenv("PYTHONPATH", a_pip(tmp_path, body))
    cache = tmp_path / "new" / "cache"

    wheel = fetch_wheel("toy", "1.0", cache)

    assert wheel.read_bytes() == b"whole"
    assert list(cache.iterdir()) == [wheel]
    assert capfd.readouterr() == ("", "bringing toy==1.0\n")


def test_offline_without_a_cache_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where it looked, what pip said last, and what is needed; the cache holds no half file."""
    body = (
        "folder = words[words.index('--dest') + 1]\n"
        "open(f'{folder}/half.whl.part', 'wb').write(b'ha')\n"
        "sys.stderr.write('WARNING: retrying\\nERROR: no network\\n')\nsys.exit(1)\n"
    )
    monkeypatch.setenv("PYTHONPATH", a_pip(tmp_path, body))
    cache = tmp_path / "cache"

    with pytest.raises(CommandError) as caught:
        fetch_wheel("toy", "1.0", cache)

    assert str(caught.value) == (
        f"toy==1.0 is not in the cache ({cache}) and could not be downloaded: no network. "
        "The first run needs a network or a package index that pip can reach"
    )
    assert caught.value.exit_code == 1
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """The way out is another folder."""
    (tmp_path / "file").touch()

    with pytest.raises(CommandError, match="choose another folder with HEADRACE_CACHE"):
        fetch_wheel("toy", "1.0", tmp_path / "file")


def test_a_damaged_wheel_is_a_clear_error(headrace: Callable[..., Result], tmp_path: Path) -> None:
    """It is named, and deleting it is what helps."""
    wheel = tmp_path / "magika-1.0.3-py3-none-any.whl"
    wheel.write_bytes(b"PK torn")
    result = headrace("demo", __file__, "--device", "near", "--cache", tmp_path)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {wheel} is damaged")
    assert sys.executable not in result.stderr
