"""What a sanitizer finds is shown, and what it does to a process makes none hang."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MISTAKES = """
#include <stdlib.h>
int odd(const char* bytes) { return *(const int*)(bytes + 1); }
int beyond(int count) {
  volatile int* numbers = calloc(count, sizeof *numbers);
  return numbers[count];
}
volatile int started, finished;
void work(int steps) {
  started = 1;
  while (steps > 0) *(volatile int*)&steps -= 1;
  finished = 1;
}
"""
# As pytest does: the end of the process is the end of what was written there.
CALL = """
import ctypes, os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
library = ctypes.CDLL(sys.argv[1])
getattr(library, sys.argv[2])(eval(sys.argv[3]))
"""
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", *sys.argv[1:]])
"""
FORK = """
import ctypes, os, sys, threading
library = ctypes.CDLL(sys.argv[1])
thread = threading.Thread(target=library.work, args=[20_000_000])
thread.start()
while not ctypes.c_int.in_dll(library, "started").value:
    pass
child = os.fork()
if child == 0:
    os._exit(ctypes.c_int.in_dll(library, "finished").value)
thread.join()
print("finished:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library built as the native parts are."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    library = tmp_path_factory.mktemp("mistakes") / "mistakes.so"
    command = ["gcc", "-shared", "-fPIC", "-g1", "-fsanitize=address,undefined", "-x", "c", "-"]
    built = subprocess.run(
        [*command, "-o", str(library)], input=MISTAKES, capture_output=True, text=True, check=False
    )
    if "cannot find" in built.stderr:
        pytest.skip("gcc has no sanitizers")
    assert built.returncode == 0, built.stderr
    return library


@pytest.mark.parametrize(
    ("function", "argument", "report"),
    [
        ("odd", "bytes(8)", "load of misaligned address"),
        ("beyond", "5", "heap-buffer-overflow"),
    ],
)
def test_reports_of_both_runtimes_are_shown(
    root: Path, mistakes: Path, function: str, argument: str, report: str
) -> None:
    """An access outside, and undefined behaviour, end the process and are told with their lines."""
    done = sanitized(root, CALL, str(mistakes), function, argument)
    assert done.returncode == 134, done.stderr
    assert report in done.stderr
    assert f"in {function} " in done.stderr


def test_a_report_of_a_process_that_nobody_looks_at_fails_the_command(
    root: Path, mistakes: Path
) -> None:
    """The command itself ends well."""
    done = sanitized(root, PARENT, CALL, str(mistakes), "odd", "bytes(8)")
    assert done.returncode == 1
    assert "load of misaligned address" in done.stderr


def test_memory_asked_for_in_vain_fails_no_command(root: Path, mistakes: Path) -> None:
    """The sanitizer tells of it, and it is no mistake."""
    done = sanitized(root, "import ctypes; ctypes.CDLL(None).malloc(ctypes.c_size_t(1 << 60))")
    assert done.returncode == 0
    assert "failed to allocate" in done.stderr


def test_a_fork_waits_for_threads_at_work(root: Path, mistakes: Path) -> None:
    """One that holds a lock of the sanitizer just then would leave it held in the child."""
    done = sanitized(root, FORK, str(mistakes))
    assert done.stdout == "finished: 1\n", done.stderr


def sanitized(root: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code by the tool."""
    tool = [sys.executable, str(root / "tools/sanitized.py"), "address"]
    command = [*tool, sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
