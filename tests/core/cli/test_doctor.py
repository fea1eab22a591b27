"""``headrace doctor``: its document fits its schema, and crashes are remembered."""

from __future__ import annotations

import errno
import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from headrace.cli import main
from headrace.doctor import schema
from headrace.registry.quarantine import Crash, Quarantine
from headrace.testing.faults.catalogue import FAULTS, GOOD, Fault


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command with only the backends that are installed in ``folder``."""
    (folder / "site").mkdir(exist_ok=True)
    environment = {
        "PYTHONPATH": f"{folder / 'site'}:{':'.join(sys.path)}",
        "HEADRACE_STATE": str(folder / "state"),
        **variables,
    }
    command = [sys.executable, "-m", "headrace", "doctor", "--timeout", "30", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def examined(folder: Path, *words: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """Exit code and the row of device ``broken``; the document fits the schema."""
    done = run(folder, "broken", "--json", *words, **variables)
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    assert done.returncode == (0 if document["healthy"] else 1)
    return done.returncode, document["backends"][0]


def install(folder: Path, fault: Fault) -> None:
    (folder / "site").mkdir(exist_ok=True)
    fault.write(folder / "site")


WORKS = Fault("works", GOOD, "ready", "exit", "")


def test_a_backend_that_works_is_well(tmp_path: Path) -> None:
    """It was opened, and memory, copies and a kernel were tried."""
    install(tmp_path, WORKS)
    code, row = examined(tmp_path)
    assert (code, row["state"], row["phase"], row["probe"]) == (0, "ready", "exit", "passed")
    assert row["devices"] == 1


def test_a_crash_is_remembered_until_it_is_cleared(tmp_path: Path) -> None:
    """The first probe crashes, the second does not run it, and --clear probes it again."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "segfault"))
    first = examined(tmp_path)[1]
    assert (first["state"], first["phase"], first["probe"]) == ("import-failed", "import", "signal")
    assert "SIGSEGV" in first["cause"]
    assert "Segmentation fault" in first["detail"]
    code, second = examined(tmp_path)
    assert (code, second["state"], second["probe"]) == (1, "blocked", "not-run")
    assert "quarantine" in second["cause"]
    third = examined(tmp_path, "--clear", "broken")[1]
    assert third["probe"] == "signal"


def test_what_the_user_left_out_is_no_illness(tmp_path: Path) -> None:
    """A block-list is a decision."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "raises-at-import"))
    assert examined(tmp_path)[0] == 1
    code, row = examined(tmp_path, HEADRACE_DISABLE="broken")
    assert (code, row["state"], row["healthy"]) == (0, "blocked", True)


def test_a_device_that_nobody_offers_is_said(tmp_path: Path) -> None:
    """Asking for it by name is asking whether it works."""
    code, row = examined(tmp_path)
    assert (code, row["state"]) == (1, "not-installed")
    assert row["hint"] == "pip install headrace-broken"


def test_doctor_is_not_what_doctor_recommends(tmp_path: Path) -> None:
    """Where the device is missing, what is left to do is to leave its backend out."""
    install(tmp_path, next(fault for fault in FAULTS if fault.state == "no-hardware"))
    code, row = examined(tmp_path)
    assert (code, row["state"]) == (1, "no-hardware")
    assert row["hint"].startswith("HEADRACE_DISABLE=broken")
    assert examined(tmp_path, HEADRACE_DISABLE="broken")[0] == 0


def test_a_device_that_is_merely_absent_is_no_illness(tmp_path: Path) -> None:
    """It is listed with its cause; only who asks for it by name is told that it does not work."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "zero-devices"))
    done = run(tmp_path, "--json", HEADRACE_BACKENDS="broken")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    (row,) = (row for row in document["backends"] if row["tag"] == "broken")
    assert (done.returncode, row["state"], row["healthy"]) == (0, "no-hardware", True)
    assert row["cause"] == "it finds no device on this machine"


