"""What the user said may be done to save memory."""

from __future__ import annotations

import os

from headrace.compiler.memory.options import MemoryOptions
from headrace.errors import JobError

INPLACE_VARIABLE = "HEADRACE_ENABLE_INPLACE"
REUSE_VARIABLE = "HEADRACE_ENABLE_REUSE_MEM"


def memory_options_of(inplace: bool | None = None, reuse: bool | None = None) -> MemoryOptions:
    """The options as given; for None, what the environment says, else that it may.

    Raises:
        JobError: a variable is neither 0 nor 1.

    Example:
        >>> memory_options_of(inplace=False, reuse=True)
        MemoryOptions(inplace=False, reuse=True)
    """
    return MemoryOptions(_flag(inplace, INPLACE_VARIABLE), _flag(reuse, REUSE_VARIABLE))


def _flag(given: bool | None, variable: str) -> bool:
    if given is not None:
        return given
    text = os.environ.get(variable) or "1"
    if text not in ("0", "1"):
        raise JobError(f"{variable} is {text!r}; it must be 0 or 1")
    return text == "1"
