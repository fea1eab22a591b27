"""``headrace.checkpoint``: what variables hold, stored in a folder and read again.

A checkpoint knows names, shapes and dtypes, and nothing of devices: it is the same wherever the
variables lay, and fits wherever they will lie.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import CheckpointError, InputError
from headrace.frontend.feeds import as_feed
from headrace.frontend.variable_files import read_values, write_values
from headrace.tensor_spec import Array, TensorSpec

if TYPE_CHECKING:
    from headrace.frontend.session import Session

__all__ = ["get", "save"]


def save(path: str | os.PathLike[str], session: Session | None = None) -> None:
    """Write what all variables of a session hold to a new folder, whole or not at all.

    Calls under way are finished first, and others wait, so that all is of one moment.

    Args:
        path: the folder; it must not be there yet, or be empty.
        session: default: the default session.

    Raises:
        CheckpointError: the folder is there already, or cannot be written.
        SessionError: the session is closed.
    """
    from headrace.frontend.global_function import default_session

    (session or default_session()).save_variables(path)


def get(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Read a folder that ``save`` wrote: arrays by the names of variables, the caller's own.

    Give it to ``headrace.load_variables``, whole or in parts.

    Raises:
        CheckpointError: it is no such folder, or is damaged; names the variable and the file.
    """
    return read_values(Path(path))


def write(path: str | os.PathLike[str], values: Mapping[str, Array]) -> None:
    """Write a folder that ``get`` reads; raises as ``save``."""
    write_values(Path(path), values)


def fit(
    values: Mapping[str, object],
    specs: Mapping[str, TensorSpec],
    ignore_mismatch: bool,
    hint: str = "",
) -> dict[str, Array]:
    """The values that variables take; see ``Session.load_variables``.

    Args:
        values: by name.
        specs: of the variables.
        ignore_mismatch: names on one side only are no error.
        hint: put behind a message about a name that is no variable.

    Raises:
        CheckpointError: names, shapes or dtypes do not fit.
    """
    unknown = [name for name in values if name not in specs]
    missing = [name for name in specs if name not in values]
    if unknown and not ignore_mismatch:
        close = difflib.get_close_matches(unknown[0], specs)
        there = " or ".join(map(repr, close)) or ", ".join(map(repr, specs)) or "none"
        raise CheckpointError(
            f"no variable is called {unknown[0]!r}; there is {there}{hint}. Leave the value out, "
            "or say ignore_mismatch=True"
        )
    if missing and not ignore_mismatch:
        raise CheckpointError(
            f"there is no value for variable {', '.join(map(repr, missing))}; give one, or say "
            "ignore_mismatch=True to leave it as it is"
        )
    try:
        return {
            name: as_feed(f"variable {name!r}", value, specs[name])
            for name, value in values.items()
            if name in specs
        }
    except InputError as error:
        raise CheckpointError(str(error)) from None
