"""``interrupted``: Ctrl-C at a chosen step of the main thread, as often as a test likes.

The interpreter looks for signals when a Python function begins, behind each call, and where a loop
goes back. ``interrupted(n)`` is a block in which ``KeyboardInterrupt`` is raised at the n-th of
these steps inside headrace, so that for ``n`` = 0, 1, 2, ... a call is interrupted wherever Ctrl-C
could have come, until one meets none.

A file that is opened and not yet held when Ctrl-C comes is closed by the interpreter, which warns
of it (``ResourceWarning``). Nothing that is written in Python could do better: it is not heard.
"""

from __future__ import annotations

import dis
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from traceback import clear_frames
from types import CodeType, FrameType
from typing import Any

_AT_ONCE = frozenset({"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_BACKWARD = frozenset(
    {"JUMP_BACKWARD"} | {name for name in dis.opmap if name.startswith("POP_JUMP_BACKWARD")}
)

_ON_BEHALF = frozenset({"contextlib", "threading", "weakref"})
"""Modules of Python whose steps count as those of who asks for them."""


class Interrupt:
    """What became of it.

    Attributes:
        came: it was raised; otherwise the block has fewer steps.
        where: the function and line where it was.
    """

    def __init__(self) -> None:
        self.came = False
        self.where = ""


@contextmanager
def interrupted(step: int, packages: Collection[str] = ("headrace",)) -> Iterator[Interrupt]:
    """Raise ``KeyboardInterrupt`` in the block at a step of headrace's code, and end the block.

    Args:
        step: how many steps are let through before.
        packages: whose steps count, packages and modules; a plugin may add its own.

    Yields:
        Whether and where it came, to be looked at behind the block.
    """
    interrupt, left = Interrupt(), step

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if interrupt.came or not _counts(frame, packages):
            return None
        frame.f_trace_opcodes = True
        looks, last = _looks(frame.f_code), -1

        def within(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal last, left
            if event == "opcode":
                if not interrupt.came and frame.f_lasti in looks.get(last, ()):
                    if not left:
                        interrupt.came = True
                        interrupt.where = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                        raise KeyboardInterrupt
                    left -= 1
                last = frame.f_lasti
            elif event == "exception":
                last = -1  # whoever raises does not look for signals
            return within

        return within

    before = sys.gettrace()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        sys.settrace(trace)
        try:
            yield interrupt
        except KeyboardInterrupt as error:
            if not interrupt.came:
                raise
            clear_frames(error.__traceback__)  # what these hold goes now, and is not heard of
        finally:
            sys.settrace(before)


def _counts(frame: FrameType, packages: Collection[str]) -> bool:
    asking: FrameType | None = frame
    while asking is not None and asking.f_globals.get("__name__") in _ON_BEHALF:
        asking = asking.f_back
    module: str = asking.f_globals.get("__name__", "") if asking is not None else ""
    of_these = any(f"{module}.".startswith(f"{package}.") for package in packages)
    return of_these and not module.startswith("headrace.testing.")


@cache
def _looks(code: CodeType) -> dict[int, tuple[int, ...]]:
    """Behind which instructions the interpreter looks for signals, and what comes next then."""
    looks: dict[int, tuple[int, ...]] = {}
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    for one, following in pairwise(instructions):
        if one.opname in _BACKWARD:
            looks[one.offset] = (one.argval,)
        elif one.opname in _AT_ONCE:
            looks[one.offset] = (following.offset,)
    return looks
