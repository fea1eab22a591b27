"""The plan cache as processes meet it: at once, killed, damaged, full, not to be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from headrace.tensor_spec import Array

X = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2) - 5

LOAD = """
import sys
import numpy as np
import headrace as flow
import headrace.onnx
print("ready", flush=True)
exec(sys.stdin.readline())
with flow.onnx.load(sys.argv[1], sys.argv[2]) as model:
    results = model.run({"x": np.load(sys.argv[3])})
idle = [f"headrace.{name}" for name in ("bench", "cli", "doctor", "page", "scaffold", "testing")]
assert not [name for name in idle if name in sys.modules], "they make no plans, says the cache"
print("onnx" in sys.modules, *(array.tobytes().hex() for array in results.values()))
"""

# What a process need not import that takes a plan out of the cache.
IDLE = (
    "onnx", "google.protobuf", "ml_dtypes", "importlib.metadata", "packaging", "difflib", "email",
    "_hashlib", "logging", "secrets", "socket", "subprocess", "tempfile", "zipfile",
    "headrace.compiler.pipeline", "headrace.graph.builder", "headrace.graph.editor",
    "headrace.graph.job_graph",
    "headrace.ops.logic", "headrace.ops.activation", "headrace.ops.softmax",
    "headrace.ops.resize_taps",
    "headrace.runtime.event_log",
    "headrace.onnx.file.external", "headrace.onnx.importing.measure", "headrace.plan.check_plan",
    "headrace.plan.dump_plan", "headrace.registry.check_lists", "headrace.registry.tables",
    "headrace_cambricon.kernels.table", "headrace_fakedevice.collectives",
    "headrace_cpu.kernels.table", "headrace_cpu.kernels.recurrent", "headrace_cpu.kernels.trees",
    "headrace_cpu.kernels.winograd", "headrace_cpu.ops.table", "headrace_cpu.ops.pack",
    "headrace_cpu.passes",
)  # fmt: skip

# No file may have more bytes than the note of the model, and fewer than its plan. What is written
# up to there stays; then the kernel says so by a signal, which Python has switched off. Modules are
# not kept compiled meanwhile: what is cut short of them would be found by all processes after it.
FULL = (
    "import resource, sys; sys.dont_write_bytecode = True; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))"
)
KILLED = f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); {FULL}"


class Starts:
    """Processes that load the same model, with a cache of their own.

    Attributes:
        folder: of the plans.
    """

    def __init__(self, model: Path, device: str, cache: Path) -> None:
        self.folder = cache / "plans"
        self.variables = {"HEADRACE_CACHE": str(cache), "HEADRACE_PLAN_CACHE": ""}
        np.save(model.with_name("x.npy"), X)
        self._words = [sys.executable, "-c", LOAD, model, device, model.with_name("x.npy")]
        self._wanted = ReferenceEvaluator(str(model)).run(None, {"x": X})

    def start(self) -> subprocess.Popen[str]:
        """A process that has imported what it can and waits for ``go``."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            list(map(str, self._words)),
            env={**os.environ, **self.variables},
            stdin=pipe, stdout=pipe, stderr=pipe, text=True,
        )  # fmt: skip

    def run(self, before: str = "") -> tuple[bool, str]:
        """One process; as ``finish``."""
        with self.start() as process:
            assert process.stdout is not None
            process.stdout.readline()
            return self.finish(process, before)

    def finish(self, process: subprocess.Popen[str], before: str = "") -> tuple[bool, str]:
        """Let it go on; returns whether it compiled, and what it computed, which is right."""
        said, complaints = process.communicate(f"{before}\n", timeout=120)
        assert process.returncode == 0, complaints
        compiled, *results = said.splitlines()[-1].split()
        for text, wanted in zip(results, self._wanted, strict=True):
            got: Array = np.frombuffer(bytes.fromhex(text), wanted.dtype).reshape(wanted.shape)
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        return compiled == "True", " ".join(results)

    def files(self) -> list[str]:
        """What kinds of files are there: ``.plan``, ``.note``, or a part of one."""
        if not self.folder.is_dir():
            return []
        return sorted(
            "part" if path.name.startswith(".") else path.suffix for path in self.folder.iterdir()
        )


