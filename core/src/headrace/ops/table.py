"""The table of all ops, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.errors import UnknownOpError
from headrace.ops.families import FamilyTable

if TYPE_CHECKING:
    from headrace.ops.schema import Op

OPS: Mapping[str, type[Op]] = FamilyTable(
    lambda family: {op.name: op for op in family.OPS}, "headrace.ops"
)
"""Every op by name."""


def get_op(name: str) -> type[Op]:
    """Return the op called ``name``.

    Raises:
        UnknownOpError: there is none; names those that look alike.
    """
    try:
        return OPS[name]
    except KeyError:
        from difflib import get_close_matches

        close = get_close_matches(name, OPS)
        hint = f"did you mean {' or '.join(close)}?" if close else "see headrace.ops.OPS"
        raise UnknownOpError(f"no op is called {name!r}; {hint}") from None
