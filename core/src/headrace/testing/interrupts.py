"""``interrupted``: Ctrl-C at a chosen step of the main thread, as often as a test likes.

The interpreter looks for signals when a Python function begins or goes on, behind each call, and
where a loop goes back. ``interrupted(n)`` is a block in which ``KeyboardInterrupt`` is raised at
the n-th of these steps inside headrace, so that for ``n`` = 0, 1, 2, ... a call is interrupted
wherever Ctrl-C could have come, until one meets none.

A file that is opened and not yet held when Ctrl-C comes is closed by the interpreter, which warns
of it (``ResourceWarning``). Nothing that is written in Python could do better: it is not heard.
"""

from __future__ import annotations

import dis
import sys
import warnings
from collections.abc import Collection
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from traceback import clear_frames
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_BACKWARD = frozenset(
    {"JUMP_BACKWARD"} | {name for name in dis.opmap if name.startswith("POP_JUMP_BACKWARD")}
)

_BEGIN, _RAISED = -1, -2
"""What stands in for the instruction before the first one, and before one that handles an error.

No event tells of ``RESUME``, with which a function begins or goes on, and whoever raises does not
look for signals.
"""

_ON_BEHALF = frozenset({"contextlib", "threading", "weakref"})
"""Modules of Python whose steps count as those of who asks for them."""


class interrupted:
    """A block that ``KeyboardInterrupt`` ends, raised at a step of headrace's code.

    Attributes:
        came: it was raised; otherwise the block has fewer steps.
        where: the function and line where it was.
    """

    def __init__(self, step: int, packages: Collection[str] = ("headrace",)) -> None:
        """The block that is interrupted at a step.

        Args:
            step: how many steps are let through before.
            packages: whose steps count, packages and modules; a plugin may add its own.
        """
        self.came = False
        self.where = ""
        self._left = step
        self._packages = packages
        self._before = ExitStack()

    def __enter__(self) -> Self:
        self._before.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", ResourceWarning)
        self._before.callback(sys.settrace, sys.gettrace())
        sys._getframe().f_trace_opcodes = True  # Python 3.12 asks whether any frame wants them
        sys.settrace(self._trace)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        self._before.close()
        if not (self.came and isinstance(error, KeyboardInterrupt)):
            return False
        clear_frames(at)  # what these hold goes now, and is not heard of
        return True

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if self.came or not _counts(frame, self._packages):
            return None
        looks, last = _looks(frame.f_code), _BEGIN

        def within(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal last
            if event == "opcode":
                if not self.came and frame.f_lasti in looks.get(last, ()):
                    self._step(frame)
                last = frame.f_lasti
            elif event == "exception":
                last = _RAISED
            return within

        frame.f_trace = within  # Python 3.13 hears of the next line only where this is set
        frame.f_trace_opcodes = True
        return within

    def _step(self, frame: FrameType) -> None:
        if not self._left:
            self.came = True
            self.where = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
            raise KeyboardInterrupt
        self._left -= 1


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
    begins: list[int] = []
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    for one, following in pairwise(instructions):
        if one.opname in _BACKWARD:
            looks[one.offset] = (one.argval,)
        elif one.opname in _CALLS:
            looks[one.offset] = (following.offset,)
        elif one.opname == "RESUME":
            begins.append(following.offset)
    return looks | {_BEGIN: tuple(begins)}
