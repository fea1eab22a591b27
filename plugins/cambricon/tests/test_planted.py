"""Bugs planted in the backend and in its extension are told by the stand-in, by the call's name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from planted_in_cambricon import MUTANTS, Mutant

from headrace_cambricon.library import ERAS, library

HERE = Path(__file__).parent
SOURCES = HERE.parent / "csrc"

COMPILER = shutil.which("c++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def told_by(log: Path, command: list[str | Path], **variables: str) -> list[str]:
    """What the stand-in says while a program runs."""
    settings = {"MLUSIM_LOG": str(log), "MLUSIM_CARDS": "2", "MLUSIM_QUIET": "1"}
    environment = {**os.environ, **settings, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return log.read_text().splitlines() if log.exists() else []


def run_job(log: Path, *planted: str) -> list[str]:
    """Reports of a job in a backend with planted bugs, whose products are of integers."""
    program = [sys.executable, HERE / "planted" / "planted_in_cambricon.py", *planted]
    quantized = {"HEADRACE_CAMBRICON_QUANTIZE": "int8"} if "scales" in "".join(planted) else {}
    chosen = {"HEADRACE_CAMBRICON_LIBRARY": "sim"}
    return told_by(log, program, **chosen, **quantized)


def test_of_the_backend_as_it_is_nothing_is_said(tmp_path: Path) -> None:
    """Neither in floats nor in integers."""
    assert run_job(tmp_path / "log") == []
    assert run_job(tmp_path / "log", "scales of nothing") == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_bug_in_the_backend_is_told(mutant: Mutant, tmp_path: Path) -> None:
    """First of all by the call that shows it."""
    lines = run_job(tmp_path / "log", mutant.name)
    assert any(line.startswith(f"{mutant.call}: [{mutant.kind}]") for line in lines), lines


# File of the extension, what is replaced by what, and what is said of it in the last era.
BINDING = {
    "queue_before_handle": (
        "stream.cpp",
        "  handle_.reset();\n  queue_.reset();\n",
        "  queue_.reset();\n  handle_.reset();\n",
        "cnrtQueueDestroy: [queue-before-handle]",
    ),
    "freed_without_a_guard": (
        "device.cpp",
        "void Free(const Library& library, int device, void* address) {\n"
        "  const DeviceGuard guard(library, device);\n",
        "void Free(const Library& library, int, void* address) {\n",
        "cnrtFree: [wrong-device]",
    ),
    "queue_created_without_a_guard": (
        "stream.cpp",
        "  const DeviceGuard guard(*library, device);\n"
        "  const Api& api = library->api();\n"
        "  cnrtQueue_t queue = nullptr;\n",
        "  const Api& api = library->api();\n  cnrtQueue_t queue = nullptr;\n",
        "cnnlSetQueue: [wrong-device]",
    ),
    "descriptors_leak": (
        "object.h",
        "  ~Object() { lifetime_.destroy(value_); }\n",
        "  ~Object() {}\n",
        "exit: [leak] 1 tensor descriptor(s) not destroyed",
    ),
    "notifiers_leak": (
        "stream.cpp",
        "    api.cnrtNotifierDestroy(notifier);\n",
        "    (void)notifier;\n",
        "exit: [leak] 1 notifier(s) not destroyed",
    ),
    "handles_leak": (
        "stream.cpp",
        "  library->api().cnnlDestroy(handle);\n",
        "  (void)handle;\n",
        "cnrtQueueDestroy: [queue-before-handle]",
    ),
    "nothing_is_waited_for": (
        "stream.cpp",
        '    library_->CheckRuntime(api.cnrtQueueSync(queue_.get()), "cnrtQueueSync");\n',
        "    ;\n",
        "cnrtMemcpy: [missing-sync]",
    ),
    "streams_do_not_wait": (
        "stream.cpp",
        "  library_->CheckRuntime(library_->api().cnrtQueueWaitNotifier(event.notifier(), "
        "queue_.get(), 0),\n"
        '                         "cnrtQueueWaitNotifier");\n',
        "  (void)event;\n",
        "cnnlSquare: [unordered]",
    ),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds the program that uses the extension's sources, with one of them changed."""
    folder = tmp_path_factory.mktemp("binding")
    parts = ("library.cpp", "device.cpp", "status.cpp", "stream.cpp")
    program = HERE / "planted" / "binding.cpp"
    sources = {Path(name).stem: SOURCES / name for name in parts} | {program.stem: program}

    def compiled(source: Path, includes: Path, made: Path) -> Path:
        flags = ("-std=c++17", "-O0", f"-I{includes}")
        subprocess.run([COMPILER or "", *flags, "-c", source, "-o", made], check=True)
        return made

    objects = {
        name: compiled(source, SOURCES, folder / f"{name}.o") for name, source in sources.items()
    }

    def make(file: str = "", old: str = "", new: str = "") -> Path:
        linked = dict(objects)
        if file:
            text = (SOURCES / file).read_text()
            assert text.count(old) == 1, f"{file} has {old!r} {text.count(old)} times"
            changed = folder / "changed"
            shutil.copytree(SOURCES, changed, dirs_exist_ok=True)
            (changed / file).write_text(text.replace(old, new))
            source = changed / file if file.endswith(".cpp") else program
            linked[source.stem] = compiled(source, changed, folder / "changed.o")
        subprocess.run([COMPILER or "", *linked.values(), "-ldl", "-o", folder / "it"], check=True)
        return folder / "it"

    return make


def stand_in(era: int) -> Path:
    return Path(library().runtime_path).parents[1] / f"era{era}"


@needs_compiler
@pytest.mark.parametrize("era", ERAS)
def test_of_the_extension_as_it_is_nothing_is_said(
    build: Callable[..., Path], era: int, tmp_path: Path
) -> None:
    """In no era."""
    assert told_by(tmp_path / "log", [build(), stand_in(era)]) == []


@needs_compiler
@pytest.mark.parametrize("name", BINDING)
def test_a_bug_in_the_extension_is_told(
    build: Callable[..., Path], name: str, tmp_path: Path
) -> None:
    """With nothing between it and the libraries."""
    file, old, new, told = BINDING[name]
    lines = told_by(tmp_path / "log", [build(file, old, new), stand_in(ERAS[-1])])
    assert any(line.startswith(told) for line in lines), lines
