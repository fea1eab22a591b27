"""Ten thousand runs of small jobs on the fake devices, each with up to three random faults.

Every run is one seed: which job, how wide, what fails and when, in which order threads and streams
go on. What counts as an error of headrace is said in ``plugins/fakedevice/tests/random_faults.py``:
a wrong number, an error that no caller could expect, a run that waits for itself, or anything that
is left behind. Seeds that find one are printed, and can be run again.

    python bench/faulty_runs.py [--runs 10000] [--first 0]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from arguments import at_least, positive

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "plugins" / "fakedevice" / "tests"))

from random_faults import random_run  # noqa: E402 - the folder is named above

from headrace.testing.deterministic import DeadlockError, LeftBehindError  # noqa: E402
from headrace_fakedevice import MemoryFault  # noqa: E402


def kind_of(error: BaseException) -> str:
    """What a run that went wrong counts as."""
    if isinstance(error, DeadlockError):
        return "hang"
    if isinstance(error, (LeftBehindError, MemoryFault)) or "not freed" in str(error):
        return "leak"
    return "wrong"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=positive, default=10_000)
    parser.add_argument("--first", type=at_least(0), default=0, help="the first seed")
    options = parser.parse_args()
    found, struck, begin = Counter[str](), 0, time.monotonic()
    for seed in range(options.first, options.first + options.runs):
        try:
            struck += random_run(seed)
        except Exception as error:  # noqa: BLE001 - counted and told
            found[kind_of(error)] += 1
            print(f"seed {seed}: {kind_of(error)}: {type(error).__name__}: {error}")
    seconds = time.monotonic() - begin
    print(
        f"{options.runs} runs, {struck} faults came to pass in {seconds:.0f} s: "
        f"{found['hang']} hangs, {found['leak']} leaks, {found['wrong']} wrong"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
