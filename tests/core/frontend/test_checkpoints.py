"""Folders of values: written whole, read with suspicion."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as flow
from headrace.dtypes import ALL
from headrace.errors import CheckpointError
from headrace.frontend.checkpoint import write

VALUES = {
    "dense/weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "dense/bias": np.array([1, -2], np.int64),
    "step": np.array(7, np.int32),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of three variables."""
    write(tmp_path / "saved", VALUES)
    return tmp_path / "saved"


def test_what_is_written_is_read(folder: Path) -> None:
    """Names, shapes, dtypes and every bit."""
    read = flow.checkpoint.get(folder)
    assert read.keys() == VALUES.keys()
    for name, value in VALUES.items():
        assert (read[name].dtype, read[name].shape) == (value.dtype, value.shape)
        assert read[name].tobytes() == value.tobytes()


def test_the_files_are_those_of_the_documented_system(folder: Path) -> None:
    """Raw little-endian elements in ``out``, shape and dtype as protobuf text in ``meta``."""
    assert (folder / "dense/weight/out").read_bytes() == VALUES["dense/weight"].tobytes()
    text = "shape {\n  dim: 2\n  dim: 3\n}\ndata_type: kFloat\n"
    assert (folder / "dense/weight/meta").read_text("utf-8") == text
    assert (folder / "snapshot_done").read_bytes() == b""


def test_meta_may_be_written_in_any_layout(folder: Path) -> None:
    """Spaces and lines of a protobuf text mean nothing."""
    (folder / "dense/weight/meta").write_text("shape{dim:2 dim :3}data_type:kFloat", "utf-8")
    np.testing.assert_array_equal(
        flow.checkpoint.get(folder)["dense/weight"], VALUES["dense/weight"]
    )


@pytest.mark.parametrize("dtype", sorted(ALL), ids=str)
def test_every_dtype_is_stored(tmp_path: Path, dtype: object) -> None:
    """Also those that OneFlow did not know."""
    value = np.array([0, 1], dtype.numpy)
    write(tmp_path / "saved", {"x": value})
    read = flow.checkpoint.get(tmp_path / "saved")["x"]
    assert (read.dtype, read.tobytes()) == (value.dtype, value.tobytes())


def test_big_endian_and_strided_values_are_stored_alike(tmp_path: Path) -> None:
    """What is stored is the value, not how it lay in memory."""
    value = np.arange(6, dtype=">i4").reshape(2, 3).T
    write(tmp_path / "saved", {"x": value})
    np.testing.assert_array_equal(flow.checkpoint.get(tmp_path / "saved")["x"], value)


def test_a_folder_is_never_written_over(folder: Path) -> None:
    """What is there stays as it was, and nothing is left beside it."""
    with pytest.raises(CheckpointError, match="is there already; write to a new folder"):
        write(folder, {"x": np.zeros(1)})
    assert flow.checkpoint.get(folder).keys() == VALUES.keys()
    assert [path.name for path in folder.parent.iterdir()] == ["saved"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    """As one made to receive it."""
    write(tmp_path, {"x": np.zeros(1)})
    assert flow.checkpoint.get(tmp_path).keys() == {"x"}


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither the folder nor the one that it was prepared in."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be written"):
        write(tmp_path / "file/saved", {"x": np.zeros(1)})
    with pytest.raises(CheckpointError, match="cannot be written"):
        write(tmp_path / "saved", {"a": np.zeros(1), "b" * 300: np.zeros(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _link_out(folder: Path) -> None:
    out = folder / "dense/bias/out"
    secret = folder.parent / "secret"
    secret.write_bytes(out.read_bytes())
    out.unlink()
    out.symlink_to(secret)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "unfinished": (lambda f: (f / "snapshot_done").unlink(), "has no file 'snapshot_done'"),
    "cut": (
        lambda f: (f / "dense/bias/out").write_bytes(b"\0" * 15),
        r"'dense/bias'.* 'out' has 15 bytes; 'meta' says int64\[2\], which is 16",
    ),
    "longer": (
        lambda f: (f / "dense/bias/out").write_bytes(b"\0" * 17), "has 17 bytes",
    ),
    "huge": (
        lambda f: (f / "step/meta").write_text("shape{dim:999999999999}data_type:kFloat"),
        "which is 3999999999996",
    ),
    "no meta": (lambda f: (f / "step/meta").unlink(), "'step'.* file 'meta' is missing"),
    "no out": (lambda f: (f / "step/out").unlink(), "'step'.* file 'out' is missing"),
    "dtype": (
        lambda f: (f / "step/meta").write_text("shape{}data_type:kOFRecord"),
        "'step'.* 'meta': .*kOFRecord",
    ),
    "text": (lambda f: (f / "step/meta").write_bytes(b"\xff\x00"), "does not say shape"),
    "minus": (
        lambda f: (f / "step/meta").write_text("shape{dim:-1}data_type:kInt32"),
        "does not say shape",
    ),
    "rank": (
        lambda f: (f / "step/meta").write_text("shape{" + "dim:1 " * 99 + "}data_type:kInt32"),
        "rank 99",
    ),
    "long meta": (
        lambda f: (f / "step/meta").write_text(" " * 70_000), "longer than 65536 bytes",
    ),
    "link": (_link_out, "'dense/bias'.*'out' lies elsewhere"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_refused(folder: Path, damage: str) -> None:
    """The error names the variable and the file; nothing is read from elsewhere."""
    plant, message = DAMAGE[damage]
    plant(folder)
    with pytest.raises(CheckpointError, match=message):
        flow.checkpoint.get(folder)


@given(text=st.text(max_size=60) | st.from_regex(r"shape ?\{( dim: ?\d+)*\} ?data_type: ?k\w+"))
def test_no_meta_ends_in_anything_but_a_checkpoint_error(text: str) -> None:
    """Whatever the file says."""
    with tempfile.TemporaryDirectory() as made:
        write(Path(made) / "saved", {"x": np.zeros((1, 0), np.float32)})
        (Path(made) / "saved/x/meta").write_text(text, "utf-8", "surrogatepass")
        with contextlib.suppress(CheckpointError):
            flow.checkpoint.get(Path(made) / "saved")


@pytest.mark.parametrize("path", ["nowhere", "file"])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, path: str) -> None:
    """A folder that is not there, and a file."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match="holds no values of variables"):
        flow.checkpoint.get(tmp_path / path)
