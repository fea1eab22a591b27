"""Write docs/matrix.md: the environments of tox.ini, as `tox list` has them.

    python tools/matrix.py [--check]

With `--check` nothing is written, and the exit code says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/matrix.md"

HEAD = """# The matrix

Environment `wheels` builds; the others install what it built, each only the backends that it is
about, and but for `cambricon-hw` none needs a device. `tox run -m ci` runs what continuous
integration runs; `tox run -m LABEL` the environments of a label; `tox run -e wheels,NAME` one of
them. This page is what `tox list` says; `python tools/matrix.py` writes it.

"""


def environments() -> list[tuple[str, str]]:
    """Name and description of each environment, in the order of tox.ini."""
    command = [sys.executable, "-m", "tox", "list", "-c", str(ROOT), "--colored", "no"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^([\w.-]+)\s+-> (.+)$", said, re.MULTILINE)
    if not found:
        raise SystemExit(f"tox lists nothing that can be read:\n{said}")
    return found


def page() -> str:
    """The page as it should be."""
    rows = "".join(f"| `{name}` | {text} |\n" for name, text in environments())
    return f"{HEAD}| environment | what it does |\n| --- | --- |\n{rows}"


def main() -> None:
    parser = argparse.ArgumentParser(description="write the table of environments")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    wanted = page()
    if not parser.parse_args().check:
        PAGE.write_text(wanted, "utf-8")
    elif PAGE.read_text("utf-8") != wanted:
        sys.exit("docs/matrix.md is not what tox lists; run python tools/matrix.py")


if __name__ == "__main__":
    main()
