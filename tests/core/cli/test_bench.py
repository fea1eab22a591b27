"""``headrace bench``: what is asked of it, and what it makes of measurements."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from onnx import ModelProto
from onnx_models import info, model, node

from headrace.bench import Comparison, Spread
from headrace.bench.comparison import Measured, difference, finite_share
from headrace.bench.runtimes import PEERS, thread_variables
from headrace.errors import BenchError

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

MODEL = model(
    [node("Add", "x x", "y")],
    inputs=(info("x", ("batch", 3)),),
    outputs=(info("y", None),),
)


def comparison(threads: int, ratio: float) -> Comparison:
    ours = Measured(Spread(0.002 * ratio, 0.0015, 0.004), Spread(0.3, 0.25, 0.4), 80_000_000)
    peer = Measured(Spread(0.002, 0.0015, 0.004), Spread(0.1, 0.05, 0.2), 100_000_000)
    loads, later = Spread(2.5, 2.25, 3.0), Spread(0.05, 0.04, 0.06)
    ratios = Spread(ratio, 0.5, 1.5), loads, Spread(0.5, 0.25, 0.75)
    return Comparison(threads, ours, peer, later, *ratios, 2e-7, 1.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks to be measured, in place of measuring it."""
    seen: dict[str, Any] = {}

    def compare(path: Path, feeds: Any, **options: Any) -> tuple[Comparison, ...]:
        seen.update(options, path=path, feeds=feeds)
        return tuple(comparison(count, 0.75 * count) for count in options["threads"])

    monkeypatch.setattr("headrace.bench.compare", compare)
    return seen


def test_it_prints_four_rows_for_each_number_of_threads(
    headrace: Headrace, save: Save, asked: dict[str, Any]
) -> None:
    """Calls and both loads with their ratio and its spread, memory; then how outputs differ."""
    result = headrace("bench", save(MODEL), "--device", "near", "--threads", "1,2")

    assert result.exit_code == 0, result.output
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()[2:]]
    assert rows == [
        "1 a call, ms 1.500 (1.500 .. 4.000) 2.000 (1.500 .. 4.000) 0.75 0.50 .. 1.50",
        "first load, ms 300.000 (250.000 .. 400.000) 100.000 (50.000 .. 200.000) 2.50 2.25 .. 3.00",
        "next load, ms 50.000 (40.000 .. 60.000) 100.000 (50.000 .. 200.000) 0.50 0.25 .. 0.75",
        "peak memory, MB 80.0 100.0 0.80",
        "2 a call, ms 3.000 (1.500 .. 4.000) 2.000 (1.500 .. 4.000) 1.50 0.50 .. 1.50",
        "first load, ms 300.000 (250.000 .. 400.000) 100.000 (50.000 .. 200.000) 2.50 2.25 .. 3.00",
        "next load, ms 50.000 (40.000 .. 60.000) 100.000 (50.000 .. 200.000) 0.50 0.25 .. 0.75",
        "peak memory, MB 80.0 100.0 0.80",
        "on near:0; outputs differ by 2.0e-07 of the largest",
    ]
    assert asked["threads"] == (1, 2)


def test_shapes_and_sizes_are_those_that_were_asked_for(
    headrace: Headrace, save: Save, asked: dict[str, Any]
) -> None:
    """``--shape`` gives a whole shape, ``--dim`` a size by its name, a file its own."""
    path = save(MODEL)
    for words, shape in ((("--shape", "x=4,3"), (4, 3)), (("--dim", "batch=2"), (2, 3))):
        assert headrace("bench", path, "--device", "near", *words).exit_code == 0
        assert asked["feeds"]["x"].shape == shape


def test_a_file_holds_what_the_table_shows(
    headrace: Headrace, save: Save, asked: dict[str, Any], tmp_path: Path
) -> None:
    """With ``--json``, for programs."""
    file = tmp_path / "measured.json"
    result = headrace(
        "bench", save(MODEL), "--device", "near", "--rounds", 3, "--loads", 2, "--json", file
    )

    assert result.exit_code == 0, result.output
    document = json.loads(file.read_text("utf-8"))
    assert document["rounds"] == asked["rounds"] == 3
    assert document["loads"] == asked["loads"] == 2
    assert document["inputs"] == {"x": ["float32", 1, 3]}
    (measured,) = document["compared"]
    assert measured["ratio"] == {"median": 0.75, "p10": 0.5, "p90": 1.5}
    assert measured["load_ratio"] == {"median": 2.5, "p10": 2.25, "p90": 3.0}
    assert measured["next_load_ratio"] == {"median": 0.5, "p10": 0.25, "p90": 0.75}


def test_a_peer_that_is_missing_is_said_before_anything_is_measured(
    headrace: Headrace, save: Save, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that brings it."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "onnxruntime" else found(name)
    )
    result = headrace("bench", save(MODEL), "--device", "near")

    assert result.exit_code == 1
    assert "pip install onnxruntime" in result.stderr
    assert not asked


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--threads", "0"), "numbers of threads"),
        (("--threads", "two"), "numbers of threads"),
        (("--shape", "x"), "x=1,3,224,224"),
        (("--shape", "x=1,b"), "x=1,3,224,224"),
        (("--shape", "z=1"), "inputs are 'x'"),
        (("--shape", "x=1,3", "--shape", "x=2,3"), "given already"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    headrace: Headrace, save: Save, asked: dict[str, Any], words: tuple[str, ...], said: str
) -> None:
    """As wrong options are, before anything is measured."""
    result = headrace("bench", save(MODEL), "--device", "near", *words)

    assert result.exit_code == 2
    assert said in result.stderr
    assert not asked


def test_a_backend_is_told_its_threads_by_a_variable_of_its_tag() -> None:
    """Which core makes of the tag, whatever that is."""
    assert thread_variables("my-chip:1", 3)["HEADRACE_MY_CHIP_THREADS"] == "3"


def test_differences_are_of_the_largest_magnitude() -> None:
    """Equal infinities and NaNs are no difference; one of them alone is the largest there is."""
    ones = np.array([1, 2, np.nan, np.inf], np.float32)
    assert difference({"y": ones}, {"y": ones.copy()}) == 0
    assert difference({"y": np.array([1.0])}, {"y": np.array([4.0])}) == 0.75
    assert difference({"y": np.array([np.nan])}, {"y": np.array([4.0])}) == np.inf
    with pytest.raises(BenchError, match=r"\[1\] and \[2\]"):
        difference({"y": np.zeros(1)}, {"y": np.zeros(2)})


def test_every_peer_can_be_asked_for() -> None:
    """The command names them without importing what runs them."""
    assert tuple(PEERS) == importlib.import_module("headrace.cli.bench").PEERS


def test_numbers_that_are_not_finite_are_no_agreement() -> None:
    """The share of finite numbers is that of the output with the fewest, in both runtimes."""
    y, nan = np.array([1.0, 2.0, np.nan, 4.0]), np.full(2, np.nan)
    assert finite_share({"y": np.ones(4)}, {"y": np.ones(4)}) == 1
    assert finite_share({"y": y, "z": np.ones(2)}, {"y": y[::-1], "z": np.ones(2)}) == 0.5
    assert finite_share({"y": nan}, {"y": nan}) == 0
    assert finite_share({"y": np.zeros(0)}, {"y": np.zeros(0)}) == 1
