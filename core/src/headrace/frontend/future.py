"""``Future``: the result of a call that may still be under way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import numpy as np

from headrace.errors import InputError
from headrace.runtime import process
from headrace.runtime.bus import Call
from headrace.tensor_spec import Array

T_co = TypeVar("T_co", covariant=True)


class Future(Generic[T_co]):
    """What a call will give. Made by ``submit``; may be used from any thread.

    The results are the caller's own, and stay when the session is closed.
    """

    def __init__(self, call: Call, made: Callable[[Mapping[str, Array]], T_co]) -> None:
        self._call = call
        self._made = made
        self._forks = process.forks

    def result(self, timeout_seconds: float | None = None) -> T_co:
        """Wait until the call is over; returns what calling the job returns.

        Args:
            timeout_seconds: how long to wait, 0 or less for not at all; None: as long as it takes.

        Raises:
            InputError: that is no number of seconds.
            RunError: the run stopped; raised each time.
            SessionError: the session was closed before the call came to its end, or this process
                was forked before.
            TimeoutError: it was not over in time; it goes on, and may be waited for again.
        """
        self._check_process()
        return self._made(self._call.wait(_seconds(timeout_seconds)))

    def exception(self, timeout_seconds: float | None = None) -> BaseException | None:
        """Wait until the call is over; returns what ``result`` raises, or None.

        Raises:
            InputError: ``timeout_seconds`` is no number of seconds.
            SessionError: this process was forked before it was over.
            TimeoutError: it was not over in time.
        """
        self._check_process()
        self._call.join(_seconds(timeout_seconds))
        return self._call.error

    def _check_process(self) -> None:
        if process.forks != self._forks and not self.done():
            raise process.forked_error("the job of this call, which is under way,")

    def done(self) -> bool:
        """True when ``result`` does not wait."""
        return self._call.is_over

    def __repr__(self) -> str:
        error = self._call.error
        failed = "" if error is None else f", failed with {type(error).__name__}"
        return f"<Future: {'over' if self.done() else 'under way'}{failed}>"


def _seconds(given: object) -> float | None:
    if given is None:
        return None
    numbers = (int, float, np.integer, np.floating)
    if isinstance(given, numbers) and not isinstance(given, bool) and not math.isnan(given):
        return float(given)
    raise InputError(
        f"timeout_seconds is {given!r}; it must be a number of seconds, or None to wait as long as "
        "it takes"
    )
