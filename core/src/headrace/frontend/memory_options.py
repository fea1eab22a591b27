"""What the user said may be done to save memory."""

from __future__ import annotations

from headrace.compiler.memory.options import MemoryOptions
from headrace.errors import JobError
from headrace.settings import flag

INPLACE_VARIABLE = "HEADRACE_ENABLE_INPLACE"
REUSE_VARIABLE = "HEADRACE_ENABLE_REUSE_MEM"


def memory_options_of(inplace: bool | None = None, reuse: bool | None = None) -> MemoryOptions:
    """The options as given; for None, what the environment says, else that it may.

    Raises:
        JobError: an option is neither True, False nor None.
        SettingError: a variable is neither 0 nor 1.

    Example:
        >>> memory_options_of(inplace=False, reuse=True)
        MemoryOptions(inplace=False, reuse=True)
    """
    return MemoryOptions(
        _chosen("enable_inplace", inplace, INPLACE_VARIABLE),
        _chosen("enable_reuse_mem", reuse, REUSE_VARIABLE),
    )


def _chosen(option: str, given: object, variable: str) -> bool:
    if given is None:
        return flag(variable, True)
    if isinstance(given, bool):
        return given
    raise JobError(f"{option} is {given!r}; it must be True, False or None")
