"""Run a command on each instruction set that the CPU backend has here: ``each_isa.py pytest ...``.

The newest comes first. It goes on after one that failed, and ends as the first of these did.
"""

from __future__ import annotations

import os
import subprocess
import sys

from headrace_cpu import _native


def main() -> None:
    """Run the command once for each, told by the variable."""
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    code = 0
    for isa in reversed(_native.isas()):
        print(f"HEADRACE_CPU_ISA={isa}", flush=True)
        environment = os.environ | {"HEADRACE_CPU_ISA": isa}
        ended = subprocess.run(command, env=environment, check=False)
        code = code or ended.returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
