"""What the user said should become of ops that their device cannot run."""

from __future__ import annotations

import os

from headrace.compiler.decision import Fallback
from headrace.errors import JobError, SettingError

VARIABLE = "HEADRACE_FALLBACK"


def fallback_of(given: str | None) -> Fallback:
    """The policy ``given``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.

    Raises:
        JobError: it is none.
        SettingError: the variable is none.

    Example:
        >>> str(fallback_of("warn"))
        'warn'
    """
    text = given if given is not None else os.environ.get(VARIABLE) or Fallback.ERROR
    try:
        return Fallback(text)
    except ValueError:
        known = f"one of {', '.join(Fallback)}"
        if given is None:
            raise SettingError(VARIABLE, text, known) from None
        raise JobError(f"fallback is {text!r}; it must be {known}") from None
