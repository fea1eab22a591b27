"""Who imports whom, and what an import costs."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_tensor_value_info

import headrace

LIGHT = {"headrace", "google", "ml_dtypes", "numpy", "packaging", "pluggy"}
"""Top-level modules that a job without a device may bring: headrace and its light dependencies."""

LAZY = [
    ".".join(("headrace", *path.parent.relative_to(Path(headrace.__file__).parent).parts))
    for path in sorted(Path(headrace.__file__).parent.rglob("__init__.py"))
    if "lazy_names(" in path.read_text("utf-8")
]
"""Packages whose names are imported when they are used."""

OPEN_TO_PLUGINS = {
    "aligned", "data_format", "device", "dtypes", "errors", "graph", "hookspecs", "ids",
    "memory_case", "numpy_ops", "op_call", "ops", "tensor_spec",
}  # fmt: skip

# One planted fault for each contract: (contract, package, text of a new module in it).
FAULTS = [
    ("layers", "headrace/compiler", "import headrace.runtime\n"),
    ("rooms-of-onnx", "headrace/onnx/file", "import headrace.onnx.importing\n"),
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


def test_import_headrace_loads_nothing_else() -> None:
    """Names are imported when they are used: what is broken can be said by headrace itself."""
    loaded = {name for name in loaded_by("import headrace") if name.startswith("headrace")}
    assert loaded == {"headrace", "headrace.lazy_names"}
    roots = {name.partition(".")[0] for name in loaded_by("import headrace")}
    assert roots - sys.stdlib_module_names == {"headrace"}


NEEDED_BY_FEW = (
    "headrace.compiler.sharding.sharing",
    "headrace.compiler.verify.verifier",
    "headrace.onnx.importing.converters.conv",
    "headrace.onnx.importing.converters.microsoft.table",
    "headrace.onnx.importing.converters.ml.trees",
    "headrace.onnx.importing.loops",
    "headrace.onnx.importing.run_loop",
    "headrace.timeline",
)
"""Modules of which a model of one elementwise op needs none."""


@pytest.fixture
def run_small(tmp_path: Path) -> str:
    """Statements that compile and run a model of one elementwise op."""
    model = make_model(
        make_graph(
            [make_node("Relu", ["x"], ["y"])],
            "small",
            [make_tensor_value_info("x", TensorProto.FLOAT, [3])],
            [make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        )
    )
    onnx.save(model, tmp_path / "small.onnx")
    return (
        "import os, numpy, headrace; os.environ['HEADRACE_VERIFY'] = '0'\n"
        f"model = headrace.onnx.load({str(tmp_path / 'small.onnx')!r}, 'cpu', plan_cache=False)\n"
        "model.run({'x': numpy.ones(3, 'float32')})"
    )


def test_compiling_a_model_imports_what_it_needs(run_small: str) -> None:
    """And the converters of its own ops, on its own device."""
    loaded = loaded_by(run_small)
    assert "headrace.onnx.importing.converters.unary" in loaded
    assert loaded.isdisjoint(NEEDED_BY_FEW)


def test_compiling_a_model_does_not_ask_onnx_for_an_op(run_small: str) -> None:
    """It would make all of them, which takes as long as to compile the model, and more memory."""
    loaded_by(
        "import onnx.defs\n"
        "for name in ('get_schema', 'get_all_schemas', 'get_all_schemas_with_history', 'has'):\n"
        "    assert hasattr(onnx.defs, name)\n"
        "    setattr(onnx.defs, name, None)\n" + run_small
    )


def test_the_names_of_headrace_load_no_plugin_and_nothing_heavy() -> None:
    """No plugin, no onnx, click or rich: what a job does not use it does not wait for."""
    use_all = "import headrace; [getattr(headrace, n) for n in headrace.__all__ if n != 'onnx']"
    roots = {name.partition(".")[0] for name in loaded_by(use_all)}
    assert roots - sys.stdlib_module_names - LIGHT == set()
    assert "numpy" in roots


@pytest.mark.parametrize("package", LAZY)
def test_lazy_names_are_what_type_checkers_see(package: str) -> None:
    """`__all__`, `dir()`, the typed imports and what is there: one set of names, one home each."""
    module = importlib.import_module(package)
    path = module.__file__
    assert path is not None
    homes: dict[str, str | None] = {}
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module != "headrace.lazy_names":
            module_name = node.module or ""
            if not module_name.startswith("headrace"):
                continue
            homes |= {alias.name: node.module for alias in node.names}
    assert set(homes) == set(module.__all__) <= set(dir(module))
    for name, home in homes.items():
        # In an interpreter of its own: no other name has brought the module already.
        loaded_by(f"from {package} import {name} as one\nfrom {home} import {name} as other\n"
                  "assert one is other")  # fmt: skip


@pytest.mark.parametrize("package", LAZY)
def test_a_name_that_does_not_exist_is_an_attribute_error(package: str) -> None:
    """As of any other module, so that `hasattr` and typing errors work."""
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        _ = importlib.import_module(package).nonsense


@pytest.mark.parametrize("tag", ["cpu", "fakedevice"])
def test_importing_a_plugin_loads_no_native_library(tag: str) -> None:
    """Reading what a plugin offers must work where its library does not."""
    loaded = loaded_by(f"import headrace_{tag}.plugin")
    assert f"headrace_{tag}.plugin" in loaded
    assert {name for name in loaded if name.startswith(f"headrace_{tag}._native")} == set()
