"""Every way in which a backend is known to have broken the program around it.

Each fault is a distribution of one module, called ``headrace-broken`` with device ``broken``, and
differs from one that works in a single thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TAG = "broken"
DISTRIBUTION = "headrace-broken"
VERSION = "1.2.3"
MODULE = "headrace_broken"

GOOD = """
from headrace.device import *
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel

@hookimpl
def headrace_devices():
    yield DeviceEntry("broken")

@hookimpl
def headrace_allocators():
    yield AllocatorEntry("broken", MemoryKind.HOST, 64, HostAllocator)

@hookimpl
def headrace_kernels():
    yield KernelEntry("broken", "add", NumpyKernel)
"""
"""A backend that works."""

NULL_CALL = """
import ctypes
null = ctypes.CFUNCTYPE(None)(0)
"""
"""A native function that is not there: calling it is a jump to address 0."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken backend.

    Attributes:
        name: what is wrong, as a word.
        source: the module.
        state: where ``headrace doctor`` finds it: a record's state.
        phase: in which phase.
        cause: words that the cause holds.
        ends_process: loading or using it in a process ends that process.
        requires: its ``Requires-Dist`` lines.
        modules: further modules that belong to it, file name -> text.
        rivals: further distributions of the same module that offer the same device.
        may_run: False when its code must never run; the module then says so in a file.
        entry: the module that its entry point names.
    """

    name: str
    source: str
    state: str
    phase: str
    cause: str
    ends_process: bool = False
    requires: tuple[str, ...] = ("headrace>=0",)
    modules: Mapping[str, str] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    may_run: bool = True
    entry: str = MODULE

    @property
    def works(self) -> bool:
        """True when the backend itself is well, and merely has bad manners."""
        return self.state == "ready"

    def write(self, folder: Path) -> None:
        """Install it into ``folder``, as pip would with ``--no-deps``.

        Where its code may not run, running it leaves a file ``ran`` in ``folder``.
        """
        source = self.source
        if not self.may_run:
            source = f"open({str(folder / 'ran')!r}, 'w').close()\n{source}"
        for file, text in {f"{MODULE}.py": source, **self.modules}.items():
            (folder / file).write_text(text, "utf-8")
        for distribution in (DISTRIBUTION, *self.rivals):
            info = folder / f"{distribution.replace('-', '_')}-{VERSION}.dist-info"
            info.mkdir()
            lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {VERSION}"]
            lines += [f"Requires-Dist: {line}" for line in self.requires]
            (info / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
            entry = f"[headrace.backends]\n{TAG} = {self.entry}\n"
            (info / "entry_points.txt").write_text(entry, "utf-8")


def _changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def _before(text: str) -> str:
    return f"{text}\n{GOOD}"


FAULTS: tuple[Fault, ...] = (
    # While the module is imported.
    Fault("raises-at-import", _before("raise OSError('libbroken.so: no such file')"),
          "import-failed", "import", "OSError: libbroken.so: no such file"),
    Fault("missing-module", GOOD, "import-failed", "import",
          "No module named 'headrace_broken_that_is_not_there'",
          may_run=False, entry="headrace_broken_that_is_not_there"),
    Fault("missing-dependency", "from headrace_broken_driver import handle",
          "import-failed", "import", "No module named 'vendor_sdk'",
          modules={"headrace_broken_driver.py": "import vendor_sdk\nhandle = 1\n"}),
    Fault("missing-attribute", _before("import os\nos.no_such_function"),
          "import-failed", "import", "no attribute 'no_such_function'"),
    Fault("sys-exit", _before("import sys\nsys.exit(0)"),
          "import-failed", "import", "it called sys.exit(0)"),
    Fault("keyboard-interrupt", _before("raise KeyboardInterrupt"),
          "import-failed", "import", "KeyboardInterrupt"),
    Fault("syntax-error", "def broken(:\n", "import-failed", "import", "SyntaxError"),
    Fault("os-exit", _before("import os\nos._exit(0)"),
          "import-failed", "import", "exit code 0", ends_process=True),
    Fault("segfault", _before("import ctypes\nctypes.string_at(0)"),
          "import-failed", "import", "signal SIGSEGV", ends_process=True),
    Fault("abort", _before("import os\nos.abort()"),
          "import-failed", "import", "signal SIGABRT", ends_process=True),
    Fault("hangs", _before("import time\ntime.sleep(60)"),
          "import-failed", "import", "no answer within", ends_process=True),
    Fault("error-without-text",
          _before("class Odd(Exception):\n    def __str__(self): return 1 // 0\nraise Odd"),
          "import-failed", "import", "Odd, whose text cannot be had"),
    Fault("error-whose-text-exits",
          _before("class Odd(Exception):\n    def __str__(self): raise SystemExit(0)\nraise Odd"),
          "import-failed", "import", "Odd, whose text cannot be had"),
    Fault("error-without-end", _before("raise ValueError('y' * 10_000_000)"),
          "import-failed", "import", "ValueError: yyy"),
    Fault("prints-and-raises", _before("print('{\"a\": 1}')\nraise ValueError('after printing')"),
          "import-failed", "import", "ValueError: after printing"),
    # It works, and has bad manners.
    Fault("prints", _before("print('{\"a\": 1}')\nimport sys\nprint('noise', file=sys.stderr)"),
          "ready", "exit", ""),
    Fault("leaves-a-thread",
          _before("import threading\n"
                  "threading.Thread(target=threading.Event().wait, daemon=True).start()"),
          "ready", "exit", ""),
    Fault("changes-folder", _before("import os\nos.chdir(os.path.dirname(__file__))"),
          "ready", "exit", ""),
    Fault("closes-files", _before("import os\nos.closerange(3, 4096)"),
          "ready", "exit", ""),
    # Its hooks.
    Fault("misspelt-hook", _changed("def headrace_kernels", "def headrace_kernel"),
          "invalid", "hooks", "did you mean headrace_kernels?"),
    Fault("no-hooks", "", "invalid", "hooks", "does not implement headrace_devices"),
    Fault("missing-hook", _changed("@hookimpl\ndef headrace_allocators", "def unmarked"),
          "invalid", "hooks", "does not implement headrace_allocators"),
    Fault("wrong-signature", _changed("def headrace_devices()", "def headrace_devices(config)"),
          "invalid", "hooks", "headrace_devices"),
    Fault("default-argument", _changed("def headrace_devices()", "def headrace_devices(n=1)"),
          "invalid", "hooks", "has a default"),
    Fault("rest-arguments", _changed("def headrace_devices()", "def headrace_devices(*rest)"),
          "invalid", "hooks", "headrace_devices"),
    Fault("raises-half-way",
          GOOD + "    raise OSError('lost')\n",
          "invalid", "hooks", "OSError: lost"),
    Fault("endless-generator",
          _changed('    yield KernelEntry("broken", "add", NumpyKernel)',
                   '    while True: yield KernelEntry("broken", "add", NumpyKernel)'),
          "invalid", "hooks", "more than 100000 records"),
    Fault("wrong-record-type", _changed('yield DeviceEntry("broken")', 'yield "broken"'),
          "invalid", "hooks", "must return DeviceEntry records"),
    Fault("device-twice",
          _changed('yield DeviceEntry("broken")', 'yield from [DeviceEntry("broken")] * 2'),
          "invalid", "hooks", "returned 2 records"),
    Fault("record-of-another-device", _changed('DeviceEntry("broken")', 'DeviceEntry("cpu")'),
          "invalid", "hooks", "answers for its own device only"),
    Fault("returns-none", _changed('yield DeviceEntry("broken")', "return None"),
          "invalid", "hooks", "returned None"),
    Fault("unknown-op", _changed('"broken", "add"', '"broken", "adddd"'),
          "invalid", "hooks", "did you mean 'add'?"),
    # How many devices there are.
    Fault("zero-devices", _changed('DeviceEntry("broken")', 'DeviceEntry("broken", lambda: 0)'),
          "no-hardware", "count", "it finds no device on this machine"),
    Fault("count-raises",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", lambda: 1 // 0)'),
          "no-hardware", "count", "ZeroDivisionError"),
    Fault("count-is-no-number",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", lambda: "two")'),
          "invalid", "count", "'two'"),
    # Who may run at all: its code must not.
    Fault("duplicate-device", GOOD, "duplicate", "discover",
          "headrace-broken 1.2.3 and headrace-rival 1.2.3",
          rivals=("headrace-rival",), may_run=False),
    Fault("too-new", GOOD, "incompatible", "discover", "it needs headrace>=999",
          requires=("headrace>=999",), may_run=False),
    Fault("too-old", GOOD, "incompatible", "discover", "it needs headrace<0.0.1",
          requires=("headrace<0.0.1",), may_run=False),
    Fault("malformed-requirement", GOOD, "incompatible", "discover", "is malformed",
          requires=("headrace>>1",), may_run=False),
    Fault("newer-contract",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", api_version=(1, 99))'),
          "incompatible", "hooks", "version 1.99 of the plugin contract"),
    Fault("other-contract",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", api_version=(99, 0))'),
          "incompatible", "hooks", "version 99.0 of the plugin contract"),
    # When it is used.
    Fault("open-raises",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", open=lambda index: 1 // 0)'),
          "invalid", "open", "ZeroDivisionError"),
    Fault("null-function-at-open",
          _changed('DeviceEntry("broken")', 'DeviceEntry("broken", open=lambda index: null())')
          .replace("\n@hookimpl", f"{NULL_CALL}\n@hookimpl", 1),
          "invalid", "open", "signal SIG", ends_process=True),
    Fault("null-function-at-launch",
          GOOD.replace("NumpyKernel)", "Crashing)")
          .replace("\n@hookimpl",
                   f"{NULL_CALL}\nclass Crashing(NumpyKernel):\n"
                   "    def enqueue(self, context, work):\n        return null\n\n@hookimpl", 1),
          "invalid", "launch", "signal SIG", ends_process=True),
    Fault("wrong-sum",
          GOOD.replace("NumpyKernel)", "Wrong)")
          .replace("\n@hookimpl",
                   "\nclass Wrong(NumpyKernel):\n"
                   "    def enqueue(self, context, work):\n"
                   "        return lambda: None\n\n@hookimpl", 1),
          "invalid", "launch", "and should be"),
    # When the interpreter ends.
    Fault("segfault-at-exit",
          _before("import atexit, ctypes\natexit.register(ctypes.string_at, 0)"),
          "invalid", "exit", "signal SIGSEGV", ends_process=True),
    Fault("hangs-at-exit",
          _before("import threading\n"
                  "threading.Thread(target=threading.Event().wait).start()"),
          "invalid", "exit", "no answer within", ends_process=True),
    Fault("os-exit-at-exit",
          _before("import atexit, os\natexit.register(os._exit, 0)"),
          "invalid", "exit", "exit code 0", ends_process=True),
)  # fmt: skip
"""The catalogue, in the order of the phases."""
