"""Lay out the C++ of the plugins with clang-format.

python tools/format_cpp.py            rewrite the files that need it
python tools/format_cpp.py --check    only say which need it
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}


def sources() -> list[Path]:
    """Every C++ file that people write."""
    return sorted(
        path
        for folder in [*ROOT.glob("plugins/*/csrc"), *ROOT.glob("plugins/*/sim")]
        for path in folder.rglob("*")
        if path.suffix in SUFFIXES
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="format the C++ code")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    mode = ["--dry-run", "--Werror"] if parser.parse_args().check else ["-i"]
    files = sources()
    if not files:
        print("no C++ file to format")
        return 0
    status = subprocess.run(["clang-format", *mode, *map(str, files)], check=False).returncode
    print(f"{len(files)} files" + (" are laid out as .clang-format says" if status == 0 else ""))
    return status


if __name__ == "__main__":
    raise SystemExit(main())
