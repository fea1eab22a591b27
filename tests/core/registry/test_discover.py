"""Discovery reads metadata, in a fixed order, and runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.registry.discover import InstalledBackend, discover


def test_nothing_installed_is_an_empty_answer(tmp_path: Path) -> None:
    """An empty folder, and a package without our entry points, give no backend."""
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n", "utf-8")

    assert discover([str(tmp_path)]) == ()


def test_metadata_say_everything_and_no_module_is_imported(
    tmp_path: Path, install: Callable[..., str]
) -> None:
    """Tag, module, distribution, version and requirements come from metadata alone."""
    module = install(tmp_path, requires=["headrace>=0.1,<0.2", "numpy"], source="raise SystemExit")

    assert discover([str(tmp_path)]) == (
        InstalledBackend("toy", module, "headrace-toy", "0.3.1", ("headrace>=0.1,<0.2", "numpy")),
    )
    assert module not in sys.modules


def test_order_is_by_tag_then_distribution(tmp_path: Path, install: Callable[..., str]) -> None:
    """The order of folders on disk does not show."""
    install(tmp_path, "headrace-zz", tag="bb")
    install(tmp_path, "headrace-aa", tag="cc")
    install(tmp_path, "headrace-mm", tag="aa")
    install(tmp_path, "headrace-bb", tag="bb")

    found = [(backend.tag, backend.distribution) for backend in discover([str(tmp_path)])]

    assert found == [
        ("aa", "headrace-mm"), ("bb", "headrace-bb"), ("bb", "headrace-zz"), ("cc", "headrace-aa"),
    ]  # fmt: skip


def test_order_is_equal_under_any_hash_seed(tmp_path: Path, install: Callable[..., str]) -> None:
    """Records and messages are the same in processes that hash strings differently."""
    for number in range(6):
        install(tmp_path, f"headrace-d{number}", tag=f"t{number % 3}")
    code = (
        "import json, sys; from headrace.registry import BackendRegistry\n"
        "from headrace.registry.discover import discover\n"
        "registry = BackendRegistry(discover(sys.argv[1:]), allow=['t0', 't1'], block=[])\n"
        "print(json.dumps([str(record) for record in registry.records()]))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 6


def test_the_first_on_the_path_hides_the_second(
    tmp_path: Path, install: Callable[..., str]
) -> None:
    """A distribution found twice counts once, in whichever spelling."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    install(first, "headrace-toy", version="0.4.0")
    install(second, "headrace-Toy", version="0.3.0")

    (backend,) = discover([str(first), str(second)])

    assert backend.version == "0.4.0"


@pytest.mark.parametrize(
    ("entry_points", "metadata", "says"),
    [
        ("[headrace.backends]\ntoy = 1 + 1\n", "Name: headrace-toy\nVersion: 1\n", "1 + 1"),
        ("[headrace.backends]\ntoy = a.b:c\n", "Name: headrace-toy\nVersion: 1\n", "a.b:c"),
        ("[headrace.backends]\ntoy\n", "Name: headrace-toy\nVersion: 1\n", "cannot be read"),
        ("[headrace.backends]\ntoy = a.b\n", "Name: headrace-toy\n", "no version"),
    ],
)
def test_damaged_metadata_are_reported_and_hide_nothing(
    tmp_path: Path, install: Callable[..., str], entry_points: str, metadata: str, says: str
) -> None:
    """The damaged distribution carries a fault; the one beside it is found as ever."""
    install(tmp_path, "headrace-whole", tag="whole")
    info = tmp_path / "headrace_toy-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}", "utf-8")
    (info / "entry_points.txt").write_text(entry_points, "utf-8")

    found = {backend.tag: backend.fault for backend in discover([str(tmp_path)])}

    assert says in found["toy"]
    assert found["whole"] == ""


def test_entry_points_that_are_no_text_are_reported_if_they_are_ours(
    tmp_path: Path, install: Callable[..., str]
) -> None:
    """Bytes that are not UTF-8 stop nothing, and a backend is not missing in silence for them."""
    install(tmp_path, "headrace-whole", tag="whole")
    for name, entry_points in (
        ("headrace-toy", b"[headrace.backends]\n\xff\xfe"),
        ("other", b"[console_scripts]\n\xff\xfe"),
    ):
        info = tmp_path / f"{name.replace('-', '_')}-1.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
        (info / "METADATA").write_text(text, "utf-8")
        (info / "entry_points.txt").write_bytes(entry_points)

    toy, whole = discover([str(tmp_path)])

    assert toy.distribution == "headrace-toy"
    assert "UnicodeDecodeError" in toy.fault
    assert (whole.tag, whole.fault) == ("whole", "")


def test_a_distribution_without_metadata_is_reported(tmp_path: Path) -> None:
    """Half-removed packages leave a folder with entry points and nothing else."""
    info = tmp_path / "headrace_toy-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[headrace.backends]\ntoy = toy_plugin\n", "utf-8")

    (backend,) = discover([str(tmp_path)])

    assert backend.fault
