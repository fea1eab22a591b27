"""Plugins that ended a process stay out until they are let in again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from headrace.errors import DeviceUnavailableError, Reason
from headrace.registry import BackendRegistry, InstalledBackend, Phase, State
from headrace.registry.discover import discover
from headrace.registry.quarantine import Crash, Quarantine
from headrace.testing.faults.catalogue import GOOD
from headrace.testing.interrupts import interrupted

Install = Callable[..., str]

CRASH = Crash("toy", "headrace-toy", "0.3.1", "import", "signal SIGSEGV", "2026-01-02 03:04:05")
TOY = InstalledBackend("toy", "headrace_toy_plugin", "headrace-toy", "0.3.1")

LOAD = """
import sys
from headrace.registry import default_registry
try:
    default_registry().backend("toy")
    print("ready")
except Exception as error:
    print(type(error).__name__, error)
"""


def load_in_a_process(site: Path, state: Path) -> subprocess.CompletedProcess[str]:
    return run_in_a_process(LOAD, site, state)


def run_in_a_process(program: str, site: Path, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": f"{site}:{':'.join(sys.path)}", "HEADRACE_STATE": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_added_is_found_until_it_is_cleared(tmp_path: Path) -> None:
    """By another object too: it lies in the folder."""
    quarantine = Quarantine(tmp_path)
    assert quarantine.crashes() == ()
    assert quarantine.add(CRASH)
    assert Quarantine(tmp_path).crashes() == (CRASH,)
    assert quarantine.clear("other") == ()
    assert quarantine.clear("toy") == (CRASH,)
    assert Quarantine(tmp_path).crashes() == ()


def test_a_plugin_in_quarantine_is_blocked(site: Path, install: Install, tmp_path: Path) -> None:
    """With the crash, its time, and the one command that lets it out; its code does not run."""
    install(site, source=f"open({str(site / 'ran')!r}, 'w')")
    quarantine = Quarantine(tmp_path / "state")
    quarantine.add(CRASH)
    registry = BackendRegistry(discover([str(site)]), quarantine=quarantine)
    with pytest.raises(DeviceUnavailableError, match="signal SIGSEGV in phase 'import'") as caught:
        registry.backend("toy")
    assert caught.value.reason is Reason.BLOCKED
    assert caught.value.hint == "headrace doctor --clear toy"
    assert not (site / "ran").exists()


def test_another_version_is_another_plugin(site: Path, install: Install, tmp_path: Path) -> None:
    """An upgrade is what mends a crash; nobody has to clear anything."""
    install(site, version="0.3.2")
    quarantine = Quarantine(tmp_path / "state")
    quarantine.add(CRASH)
    registry = BackendRegistry(discover([str(site)]), quarantine=quarantine)
    assert registry.records()[0].state is State.FOUND


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("import os; os._exit(0)", "the process ended with exit code 0"),
        ("import ctypes; ctypes.string_at(0)", "signal SIGSEGV ended the process"),
    ],
)
def test_a_process_that_a_plugin_ended_is_found_by_the_next(
    site: Path, install: Install, tmp_path: Path, end: str, said: str
) -> None:
    """Nobody had to ask doctor: the process left a breadcrumb that nobody holds."""
    install(site, source=end)
    first = load_in_a_process(site, tmp_path / "state")
    assert first.stdout == ""
    second = load_in_a_process(site, tmp_path / "state")
    assert second.returncode == 0
    assert f"it is in quarantine: {said} in phase 'import'" in second.stdout
    assert "headrace doctor --clear toy" in second.stdout
    Quarantine(tmp_path / "state").clear("toy")
    assert load_in_a_process(site, tmp_path / "state").stdout == ""


BESIDE = """
import signal, threading
import go_on
signal.signal(signal.SIGINT, signal.default_int_handler)  # who tests in the background ignores it
threading.Thread(target=default_registry().backend, args=("toy",), daemon=True).start()
go_on.reached.wait()
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("signal.raise_signal(signal.SIGINT)", -signal.SIGINT),
        ("signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM),
        ("signal.raise_signal(signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_a_plugin_is_not_blamed_for_how_its_program_ends(
    site: Path, install: Install, tmp_path: Path, end: str, code: int
) -> None:
    """However that is, while a thread that nobody waits for imports it: a child loads it."""
    (site / "go_on.py").write_text("import threading\nreached = threading.Event()", "utf-8")
    waits = "import sys, threading\nif 'go_on' in sys.modules:\n"
    waits += "    sys.modules['go_on'].reached.set()\n    threading.Event().wait()\n"
    install(site, source=waits + GOOD.replace("broken", "toy"))
    state = tmp_path / "state"
    program = LOAD.split("try:")[0] + BESIDE + end
    assert run_in_a_process(program, site, state).returncode == code
    assert len(list(state.glob("loading/*.json"))) == 1
    second = load_in_a_process(site, state)
    assert (second.stdout, second.stderr) == ("ready\n", "")
    assert list(state.rglob("*.json")) == []


def test_a_suspect_is_told_from_what_merely_fails(
    site: Path, install: Install, tmp_path: Path
) -> None:
    """In the child, and then here, where the error is said."""
    install(site, source="raise OSError('no such library')")
    leave_behind(tmp_path / "state")
    assert "OSError: no such library" in load_in_a_process(site, tmp_path / "state").stdout
    assert list((tmp_path / "state").rglob("*.json")) == []


def test_nobody_is_kept_out_where_no_child_can_look(
    site: Path, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As within a program that is its own interpreter; the breadcrumb waits for one that can."""
    install(site)
    leave_behind(tmp_path / "state")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    quarantine = Quarantine(tmp_path / "state")
    registry = BackendRegistry(
        discover([str(site)]), core_version="0.1", strict=False, quarantine=quarantine
    )
    assert registry.backend("toy").tag == "toy"
    assert len(list((tmp_path / "state").rglob("*.json"))) == 1


def leave_behind(state: Path) -> None:
    """A breadcrumb of a process that is no more."""
    (state / "loading").mkdir(parents=True)
    (state / "loading/headrace-toy.json").write_text(json.dumps(CRASH._asdict()), "utf-8")


@pytest.mark.parametrize("source", [None, "raise OSError", "import sys; sys.exit(0)"])
def test_a_plugin_that_merely_fails_leaves_no_breadcrumb(
    site: Path, install: Install, tmp_path: Path, source: str | None
) -> None:
    """Nor does one that works: the folder is as empty as before."""
    install(site, **({} if source is None else {"source": source}))
    load_in_a_process(site, tmp_path / "state")
    assert list((tmp_path / "state").rglob("*.json")) == []
    assert Quarantine(tmp_path / "state").crashes() == ()


def test_a_breadcrumb_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    """Two processes may load one plugin at a time; and what is being done is in the crumb."""
    quarantine = Quarantine(tmp_path)
    with quarantine.watch(TOY) as say:
        say(Phase.HOOKS)
        (crumb,) = tmp_path.glob("loading/*.json")
        assert '"phase": "hooks"' in crumb.read_text("utf-8")
        assert Quarantine(tmp_path).crashes() == ()
    assert list(tmp_path.rglob("*.json")) == []


def test_an_exception_takes_the_breadcrumb_along(tmp_path: Path) -> None:
    """Ctrl-C while a plugin is imported is no crash."""
    with pytest.raises(KeyboardInterrupt), Quarantine(tmp_path).watch(TOY):
        raise KeyboardInterrupt
    assert Quarantine(tmp_path).crashes() == ()


def test_without_a_folder_everything_still_loads(site: Path, install: Install) -> None:
    """A state folder that cannot be made costs the memory of crashes and nothing else."""
    install(site)
    quarantine = Quarantine(Path("/dev/null/state"))
    assert not quarantine.add(CRASH)
    assert quarantine.crashes() == ()
    registry = BackendRegistry(discover([str(site)]), core_version="0.1", quarantine=quarantine)
    assert registry.backend("toy").tag == "toy"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tag": "toy"}'])
def test_a_damaged_file_is_no_crash(tmp_path: Path, text: str) -> None:
    """Whatever wrote it, it keeps nobody out."""
    (tmp_path / "crashed").mkdir()
    (tmp_path / "crashed/x.json").write_text(text, "utf-8")
    assert Quarantine(tmp_path).crashes() == ()


def test_two_threads_of_a_process_have_a_breadcrumb_each(tmp_path: Path) -> None:
    """One that is done takes its own away, and not the other's."""
    quarantine = Quarantine(tmp_path)
    with quarantine.watch(TOY):
        with quarantine.watch(TOY):
            assert len(list(tmp_path.glob("loading/*.json"))) == 2
        assert len(list(tmp_path.glob("loading/*.json"))) == 1


def test_a_plugin_that_closes_our_files_does_not_stop_its_load(
    site: Path, install: Install, tmp_path: Path
) -> None:
    """The breadcrumb's among them: it goes all the same."""
    source = f"import os\nos.closerange(3, 4096)\n{GOOD}".replace("broken", "toy")
    install(site, source=source)
    assert load_in_a_process(site, tmp_path / "state").stdout == "ready\n"
    assert list((tmp_path / "state").rglob("*.json")) == []


def test_a_plugin_that_changes_the_folder_leaves_no_breadcrumb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state folder given by a relative path is where it was when it was given."""
    monkeypatch.chdir(tmp_path)
    with Quarantine(Path("state")).watch(TOY):
        monkeypatch.chdir("/")
    assert Quarantine(tmp_path / "state").crashes() == ()


def test_a_crash_that_cannot_be_remembered_is_found_again(
    site: Path, install: Install, tmp_path: Path
) -> None:
    """The plugin stays out, and its breadcrumb until the folder can be written."""
    install(site, source="import os; os._exit(0)")
    state = tmp_path / "state"
    leave_behind(state)
    (state / "crashed").write_text("in the way", "utf-8")
    assert "it is in quarantine" in load_in_a_process(site, state).stdout
    assert len(list(state.glob("loading/*.json"))) == 1
    (state / "crashed").unlink()
    assert "it is in quarantine" in load_in_a_process(site, state).stdout
    assert list(state.glob("loading/*.json")) == []
    assert len(Quarantine(state).crashes()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_else_lies_in_the_state_folder_is_left_alone(tmp_path: Path) -> None:
    """FIFOs, folders, dead and endless links, rubbish: none blocks, none hides what is there."""
    quarantine = Quarantine(tmp_path)
    quarantine.add(CRASH)
    (tmp_path / "loading").mkdir()
    for part in ("crashed", "loading"):
        os.mkfifo(tmp_path / part / "a-fifo.json")
        (tmp_path / part / "b-folder.json").mkdir()
        (tmp_path / part / "c-dead.json").symlink_to(tmp_path / "nowhere")
        (tmp_path / part / "d-itself.json").symlink_to(tmp_path / part / "d-itself.json")
        (tmp_path / part / "e-endless.json").symlink_to("/dev/zero")
    (tmp_path / "crashed/f-deep.json").write_text("[" * 60_000, "utf-8")
    (tmp_path / "crashed/g-list.json").write_text("[1]", "utf-8")
    (tmp_path / "crashed/h-null.json").write_bytes(b"\0" * 1000)

    assert quarantine.crashes() == (CRASH,)
    assert quarantine.clear("toy") == (CRASH,)
    with quarantine.watch(TOY):
        assert quarantine.crashes() == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
@pytest.mark.parametrize("place", ["", "crashed", "loading"])
def test_a_fifo_in_place_of_a_folder_means_that_nothing_is_kept(tmp_path: Path, place: str) -> None:
    """Discovery and loading go on; what is kept elsewhere is still found."""
    state = tmp_path / "state"
    if place:
        state.mkdir()
    os.mkfifo(state / place)
    quarantine = Quarantine(state)

    assert quarantine.crashes() == ()
    assert quarantine.add(CRASH) is (place == "loading")
    with quarantine.watch(TOY) as say:
        say(Phase.COUNT)


def test_a_folder_in_place_of_a_crash_is_no_crash(tmp_path: Path) -> None:
    """It cannot be replaced, which is said, and nothing half-written is left."""
    quarantine = Quarantine(tmp_path)
    quarantine.add(CRASH)
    (file,) = tmp_path.glob("crashed/*")
    file.unlink()
    (file / "in the way").mkdir(parents=True)

    assert quarantine.add(CRASH) is False
    assert quarantine.crashes() == ()
    assert list(tmp_path.glob("crashed/*")) == [file]


def test_a_state_folder_that_no_file_system_could_hold_keeps_nothing(tmp_path: Path) -> None:
    """A path that is too long is refused by the system, and stops nobody."""
    quarantine = Quarantine(tmp_path / ("long" * 2000))
    assert quarantine.crashes() == ()
    assert quarantine.add(CRASH) is False
    assert not quarantine.is_kept()


def test_ctrl_c_is_no_crash_wherever_it_comes(tmp_path: Path) -> None:
    """Neither a breadcrumb is left while a plugin loads, nor what is to become one."""
    quarantine = Quarantine(tmp_path)
    for step in count():
        with interrupted(step) as interrupt, quarantine.watch(TOY) as say:
            say(Phase.HOOKS)
        left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
        assert left == [], interrupt.where
        if not interrupt.came:
            break
    assert step > 20
