"""The folder in which the values of variables are stored: its layout, written and read.

For each variable there is a folder with the variable's name, in it the file ``out``, the elements
row by row and little end first, and the file ``meta``, which says shape and dtype as OneFlow does,
in a protobuf text. An empty file ``snapshot_done`` says that the folder is whole. A name with
slashes is a path of folders.

What is read may come from anywhere: nothing outside the folder is opened, and the length of a file
is compared with what its ``meta`` says before any of it is read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from headrace.dtypes import DType, dtype_of
from headrace.errors import CheckpointError, DTypeError, ShapeError
from headrace.tensor_spec import Array, TensorSpec

OUT, META, DONE = "out", "meta", "snapshot_done"
META_LIMIT_BYTES = 1 << 16

# The documented names; other dtypes have a name of the same form.
_NAMES = {
    "float32": "kFloat", "float64": "kDouble", "int8": "kInt8", "int32": "kInt32",
    "int64": "kInt64", "uint8": "kUInt8", "float16": "kFloat16",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}

_META = re.compile(
    r"\s*shape\s*\{(?P<dims>(?:\s*dim\s*:\s*\d+)*)\s*\}\s*data_type\s*:\s*(?P<dtype>\w+)\s*"
)


def write_values(path: Path, values: Mapping[str, Array]) -> None:
    """Write a new folder, whole or not at all.

    Raises:
        CheckpointError: ``path`` is a file or a folder with something in it, or cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise CheckpointError(
            f"{path} is there already; write to a new folder, or remove the old one first"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            for name, value in values.items():
                _write_value(beside.joinpath(*name.split("/")), value)
            _write(beside / DONE, b"")
            beside.chmod(0o777 & ~_umask())
            os.replace(beside, path)  # takes the place of an empty folder, and of nothing else
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise CheckpointError(f"{path} cannot be written: {error}") from error


def read_values(path: Path) -> dict[str, Array]:
    """All values in a folder by the names of their variables, sorted; arrays of the caller's own.

    Raises:
        CheckpointError: it is no folder that ``write_values`` finished, or a file in it is damaged,
            has another length than its ``meta`` says, or lies elsewhere.
    """
    if not (path / DONE).is_file():
        raise CheckpointError(
            f"{path} holds no values of variables: it has no file {DONE!r}, which is written last"
        )
    try:
        return {name: _read_value(path, folder, name) for name, folder in _folders(path)}
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _folders(path: Path) -> Iterator[tuple[str, Path]]:
    for folder, inner, files in os.walk(path):  # follows no links
        inner.sort()
        if META in files or OUT in files:
            yield Path(folder).relative_to(path).as_posix(), Path(folder)


def _write_value(folder: Path, value: Array) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    spec = TensorSpec.of(value)
    little = np.ascontiguousarray(value)
    little = little.astype(little.dtype.newbyteorder("<"), copy=False)
    dims = "".join(f"  dim: {dim}\n" for dim in spec.shape)
    _write(folder / OUT, little.tobytes())
    _write(folder / META, f"shape {{\n{dims}}}\ndata_type: {_name(spec.dtype)}\n".encode())


def _write(file: Path, data: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _read_value(root: Path, folder: Path, name: str) -> Array:
    meta, out = folder / META, folder / OUT
    for file in (meta, out):
        if not file.is_file():
            raise CheckpointError(f"variable {name!r} in {root}: file {file.name!r} is missing")
        if file.is_symlink() or root.resolve() not in file.resolve().parents:
            raise CheckpointError(f"variable {name!r} in {root}: {file.name!r} lies elsewhere")
    spec = _read_meta(meta, f"variable {name!r} in {root}")
    nbytes = out.stat().st_size
    if nbytes != spec.nbytes:
        raise CheckpointError(
            f"variable {name!r} in {root}: {OUT!r} has {nbytes} bytes; {META!r} says {spec}, which "
            f"is {spec.nbytes}"
        )
    data = np.fromfile(out, np.uint8).view(spec.dtype.numpy.newbyteorder("<"))
    return np.asarray(data.astype(spec.dtype.numpy, copy=False).reshape(spec.shape))


def _read_meta(file: Path, who: str) -> TensorSpec:
    if file.stat().st_size > META_LIMIT_BYTES:
        raise CheckpointError(f"{who}: {META!r} is longer than {META_LIMIT_BYTES} bytes")
    text = file.read_bytes().decode("utf-8", "replace")
    found = _META.fullmatch(text)
    if found is None:
        raise CheckpointError(f"{who}: {META!r} does not say shape and data_type: {text[:60]!r}")
    dims = re.findall(r"\d+", found["dims"])
    try:
        return TensorSpec([int(dim) for dim in dims], _dtype(found["dtype"]))
    except (DTypeError, ShapeError, ValueError) as error:
        raise CheckpointError(f"{who}: {META!r}: {error}") from error


def _name(dtype: DType) -> str:
    return _NAMES.get(dtype.name, f"k_{dtype.name}")


def _dtype(name: str) -> DType:
    return dtype_of(_DTYPES.get(name, name.removeprefix("k_")))


def _umask() -> int:
    current = os.umask(0o077)  # can only be read by setting it
    os.umask(current)
    return current
