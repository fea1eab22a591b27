"""``Closing``: what a ``with`` statement closes at its end."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Base of what holds devices, threads, memory or processes until ``close``."""

    def close(self) -> None:
        """Give everything back. Idempotent."""
        raise NotImplementedError

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
