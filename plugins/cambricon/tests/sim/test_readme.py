"""The README of the stand-in tells what the sources have: kinds of misuse, settings, functions."""

import re
from pathlib import Path

SIM = Path(__file__).parents[2] / "sim"
README = (SIM / "README.md").read_text("utf-8")
SOURCES = "\n".join(
    path.read_text("utf-8") for path in sorted(SIM.rglob("*")) if path.suffix in (".h", ".cpp")
)


def test_every_kind_of_misuse_is_listed():
    """And no other."""
    calls = r'(?:Misuse|Complain|Refuse)\(\s*"([a-z-]+)"|Report\([\w.]+,\s*"([a-z-]+)"'
    used = {name for pair in re.findall(calls, SOURCES) for name in pair if name}
    section = README.split("## What it holds a caller to")[1].split("## Settings")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert set(re.findall("`([a-z-]+)`", " ".join(rows))) == used


def test_every_setting_is_listed():
    """With the name that the sources read."""
    read = set(re.findall(r'"(MLU(?:SIM)?_[A-Z_]+)"', SOURCES))
    assert set(re.findall(r"^\| `(MLU\w+)` \|", README, re.MULTILINE)) == read


def test_every_export_is_made_and_every_function_exported():
    """The tables name the functions of the sources."""
    for library in ("cnrt", "cnnl"):
        lines = (SIM / library / "exports.txt").read_text("utf-8").splitlines()[1:]
        assert lines == sorted(lines)
        made = set()
        for path in (SIM / library).glob("*.cpp"):
            text = path.read_text("utf-8")
            made |= set(re.findall(rf"MLUSIM_\w+\(\s*(?:\w+, )?({library}[A-Z]\w+)", text))
            made |= set(re.findall(rf"MLUSIM_LIFETIME\(\w+, \w+,\s+({library}\w+)\)", text))
            made |= set(re.findall(rf"MLUSIM_EXPORT [\w: *]*?({library}[A-Z]\w+)\(", text))
        assert {line.split()[0] for line in lines} == made
