"""Bugs planted in what gives results to callbacks; as in ``runtime_mutants.py``."""

from __future__ import annotations

from typing import Any

from runtime_mutants import Patches

from headrace.frontend import delivery
from headrace.frontend.delivery import Delivery
from headrace.frontend.future import Future


def callback_before_work() -> Patches:
    """A callback is called as soon as it is given, with what is there by then."""

    def register(self: Delivery, future: Future[Any], callback: Any, failed: object) -> None:
        original(self, _Early(future), callback, failed)  # type: ignore[arg-type]

    original = Delivery.register
    return [(Delivery, "register", register)]


class _Early:
    """A future that waits for nothing."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def exception(self) -> None:
        """None, whatever comes."""

    def result(self) -> object:
        """What the call has given so far."""
        return self._future._made(self._future._call.results)


def latest_result_first() -> Patches:
    """The result that came last is given to its callback first."""

    def register(self: Delivery, future: Future[Any], callback: Any, failed: Any) -> None:
        original(self, future, callback, failed)
        with self._changed.lock:
            self._waiting.rotate(1)

    original = Delivery.register
    return [(Delivery, "register", register)]


def first_error_ends_the_thread() -> Patches:
    """What a callback raises ends the thread that would call the next one."""

    def tell() -> None:
        raise

    def loop(self: Delivery) -> None:
        try:
            original(self)
        except BaseException:  # noqa: BLE001 - the thread is over
            return

    original = Delivery._loop
    return [(delivery, "_tell", tell), (Delivery, "_loop", loop)]


def callbacks_wait_for_room() -> Patches:
    """A callback that gives another job one more waits for room there, as everybody does."""

    def register(self: Delivery, future: Future[Any], callback: Any, failed: Any) -> None:
        with self._changed.lock:
            while len(self._waiting) >= self._most and not self._is_closed and not self.is_here:
                self._changed.wait()
        original(self, future, callback, failed)

    original = Delivery.register
    return [(Delivery, "register", register)]


def sync_waits_once() -> Patches:
    """Whoever waits for callbacks is told that they are over while one is running."""

    def wait(self: Delivery) -> None:
        with self._changed.lock:
            while self._waiting:
                self._changed.wait()

    return [(Delivery, "wait", wait), (Delivery, "is_idle", True)]
