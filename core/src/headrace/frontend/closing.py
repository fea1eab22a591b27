"""``Closing``: what a ``with`` statement closes at its end."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn, Self, SupportsIndex

from headrace.errors import SessionError


class Closing:
    """Base of what holds devices, threads, memory or processes until ``close``.

    There is one of each: it is neither copied nor sent to another process.
    """

    def close(self) -> None:
        """Give everything back. Idempotent."""
        raise NotImplementedError

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        kind = type(self).__name__
        raise SessionError(
            f"a {kind} holds devices, threads or memory of this process and cannot be copied or "
            f"pickled; make a {kind} of its own where another one is needed"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._close_after(error)
        except BaseException as own:
            self._close_after(own)  # Ctrl-C came, and nobody will ask for it again
            raise

    def _close_after(self, error: BaseException | None) -> None:
        """Close at the end of a block, which ``error`` may have ended."""
        self.close()
