"""``fail``: an error that says which call it is about."""

from __future__ import annotations

from typing import NoReturn

from headrace.errors import OpError, ShapeError
from headrace.op_call import OpCall


def fail(call: OpCall, message: str, kind: type[OpError] = ShapeError) -> NoReturn:
    """Raise ``kind`` with the op, node and place of ``call`` in front of ``message``."""
    raise kind(f"{call}: {message}")
