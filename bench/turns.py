"""Calls that take turns, so that a slow moment of the machine hits all; and many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

Call = Callable[[], object]
Who = TypeVar("Who")


def seconds(call: Call) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turn(calls: Mapping[Who, Call], rounds: int) -> dict[Who, list[float]]:
    """Seconds of each call in each round, by who makes it."""
    times: dict[Who, list[float]] = {who: [] for who in calls}
    for _ in range(rounds):
        for who, call in calls.items():
            times[who].append(seconds(call))
    return times


def calls_a_second(call: Call, callers: int, duration: float) -> float:
    """Of so many threads, each of which begins its next call when one is over."""
    ends = time.perf_counter() + duration
    made = [0] * callers

    def work(caller: int) -> None:
        while time.perf_counter() < ends:
            call()
            made[caller] += 1

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(made) / (time.perf_counter() - start)