def test_damaged_metadata_do_not_stop_it(tmp_path: Path) -> None:
    """The package is listed with what is wrong with it."""
    install(tmp_path, WORKS)
    (info,) = (tmp_path / "site").glob("*.dist-info")
    (info / "METADATA").write_bytes(b"\xff\xfe\x00")
    done = run(tmp_path, "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    assert done.returncode == 1


def test_for_people_it_is_a_table(tmp_path: Path) -> None:
    """One line for each backend, with the cause and the next step, and a verdict at the end."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "zero-devices"))
    done = run(tmp_path, "broken")
    assert done.returncode == 1
    assert "headrace-broken 1.2.3" in done.stdout
    assert "it finds no device on this machine" in done.stdout
    assert done.stdout.splitlines()[-1] == "sick"


def test_the_schema_is_a_schema(tmp_path: Path) -> None:
    """And the command prints it."""
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(run(tmp_path, "--schema").stdout) == schema()


@pytest.mark.parametrize("limit", ["0", "-1", "soon"])
def test_a_limit_is_a_number_above_zero(tmp_path: Path, limit: str) -> None:
    """Anything else is a usage error."""
    assert run(tmp_path, "--timeout", limit).returncode == 2


def test_a_probe_that_never_reached_the_backend_blames_nobody(tmp_path: Path) -> None:
    """A limit too short for Python itself is a failed examination and no crash."""
    install(tmp_path, WORKS)
    code, row = examined(tmp_path, "--timeout", "0.001")
    assert (code, row["probe"], row["phase"]) == (1, "hang", "start")
    assert "did not get as far as the backend" in row["cause"]
    assert examined(tmp_path)[1]["state"] == "ready"


def test_a_stray_module_in_the_current_folder_is_not_imported(tmp_path: Path) -> None:
    """The probe looks for modules where the command does, which is not where the user stands."""
    install(tmp_path, WORKS)
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray/numpy.py").write_text("raise SystemExit(3)", "utf-8")
    start = "import sys; from headrace.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", start, "doctor", "broken", "--json"],
        env={
            "PYTHONPATH": f"{tmp_path / 'site'}:{':'.join(sys.path)}",
            "HEADRACE_STATE": str(tmp_path / "state"),
        },
        cwd=tmp_path / "stray",
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["backends"][0]["state"] == "ready"


def test_a_plugin_blocked_by_the_user_is_no_illness_though_it_crashed(tmp_path: Path) -> None:
    """Its quarantine changes nothing about the user's decision."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "os-exit"))
    assert examined(tmp_path)[0] == 1
    code, row = examined(tmp_path, HEADRACE_DISABLE="broken")
    assert (code, row["state"], row["healthy"]) == (0, "blocked", True)


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("HEADRACE_STATE", "the state folder cannot be written: what ends a process is"),
        ("HEADRACE_CACHE", "the cache folder cannot be written: models are compiled at every"),
    ],
)
def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, variable: str, says: str) -> None:
    """It makes nobody sick: crashes are found, and models run, all the same."""
    install(tmp_path, WORKS)
    usual = {"HEADRACE_CACHE": str(tmp_path / "cache"), "HEADRACE_PLAN_CACHE": ""}
    done = run(tmp_path, "broken", "--json", **usual | {variable: "/dev/null/folder"})
    (note,) = json.loads(done.stdout)["headrace"]["notes"]
    assert done.returncode == 0
    assert note.startswith(says)
    found = json.loads(run(tmp_path, "broken", "--json", **usual).stdout)["headrace"]
    assert (found["notes"], found["cache_folder"]) == ([], usual["HEADRACE_CACHE"])


