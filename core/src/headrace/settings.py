"""Reading variables of the environment. One that is set to nothing is one that is not set."""

from __future__ import annotations

import os

from headrace.errors import SettingError


def flag(variable: str, default: bool) -> bool:
    """A variable that is 0 or 1.

    Raises:
        SettingError: it is neither.
    """
    text = os.environ.get(variable, "")
    if text not in ("", "0", "1"):
        raise SettingError(variable, text, "0 or 1")
    return text == "1" if text else default


def nbytes(variable: str, allowed: str = "a number of bytes, for example 4000000000") -> int | None:
    """A variable that is a number of bytes; None when it is not set.

    Raises:
        SettingError: it is something else; says what is ``allowed``.
    """
    text = os.environ.get(variable, "")
    if text and not (text.isascii() and text.isdecimal()):
        raise SettingError(variable, text, allowed)
    return int(text) if text else None
