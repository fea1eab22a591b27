"""What a run gives back: as a table, and as files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from headrace.tensor_spec import Array

LONGEST_NAME = 120
"""Characters of a file name made of an output's name; file systems take 255 bytes."""


def show_outputs(outputs: Mapping[str, Any]) -> None:
    """Print a table: a row for each output, with its kind, shape and range of numbers."""
    from headrace.cli.show import print_table

    numbers = ("min", "mean", "max")
    rows = [(name, *_described(value)) for name, value in outputs.items()]
    print_table(("output", "dtype", "shape", *numbers), rows, right=numbers)


def _described(value: Any) -> tuple[object, ...]:
    """Kind, shape and numbers; text, and lists of tensors or maps, have no numbers."""
    if isinstance(value, list):
        return "list", [len(value)], "-", "-", "-"
    if value.dtype.kind == "O":
        return "text", list(value.shape), "-", "-", "-"
    return value.dtype.name, list(value.shape), *_statistics(value)


def _statistics(array: Array) -> tuple[str, str, str]:
    import numpy as np

    if array.size == 0:
        return "-", "-", "-"
    if array.dtype.kind in "iu":
        return str(array.min()), f"{array.mean():.6g}", str(array.max())
    values = array.astype(np.float64)
    with np.errstate(all="ignore"):
        return f"{values.min():.6g}", f"{values.mean():.6g}", f"{values.max():.6g}"


def write_outputs(outputs: Mapping[str, Any], folder: Path) -> None:
    """Write each output to ``folder`` and say where."""
    import numpy as np

    from headrace.cli.show import escape

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for (name, array), file in zip(outputs.items(), file_names(outputs), strict=True):
            if isinstance(array, list):
                click.echo(escape(f"{name} is a list, which no .npy file holds: not written"))
                continue
            stored = _storable(array)
            np.save(folder / file, stored, allow_pickle=False)
            changed = "" if stored is array else f" ({array.dtype.name} as {stored.dtype.name})"
            click.echo(escape(f"{name} -> {folder / file}{changed}"))
    except OSError as error:
        raise click.FileError(str(error.filename or folder), error.strerror) from None


def _storable(array: Array) -> Array:
    """The array, in a dtype that .npy files know: they lose the name of those numpy lacks."""
    import numpy as np

    if array.dtype.kind == "O":
        return array.astype(np.str_)
    kept = np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(array.dtype))
    return array if kept == array.dtype else array.astype(np.float32)


def file_names(names: Sequence[str] | Mapping[str, object]) -> list[str]:
    """A file name for each output: safe on every system, all different.

    Names in models hold slashes, colons, spaces, even JSON.

    Example:
        >>> file_names(["logits:0", "a/b", "a b", ".."])
        ['logits_0.npy', 'a_b.npy', 'a_b-2.npy', 'output.npy']
    """
    taken: set[str] = set()
    files = []
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:LONGEST_NAME].strip("._-") or "output"
        if re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", stem):
            stem = f"_{stem}"  # devices, on Windows
        candidate, number = stem, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{stem}-{number}"
        taken.add(candidate.casefold())
        files.append(f"{candidate}.npy")
    return files
