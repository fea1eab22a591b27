"""``Future``: the result of a call that may still be under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

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

    def result(self, timeout_seconds: float | None = None) -> T_co:
        """Wait until the call is over; returns what calling the job returns.

        Raises:
            RunError: the run stopped; raised each time.
            SessionError: the session was closed before the call came to its end.
            TimeoutError: it was not over in time; it goes on, and may be waited for again.
        """
        return self._made(self._call.wait(timeout_seconds))

    def exception(self, timeout_seconds: float | None = None) -> BaseException | None:
        """Wait until the call is over; returns what ``result`` raises, or None.

        Raises:
            TimeoutError: it was not over in time.
        """
        self._call.join(timeout_seconds)
        return self._call.error

    def done(self) -> bool:
        """True when ``result`` does not wait."""
        return self._call.is_over

    def __repr__(self) -> str:
        error = self._call.error
        failed = "" if error is None else f", failed with {type(error).__name__}"
        return f"<Future: {'over' if self.done() else 'under way'}{failed}>"