@pytest.fixture
def starts(model: Path, tmp_path: Path, device: str) -> Starts:
    """Starts of a small model with an empty cache."""
    return Starts(model, device, tmp_path / "cache")


def test_processes_that_start_at_once_all_give_the_same(starts: Starts) -> None:
    """None waits for another; who comes later gives the same bits and imports no onnx."""
    with ExitStack() as several:
        processes = [several.enter_context(starts.start()) for _ in range(4)]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()  # all stand ready before one goes on
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        results = {starts.finish(process)[1] for process in processes}
    assert starts.files() == [".note", ".plan"]
    assert starts.run() == (False, *results)


def test_a_process_that_is_killed_while_it_writes_leaves_nothing_to_read(starts: Starts) -> None:
    """A part of a file stays, under a name that nobody looks for; the next process makes it."""
    with starts.start() as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.communicate(f"{KILLED}\n", timeout=120)
    assert process.returncode == -signal.SIGXFSZ
    assert starts.files() == [".note", "part"]
    compiled, results = starts.run()
    assert compiled
    assert starts.files() == [".note", ".plan", "part"]
    assert starts.run() == (False, results)


def test_a_disk_that_is_full_breaks_no_run(starts: Starts) -> None:
    """Nothing is kept, not even a part; when there is room, it is."""
    assert starts.run(FULL)[0]
    assert starts.files() == [".note"]
    assert starts.run()[0]
    assert starts.files() == [".note", ".plan"]


def test_a_folder_that_cannot_be_written_breaks_no_run(starts: Starts) -> None:
    """What is in it already is used all the same."""
    compiled, results = starts.run()
    assert compiled
    for path in (*starts.folder.iterdir(), starts.folder):
        path.chmod(0o500)
    assert starts.run() == (False, results)
    starts.folder.chmod(0o700)
    starts.variables["HEADRACE_CACHE"] = "/dev/null/cache"
    assert starts.run() == (True, results)


def damage_end(data: bytes) -> bytes:
    return data[:-1]


def damage_bit(data: bytes) -> bytes:
    at = len(data) * 2 // 3
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


@pytest.mark.parametrize("damage", [damage_end, damage_bit])
@pytest.mark.parametrize("kind", ["plan", "note"])
def test_what_is_damaged_is_made_again(
    starts: Starts, kind: str, damage: Callable[[bytes], bytes]
) -> None:
    """With the right numbers; the process after finds it whole."""
    _, results = starts.run()
    (path,) = starts.folder.glob(f"*.{kind}")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert starts.run() == (True, results)
    assert path.read_bytes() == whole
    assert starts.run() == (False, results)


@pytest.mark.parametrize(("limit", "files"), [("0", []), ("1000", []), ("", [".note", ".plan"])])
def test_the_cache_is_as_large_as_it_may_be(starts: Starts, limit: str, files: list[str]) -> None:
    """Not there, too small for one plan, or as usual."""
    starts.variables["HEADRACE_PLAN_CACHE"] = limit
    assert starts.run()[0]
    assert starts.files() == files
    assert starts.run()[0] is not bool(files)


def test_a_second_start_imports_what_it_runs_and_nothing_else(
    model: Path, device: str, starts: Starts
) -> None:
    """Neither the compiler, nor ops that are not there, nor what takes long to import."""
    starts.run()
    code = (
        "import sys, numpy, headrace.onnx\n"
        f"model = headrace.onnx.load({str(model)!r}, {device!r})\n"
        f"model.run({{'x': numpy.load({str(model.with_name('x.npy'))!r})}})\n"
        f"print(sorted(set({IDLE!r}) & sys.modules.keys()))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **starts.variables},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert said.stdout == "[]\n"