def test_a_disk_without_room_for_a_plan_is_said(tmp_path: Path) -> None:
    """As a folder that cannot be written is: files of this process have a limit meanwhile."""
    install(tmp_path, WORKS)
    cache = {"HEADRACE_CACHE": str(tmp_path / "cache"), "HEADRACE_PLAN_CACHE": ""}
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, usual[1]))
    try:
        done = run(tmp_path, "broken", "--json", **cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    (note,) = json.loads(done.stdout)["headrace"]["notes"]
    assert done.returncode == 0
    assert note.startswith("the cache folder cannot be written")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HEADRACE_FALLBAK", "HEADRACE_FALLBACK"),
        ("HEADRACE_BACKEND", "HEADRACE_BACKENDS"),
        ("HEADRACE_STRICT", ""),
        ("HEADRACE_BROKEN_COUNT", ""),
    ],
)
def test_a_misspelt_variable_is_said(tmp_path: Path, name: str, meant: str) -> None:
    """Not one that core knows, nor one that is like none of core's: a backend may read it."""
    install(tmp_path, WORKS)
    notes = json.loads(run(tmp_path, "--json", **{name: ""}).stdout)["headrace"]["notes"]
    says = f"{name} is set, and nothing reads it; did you mean {meant}?"
    assert notes == ([says] if meant else [])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_what_a_backend_starts_ends_with_its_probe(tmp_path: Path) -> None:
    """A process that a plugin leaves behind is gone when doctor has answered."""
    told = tmp_path / "child"
    start = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(told)!r}, 'w').write(str(child.pid))\n"
    )
    install(tmp_path, Fault("starts", start + GOOD, "ready", "exit", ""))
    assert examined(tmp_path)[1]["state"] == "ready"
    state = Path(f"/proc/{told.read_text()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_more_backends_than_cores_are_examined_in_order(tmp_path: Path) -> None:
    """Each gets its probe, whatever the others do."""
    install(tmp_path, WORKS)
    (info,) = (tmp_path / "site").glob("*.dist-info")
    names = [f"extra{n}" for n in range(9)]
    entries = "\n".join(f"{name} = headrace_{name}" for name in names)
    (info / "entry_points.txt").write_text(f"[headrace.backends]\n{entries}\n", "utf-8")
    for name in names:
        source = GOOD.replace('"broken"', f'"{name}"')
        (tmp_path / f"site/headrace_{name}.py").write_text(source, "utf-8")
    done = run(tmp_path, *names, "--json")
    rows = json.loads(done.stdout)["backends"]
    assert [(row["tag"], row["state"]) for row in rows] == [(name, "ready") for name in names]


def break_module(folder: Path, name: str, source: str) -> None:
    """Put a package called ``name`` before the real one on the path."""
    (folder / "site" / name).mkdir(parents=True)
    (folder / "site" / name / "__init__.py").write_text(source, "utf-8")


@pytest.mark.parametrize("name", ["numpy", "pluggy"])
def test_it_works_where_headrace_does_not(tmp_path: Path, name: str) -> None:
    """The culprit is named, no backend is blamed or run, and the hint mends the culprit only."""
    install(tmp_path, WORKS)
    break_module(tmp_path, name, "raise RuntimeError('taken to pieces')")
    done = run(tmp_path, "broken", "--json")
    assert done.stderr == ""
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    faults = [fault for fault in document["headrace"]["faults"] if fault.startswith(name)]
    assert [fault.partition(" does not import: ")[2] for fault in faults] == [
        "RuntimeError: taken to pieces"
    ]
    (row,) = document["backends"]
    assert (done.returncode, row["state"], row["probe"]) == (1, "found", "not-run")
    assert row["hint"] == f"pip install --force-reinstall {name}"
    assert list(tmp_path.glob("state/*/*.json")) == []


def test_what_only_some_dtypes_need_is_a_fault_of_headrace_alone(tmp_path: Path) -> None:
    """A backend that works without it is examined, and is well."""
    install(tmp_path, WORKS)
    break_module(tmp_path, "ml_dtypes", "raise RuntimeError('taken to pieces')")
    document = json.loads(run(tmp_path, "broken", "--json").stdout)
    assert any(fault.startswith("ml-dtypes") for fault in document["headrace"]["faults"])
    (row,) = document["backends"]
    assert (row["state"], row["probe"], document["healthy"]) == ("ready", "passed", False)


@pytest.mark.parametrize(
    ("name", "culprit"), [("rich",) * 2, ("onnx",) * 2, ("google", "protobuf")]
)
def test_what_loading_needs_not_keeps_no_backend_from_examination(
    tmp_path: Path, name: str, culprit: str
) -> None:
    """The verdict is sick all the same, and it is printed without rich."""
    install(tmp_path, WORKS)
    break_module(tmp_path, name, "raise RuntimeError('taken to pieces')")
    done = run(tmp_path, "broken")
    assert done.returncode == 1
    begin = f"fault: {culprit} "
    (fault,) = (line for line in done.stdout.splitlines() if line.startswith(begin))
    assert fault.endswith(" does not import: RuntimeError: taken to pieces")
    assert re.search(r"^broken +headrace-broken 1.2.3 +ready ", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "sick"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import os; os._exit(3)", "the process ended with exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "signal SIGSEGV ended the process"),
        ("print('[]'); import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
    ],
)
def test_a_dependency_may_end_the_process(tmp_path: Path, source: str, cause: str) -> None:
    """It is imported in a child, and the others are still tried."""
    break_module(tmp_path, "rich", source)
    done = run(tmp_path, "broken", "--json")
    (fault,) = json.loads(done.stdout)["headrace"]["faults"]
    assert done.returncode == 1
    assert fault.startswith("rich ")
    assert cause in fault


@pytest.mark.parametrize("text", [b"\xff\xfe\x00", b"", b"Name: rich\nVersion: 1.0\n"])
def test_metadata_of_a_dependency_may_be_damaged_or_old(tmp_path: Path, text: bytes) -> None:
    """It is a fault that names the dependency; what imports all the same is examined."""
    install(tmp_path, WORKS)
    (tmp_path / "site/rich-1.0.dist-info").mkdir()
    (tmp_path / "site/rich-1.0.dist-info/METADATA").write_bytes(text)
    done = run(tmp_path, "broken", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    (fault,) = document["headrace"]["faults"]
    assert fault.startswith("rich ")
    assert (done.returncode, document["backends"][0]["state"]) == (1, "ready")


def test_a_crash_while_the_interpreter_ends_is_found(tmp_path: Path) -> None:
    """Every program that used the backend would end so, though all that it did was right."""
    install(tmp_path, next(fault for fault in FAULTS if fault.name == "segfault-at-exit"))
    code, row = examined(tmp_path)
    assert (code, row["state"], row["phase"], row["probe"]) == (1, "invalid", "exit", "signal")
    assert "SIGSEGV" in row["cause"]
    assert examined(tmp_path)[1]["state"] == "blocked"


def test_a_quarantine_that_cannot_be_cleared_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the file and what to do; nothing is examined."""
    crash = Crash("broken", "headrace-broken", "1.2.3", "import", "signal", "then")
    Quarantine(tmp_path).add(crash)
    (file,) = tmp_path.glob("crashed/*.json")

    def unlink(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setenv("HEADRACE_STATE", str(tmp_path))
    done = CliRunner().invoke(main, ["doctor", "--clear", "broken"])
    monkeypatch.undo()
    assert done.exit_code == 1
    assert done.output == (
        f"error: cannot let broken out of quarantine: {file}: Permission denied. "
        "Try: delete that file as a user who may\n"
    )
