"""``headrace run`` and ``headrace plan``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result
from onnx import ModelProto, TensorProto
from onnx_models import info, model, node

from headrace.cli.outputs import file_names, write_outputs

Headrace = Callable[..., Result]
Save = Callable[[ModelProto], Path]

RELU = model([node("Relu", "x", "y")])
OPEN = model(
    [node("Add", "x x", "y"), node("Relu", "mask", "z")],
    inputs=(info("x", ("batch", 3)), info("mask", ("batch",))),
    outputs=(info("y", None), info("z", None)),
)


def saved(folder: Path, array: np.ndarray) -> Path:
    path = folder / "x=1.npy"  # a path may hold '='
    np.save(path, array)
    return path


def test_outputs_are_a_table(headrace: Headrace, save: Save, tmp_path: Path) -> None:
    """Name, dtype, shape, min, mean and max of each output, then the times and the device."""
    x = saved(tmp_path, np.array([[-1, 2, 4], [0, 0, 0]], np.float32))
    result = headrace("run", save(RELU), "--device", "near:1", "--input", f"x={x}")
    lines = result.stdout.splitlines()

    assert result.exit_code == 0, result.output
    assert lines[0].split() == ["output", "dtype", "shape", "min", "mean", "max"]
    assert lines[2].split() == ["y", "float32", "[2,", "3]", "0", "1", "4"]
    assert lines[-1].startswith("ready in ")
    assert lines[-1].endswith(" on near:1")


def test_random_inputs_are_the_same_for_the_same_seed(headrace: Headrace, save: Save) -> None:
    """A seed is a promise: equal seeds give equal tables, another seed another one."""
    path = save(RELU)

    def row(seed: int) -> str:
        result = headrace("run", path, "--device", "far", "--random-inputs", seed)
        assert result.exit_code == 0, result.output
        return result.stdout.splitlines()[2]

    assert row(7) == row(7)
    assert row(7) != row(8)


@pytest.mark.parametrize(
    ("words", "shapes"),
    [
        ((), ["[1, 3]", "[1]"]),
        (("--dim", "batch=4"), ["[4, 3]", "[4]"]),
        (("--dim", "batch=0"), ["[0, 3]", "[0]"]),
    ],
)
def test_open_dimensions_are_one_or_what_is_said(
    headrace: Headrace, save: Save, words: tuple[str, ...], shapes: list[str]
) -> None:
    """``--dim`` decides everywhere the model uses the name; an empty output has no numbers."""
    result = headrace("run", save(OPEN), "--device", "near", "--random-inputs", 0, *words)
    rows = result.stdout.splitlines()[2:4]

    assert result.exit_code == 0, result.output
    assert [shape in row for shape, row in zip(shapes, rows, strict=True)] == [True, True]
    assert all((row.split()[-1] == "-") == ("[0" in row) for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dim", "batch=99999999999999999999"), "random inputs have at most"),
        (("--dim", "batch=2", "--dim", "batch=3"), "'batch' twice"),
    ],
)
def test_dimensions_that_cannot_be_are_refused(
    headrace: Headrace, save: Save, words: tuple[str, ...], message: str
) -> None:
    """Sizes beyond the limit are refused before anything is drawn, and so are two for one name."""
    result = headrace("run", save(OPEN), "--device", "near", "--random-inputs", 0, *words)

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_given_array_decides_the_dimensions_of_the_others(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """``mask`` is made as long as the ``x`` of the user."""
    x = saved(tmp_path, np.ones((5, 3), np.float32))
    result = headrace(
        "run", save(OPEN), "--device", "near", "--input", f"x={x}", "--random-inputs", 0
    )

    assert result.exit_code == 0, result.output
    assert "[5]" in result.stdout.splitlines()[3]


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("far:1-9", "there is no device far:2"),
        ("far:1-0", "'0:1-0' ends before it begins"),
        ("far:0-", "'far:0-' is not a device"),
    ],
)
def test_a_range_that_is_none_is_refused(
    headrace: Headrace, save: Save, device: str, message: str
) -> None:
    """And says what is wrong with it."""
    result = headrace("run", save(RELU), "--device", device, "--random-inputs", 0)
    assert result.exit_code != 0
    assert message in result.stderr


def test_outputs_are_written_as_files(headrace: Headrace, save: Save, tmp_path: Path) -> None:
    """One .npy file for each output, in a folder that is made, and the path is printed."""
    x = saved(tmp_path, np.array([[-1, 2, 4]] * 2, np.float32))
    out = tmp_path / "new" / "out"
    result = headrace("run", save(RELU), "--device", "near", "--input", f"x={x}", "--output", out)

    assert result.exit_code == 0, result.output
    assert f"y -> {out / 'y.npy'}" in result.stdout
    assert np.load(out / "y.npy").tolist() == [[0, 2, 4]] * 2


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["y"], ["y"]),
        (["a/b:0", "../../etc/x", "..", ""], ["a_b_0", "etc_x", "output", "output-2"]),
        (["a b", "a/b", "A_B", "a_b-2"], ["a_b", "a_b-2", "A_B-3", "a_b-2-2"]),
        (['{"k": [1]}', "nul", "Com1.x", "é"], ["k_1", "_nul", "_Com1.x", "output"]),
        (["x" * 500, "x" * 501], ["x" * 120, "x" * 120 + "-2"]),
    ],
)
def test_output_names_make_safe_file_names(names: list[str], files: list[str]) -> None:
    """No folder is left, no file is overwritten, on no system."""
    assert file_names(names) == [f"{file}.npy" for file in files]


def test_a_dtype_that_npy_files_lack_is_widened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """bfloat16 would come back as raw bytes; it is stored as float32, and the line says so."""
    write_outputs({"y": np.array([1.5, -2], ml_dtypes.bfloat16)}, tmp_path)

    stored = np.load(tmp_path / "y.npy")
    assert (stored.dtype, stored.tolist()) == (np.float32, [1.5, -2])
    assert "(bfloat16 as float32)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--device", "near"), 2, "--input x=FILE.npy"),
        (("--device", "nearr", "--random-inputs", "0"), 2, "no backend 'nearr'; installed"),
        (("--device", "near:9", "--random-inputs", "0"), 2, "near:9"),
        (("--device", "near:x", "--random-inputs", "0"), 2, "'near:x' is not a device"),
        (("--device", "near", "--input", "x"), 2, "does not begin with the name of an input"),
        (("--device", "near", "--input", "q=a.npy"), 2, "the model's inputs are 'x'"),
        (("--device", "near", "--input", "x=no.npy"), 2, "there is no file 'no.npy'"),
        (("--device", "near", "--random-inputs", "-1"), 2, "--random-inputs"),
        (("--device", "near", "--random-inputs", "0", "--dim", "n=2"), 2, "open are none"),
        (("--device", "near", "--random-inputs", "0", "--dim", "n"), 2, "is not NAME=N"),
    ],
)
def test_bad_words_are_named(
    headrace: Headrace, save: Save, words: tuple[str, ...], code: int, says: str
) -> None:
    """Each ends with code 2 and a message that holds what was wrong; no traceback."""
    result = headrace("run", save(RELU), *words)

    assert result.exit_code == code
    assert says in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("kind", ["text", "truncated", "several", "objects", "dtype", "shape"])
def test_bad_arrays_are_named(headrace: Headrace, save: Save, tmp_path: Path, kind: str) -> None:
    """A file that is no array, or not one for this input, is an input error that names it."""
    path = tmp_path / "bad.npy"
    match kind:
        case "text":
            path.write_text("1 2 3", "utf-8")
        case "truncated":
            np.save(path, np.zeros((2, 3), np.float32))
            path.write_bytes(path.read_bytes()[:-4])
        case "several":
            np.savez(tmp_path / "bad", a=np.zeros(2))
            (tmp_path / "bad.npz").rename(path)
        case "objects":
            np.save(path, np.array([{}], object), allow_pickle=True)
        case "dtype":
            np.save(path, np.zeros((2, 3), np.int64))
        case "shape":
            np.save(path, np.zeros((2, 4), np.float32))
    result = headrace("run", save(RELU), "--device", "near", "--input", f"x={path}")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "input 'x'" in result.stderr
    assert result.stderr.count("\n") == 1


def test_one_input_twice_is_an_error(headrace: Headrace, save: Save, tmp_path: Path) -> None:
    """The last would win in silence."""
    x = saved(tmp_path, np.zeros((2, 3), np.float32))
    result = headrace("run", save(RELU), "--device", "near", *["--input", f"x={x}"] * 2)

    assert (result.exit_code, result.stderr) == (2, "error: --input gives 'x' twice\n")


@pytest.mark.parametrize("content", [b"", b"not a model", RELU.SerializeToString()[:-9]])
def test_a_file_that_is_no_model_is_an_error(
    headrace: Headrace, tmp_path: Path, content: bytes
) -> None:
    """One line that names the file, and code 2."""
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    result = headrace("run", path, "--device", "near", "--random-inputs", "0")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "broken.onnx" in result.stderr


def test_a_model_that_is_not_there_is_a_usage_error(headrace: Headrace, tmp_path: Path) -> None:
    """One line that names it, code 2."""
    result = headrace("run", tmp_path / "none.onnx", "--device", "near")

    assert result.exit_code == 2
    assert "does not exist" in result.stderr


def test_a_folder_that_cannot_be_written_is_an_error(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """The file in the way is named; code 1."""
    (tmp_path / "file").write_text("in the way", "utf-8")
    result = headrace(
        "run", save(RELU), "--device", "near", "--random-inputs", 0, "--output", tmp_path / "file/x"
    )

    assert result.exit_code == 1
    assert str(tmp_path / "file") in result.stderr.replace("\n", "")


def test_control_characters_of_a_name_are_written_out(headrace: Headrace, save: Save) -> None:
    """A model cannot make the terminal obey."""
    path = save(model([node("Relu", "x", "\x1b[2J")], outputs=(info("\x1b[2J", None),)))

    for words in (("run", path, "--random-inputs", "0"), ("plan", path)):
        result = headrace(*words, "--device", "near")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
        assert "\\x1b[2J" in result.stdout


def test_a_model_whose_values_decide_shapes_is_run(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """Its jobs are compiled one after another; what says one plan tells that there is none."""
    path = save(model([node("NonZero", "x", "y")], outputs=(info("y", None, TensorProto.INT64),)))
    x = saved(tmp_path, np.array([[0, 2, 4], [0, 0, 1]], np.float32))
    result = headrace("run", path, "--device", "near", "--input", f"x={x}")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2].split()[:5] == ["y", "int64", "[2,", "3]", "0"]

    refused = headrace("plan", path, "--device", "near", "--input", f"x={x}")
    assert refused.exit_code == 1
    assert "runs in stages" in refused.output


def test_plan_is_the_text_of_the_plan(headrace: Headrace, save: Save) -> None:
    """The dump for the shapes that ``--dim`` asks for, on the device that ``--device`` names."""
    result = headrace("plan", save(OPEN), "--device", "far:1", "--dim", "batch=6")

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("plan ")
    assert "on far:1/s0" in result.stdout
    assert "float32[6, 3]" in result.stdout


def test_plan_takes_values_that_decide_shapes(
    headrace: Headrace, save: Save, tmp_path: Path
) -> None:
    """Where a shape is an input, ``--input`` gives it."""
    path = save(
        model(
            [node("Reshape", "x shape", "y")],
            inputs=(info("x", (2, 3)), info("shape", (1,), TensorProto.INT64)),
        )
    )
    shape = saved(tmp_path, np.array([6], np.int64))
    result = headrace("plan", path, "--device", "near", "--input", f"shape={shape}")

    assert result.exit_code == 0, result.output
    assert "float32[6]" in result.stdout
