"""What the runtime uses of ``threading`` and ``queue``, over a schedule. Signatures are theirs."""

from __future__ import annotations

import queue
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from headrace.testing.deterministic.schedule import Schedule, Strand


class Lock:
    """``threading.Lock``: any thread may release it."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._is_held = False
        self._freed_at = 0.0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, once it is free; False when that took too long."""
        if blocking:
            came = self._schedule.wait_until(lambda: not self._is_held, "a lock", timeout)
        else:
            self._schedule.point()
            came = not self._is_held
        if came:
            self._is_held = True
            self._schedule.catch_up(self._freed_at)
        return came

    def release(self) -> None:
        """Give it back.

        Raises:
            RuntimeError: nobody holds it.
        """
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False
        self._freed_at = self._schedule.time()

    def locked(self) -> bool:
        """True while somebody holds it."""
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


class RLock:
    """``threading.RLock``: one thread may take it several times."""

    def __init__(self, schedule: Schedule) -> None:
        self._lock = Lock(schedule)
        self._owner: int | None = None
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, once no other thread holds it; False when that took too long."""
        if self._owner != threading.get_ident():
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = threading.get_ident()
        self._depth += 1
        return True

    def release(self) -> None:
        """Give it back once.

        Raises:
            RuntimeError: this thread does not hold it.
        """
        if self._owner != threading.get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


class Condition:
    """``threading.Condition``."""

    def __init__(self, schedule: Schedule, lock: Lock | RLock | None = None) -> None:
        self._schedule = schedule
        self._lock = RLock(schedule) if lock is None else lock
        self._waiting: deque[list[float]] = deque()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for ``notify``, without the lock; False when that took too long."""
        told: list[float] = []
        self._waiting.append(told)
        self._lock.release()
        try:
            came = self._schedule.wait_until(lambda: bool(told), "a condition", timeout)
            if came:
                self._schedule.catch_up(told[0])
            else:
                self._waiting.remove(told)
        finally:
            self._lock.acquire()
        return came

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until ``predicate`` holds; False when that took too long."""
        while not predicate():
            if not self.wait(timeout):
                return predicate()
        return True

    def notify(self, n: int = 1) -> None:
        """Wake ``n`` of those that wait."""
        for _ in range(min(n, len(self._waiting))):
            self._waiting.popleft().append(self._schedule.time())

    def notify_all(self) -> None:
        """Wake all that wait."""
        self.notify(len(self._waiting))

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


class Event:
    """``threading.Event``."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._set_at: float | None = None

    def is_set(self) -> bool:
        """True once it is set."""
        return self._set_at is not None

    def set(self) -> None:
        """Wake all that wait, now and later."""
        self._set_at = self._schedule.time()
        self._schedule.point()

    def clear(self) -> None:
        """Let who comes wait again."""
        self._set_at = None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; False when that took too long."""
        came = self._schedule.wait_until(self.is_set, "an event", timeout)
        if self._set_at is not None:
            self._schedule.catch_up(self._set_at)
        return came


class Semaphore:
    """``threading.Semaphore``."""

    def __init__(self, schedule: Schedule, value: int = 1) -> None:
        self._schedule = schedule
        self._freed_at = [0.0] * value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Take one, once there is one; False when that took too long."""
        if blocking:
            self._schedule.wait_until(lambda: bool(self._freed_at), "a semaphore", timeout)
        else:
            self._schedule.point()
        came = bool(self._freed_at)
        if came:
            self._freed_at.sort()
            self._schedule.catch_up(self._freed_at.pop(0))
        return came

    def release(self, n: int = 1) -> None:
        """Give ``n`` back."""
        self._freed_at += [self._schedule.time()] * n

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


class SimpleQueue:
    """``queue.SimpleQueue`` and ``queue.Queue``, of any length."""

    def __init__(self, schedule: Schedule, maxsize: int = 0) -> None:
        self._schedule = schedule
        self._maxsize = maxsize
        self._items: deque[tuple[float, Any]] = deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Append ``item``, once there is room."""
        self._schedule.wait_until(
            lambda: not 0 < self._maxsize <= len(self._items), "room in a queue", timeout
        )
        self._items.append((self._schedule.time(), item))

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the first item, once there is one.

        Raises:
            queue.Empty: there was none for too long.
        """
        if block:
            self._schedule.wait_until(lambda: bool(self._items), "an item of a queue", timeout)
        else:
            self._schedule.point()
        if not self._items:
            raise queue.Empty
        sent, item = self._items.popleft()
        self._schedule.catch_up(sent)
        return item

    def get_nowait(self) -> Any:
        """Take the first item.

        Raises:
            queue.Empty: there is none.
        """
        return self.get(block=False)

    def empty(self) -> bool:
        """True when there is no item."""
        return not self._items


class Thread:
    """``threading.Thread``."""

    def __init__(
        self,
        schedule: Schedule,
        group: None = None,
        target: Callable[..., object] = lambda: None,
        name: str = "thread",
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name = name
        self.daemon = bool(daemon)
        self._schedule = schedule
        self._run = lambda: target(*args, **(kwargs or {}))
        self._strand: Strand | None = None

    @property
    def ident(self) -> int | None:
        """None until it is started."""
        return None if self._strand is None else id(self._strand)

    def start(self) -> None:
        """Start it."""
        self._strand = self._schedule.start(self.name, self._run)

    def is_alive(self) -> bool:
        """True from its start to its end."""
        return self._strand is not None and not self._strand.is_over

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        assert self._strand is not None
        strand = self._strand
        if self._schedule.wait_until(lambda: strand.is_over, f"the end of {self.name!r}", timeout):
            self._schedule.catch_up(strand.clock)


class _Namespace(SimpleNamespace):
    """A module with some names replaced."""

    def __init__(self, module: object, **replaced: object) -> None:
        super().__init__(**replaced)
        self._module = module

    def __getattr__(self, name: str) -> object:
        return getattr(self._module, name)


def primitives(schedule: Schedule) -> dict[int, object]:
    """What stands in for the modules and their members, by the ``id`` of what it stands in for."""

    def over(make: Callable[..., object]) -> Callable[..., object]:
        return lambda *args, **kwargs: make(schedule, *args, **kwargs)

    threads = {kind.__name__: over(kind) for kind in (Condition, Event, Lock, RLock, Semaphore)}
    threads |= {"BoundedSemaphore": over(Semaphore), "Thread": over(Thread)}
    queues = {"SimpleQueue": over(SimpleQueue), "Queue": over(SimpleQueue)}
    replaced: dict[int, object] = {
        id(start_new_thread): lambda function, arguments: function(
            *arguments
        )  # who asks waits for it
    }
    for module, members in ((threading, threads), (queue, queues)):
        replaced[id(module)] = _Namespace(module, **members)
        replaced |= {id(getattr(module, name)): made for name, made in members.items()}
    return replaced
