"""Run a command under a sanitizer of gcc: ``python tools/sanitized.py address pytest ...``.

The interpreter is not built with one, so its library is loaded before everything else. The native
parts that the command uses must be: ``tox run -e sanitize-address,sanitize-thread`` builds them so,
the first with the checks of undefined behaviour as well, which end a test in the same way.
What a sanitizer found is shown at the end: pytest has its standard error while tests run, and a
process that a sanitizer stops has no time to hand it over. A command that ended well all the same,
as that process was one of a test's own, fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

BESIDE_ADDRESS = Path(__file__).with_name("sanitized.address.c")
SUPPRESSIONS = Path(__file__).with_name("sanitized.thread.txt")

# Tests ask for more memory than there is, and are told so.
_BOTH = "allocator_may_return_null=1"
SETTINGS = {
    # What the interpreter holds until its end is no leak of ours, and cannot be told from one.
    "address": {
        "ASAN_OPTIONS": f"{_BOTH}:detect_leaks=0:abort_on_error=1",
        "PYTHONMALLOC": "malloc",
        "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    },
    "thread": {
        # Tests fork while threads run; what the child does then is looked at as well.
        "TSAN_OPTIONS": f"{_BOTH}:halt_on_error=1:exitcode=66:die_after_fork=0"
        f":suppressions={SUPPRESSIONS}",
        # Its threads spin without instructions that the sanitizer knows.
        "OPENBLAS_NUM_THREADS": "1",
    },
}
RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so"}
# Memory that was asked for in vain is told of as well.
MISTAKE = re.compile("runtime error:|ERROR: AddressSanitizer|WARNING: ThreadSanitizer")


def main() -> None:
    """Run the command, show what was found, and end as it did."""
    sanitizer, *command = sys.argv[1:]
    if sanitizer not in RUNTIMES or not command:
        sys.exit(__doc__)
    # It looks for the C++ runtime when it starts, which an interpreter in C does not load.
    loaded = [_library(name) for name in (RUNTIMES[sanitizer], "libstdc++.so.6")]
    if sanitizer == "thread" and shutil.which("setarch"):
        # Its shadow memory does not fit beside addresses that are very random.
        command = ["setarch", "-R", *command]
    with TemporaryDirectory() as folder:
        path = Path(folder, "found")
        settings = {
            name: f"{value}:log_path={path}" if name.endswith("_OPTIONS") else value
            for name, value in SETTINGS[sanitizer].items()
        }
        if sanitizer == "address":
            loaded.append(_beside(path))
        environment = os.environ | settings | {"LD_PRELOAD": " ".join(loaded)}
        ended = subprocess.run(command, env=environment, check=False)
        files = sorted(path.parent.glob(f"{path.name}.*"))
        reports = "".join(file.read_text(errors="replace") for file in files)
    sys.stderr.write(reports)
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    sys.exit(code or (1 if MISTAKE.search(reports) else 0))


def _beside(path: Path) -> str:
    """A library that has reports written to ``path``, and keeps forked processes from hanging."""
    built = str(path.with_name("beside.so"))
    told = [f'-DREPORTS="{path}"', f'-DCHECKS="{_library("libubsan.so")}"']
    subprocess.run(["gcc", "-shared", "-fPIC", *told, str(BESIDE_ADDRESS), "-o", built], check=True)
    return built


def _library(name: str) -> str:
    """Where gcc has a library."""
    asked = ["gcc", f"-print-file-name={name}"]
    path = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(path).is_absolute():
        sys.exit(f"gcc has no {name}; install it (Debian: libasan8, libubsan1, libtsan2)")
    return path


if __name__ == "__main__":
    main()
