"""Who imports whom, and what an import costs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LIGHT = {"headrace", "google", "ml_dtypes", "numpy", "packaging", "pluggy"}
"""Top-level modules that `import headrace` may bring: its own and its light dependencies."""

OPEN_TO_PLUGINS = {
    "device", "dtypes", "errors", "graph", "hookspecs", "ids", "memory_case", "numpy_ops",
    "op_call", "ops", "tensor_spec",
}  # fmt: skip

# One planted fault for each contract: (contract, package, text of a new module in it).
FAULTS = [
    ("layers", "headrace/compiler", "import headrace.runtime\n"),
    ("core-knows-no-plugin", "headrace/registry", "import headrace_cpu\n"),
    ("plugins-apart", "headrace_fakedevice", "import headrace_cpu\n"),
    ("plugins-see-the-contract", "headrace_fakedevice", "import headrace.registry\n"),
    ("plugins-skip-the-facade", "headrace_fakedevice", "import headrace\n"),
    ("one-user-of-protobuf", "headrace/runtime", "import headrace.proto\n"),
    ("threads-where-listed", "headrace/compiler", "import threading\n"),
]


def lint_imports(folder: Path, sources: list[Path]) -> tuple[int, str]:
    """Run the import linter with the settings in `folder`; return its status and report."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
            "COLUMNS": "300",
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def source_folders(root: Path) -> list[Path]:
    return [root / "core/src", *sorted(root.glob("plugins/*/src"))]


def contracts(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def test_the_import_contracts_hold(root: Path) -> None:
    status, report = lint_imports(root, source_folders(root))
    assert status == 0, report


@pytest.fixture(scope="module")
def report_with_faults(root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter says of a copy of the sources in which every fault was planted."""
    copy = tmp_path_factory.mktemp("planted")
    for folder in source_folders(root):
        for package in folder.glob("headrace*"):
            shutil.copytree(
                package, copy / package.name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
            )
    for number, (_, target, text) in enumerate(FAULTS):
        (copy / target / f"planted_{number}.py").write_text(text, "utf-8")
    shutil.copy(root / "pyproject.toml", copy)
    status, report = lint_imports(copy, [copy])
    assert status == 1, report
    return report


def test_every_contract_has_a_planted_fault(settings: dict[str, Any]) -> None:
    assert contracts(settings).keys() == {name for name, _, _ in FAULTS}


@pytest.mark.parametrize("name", [name for name, _, _ in FAULTS])
def test_a_contract_finds_its_fault(
    report_with_faults: str, settings: dict[str, Any], name: str
) -> None:
    """A contract that cannot break guards nothing."""
    title = re.escape(contracts(settings)[name]["name"])
    assert re.search(rf"^{title} BROKEN", report_with_faults, re.MULTILINE), report_with_faults


def test_plugins_may_import_the_contract_and_nothing_else(
    root: Path, settings: dict[str, Any]
) -> None:
    """A new top-level module of core is either open to plugins or listed as forbidden."""
    modules = {
        path.stem
        for path in (root / "core/src/headrace").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    } - {"__init__"}
    forbidden = {
        name.removeprefix("headrace.")
        for name in contracts(settings)["plugins-see-the-contract"]["forbidden_modules"]
    }
    assert modules - OPEN_TO_PLUGINS <= forbidden
    assert forbidden & OPEN_TO_PLUGINS == set()


def loaded_by(statement: str) -> set[str]:
    """Every module that `statement` loads in a fresh interpreter."""
    code = (
        f"import sys, json; before = set(sys.modules)\n{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


def test_import_headrace_loads_no_plugin_and_nothing_heavy() -> None:
    """No plugin, no onnx, click or rich: what a job does not use it does not wait for."""
    roots = {name.partition(".")[0] for name in loaded_by("import headrace")}
    assert roots - sys.stdlib_module_names - LIGHT == set()
    assert "headrace" in roots


@pytest.mark.parametrize("tag", ["cpu", "fakedevice"])
def test_importing_a_plugin_loads_no_native_library(tag: str) -> None:
    """Reading what a plugin offers must work where its library does not."""
    loaded = loaded_by(f"import headrace_{tag}.plugin")
    assert f"headrace_{tag}.plugin" in loaded
    assert {name for name in loaded if name.startswith(f"headrace_{tag}._native")} == set()
