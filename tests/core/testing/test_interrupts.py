"""``interrupted``: Ctrl-C comes wherever the interpreter looks for it, on every Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from headrace.testing.interrupts import interrupted


def done_before_it_comes(work: Callable[[list[str]], None]) -> list[list[str]]:
    """What a function had done at each of its steps in turn, and at last what it does."""
    found: list[list[str]] = []
    for step in count():
        did: list[str] = []
        with interrupted(step, (__name__,)) as interrupt:
            work(did)
        found.append(did)
        if not interrupt.came:
            return found
    raise AssertionError


def leaf(did: list[str]) -> None:
    did += ["leaf"]


def test_it_comes_where_a_function_begins_and_behind_each_call() -> None:
    def work(did: list[str]) -> None:
        did.append("first")
        leaf(did=did)
        leaf(*[did])

    assert done_before_it_comes(work) == [
        [],
        ["first"], ["first"],  # behind `append`, and where `leaf` begins
        ["first", "leaf"], ["first", "leaf"],
        ["first", "leaf", "leaf"], ["first", "leaf", "leaf"],
    ]  # fmt: skip


def test_it_comes_where_a_loop_goes_back() -> None:
    def work(did: list[str]) -> None:
        for number in "123":
            did += [number]

    assert done_before_it_comes(work) == [[], ["1"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3"]]


class Held:
    """What a ``with`` enters and leaves by functions of Python."""

    def __init__(self, did: list[str]) -> None:
        self.did = did

    def __enter__(self) -> list[str]:
        self.did += ["enter"]
        return self.did

    def __exit__(self, *error: object) -> None:
        self.did += ["exit"]

    @property
    def asked(self) -> list[str]:
        self.did += ["asked"]
        return self.did


def test_it_comes_where_a_function_begins_that_nothing_calls_by_name() -> None:
    """What ``with`` holds is kept where it comes at the first step of letting it go."""

    def work(did: list[str]) -> None:
        held = Held(did)
        did = held.asked
        with held:
            did += ["within"]

    found = done_before_it_comes(work)
    assert found[2:] == [
        [],  # behind `Held(did)`
        [],
        ["asked"],
        ["asked", "enter", "within"],
        ["asked", "enter", "within", "exit"],
        ["asked", "enter", "within", "exit"],
    ]


def test_it_comes_where_a_generator_goes_on_and_not_where_that_handles_an_error() -> None:
    def given(did: list[str]) -> Iterator[int]:
        try:
            yield 0
            did += ["went on"]
        finally:
            did += ["given back"]

    def work(did: list[str]) -> None:
        for _ in given(did):
            did += ["round"]

    assert done_before_it_comes(work) == [
        [],
        [],  # where the generator is made, not begun
        [],
        ["round", "given back"],  # behind the round
        ["round", "given back"],  # where it goes on
        ["round", "went on", "given back"],
    ]


def test_another_interrupt_is_let_through() -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), interrupted(10**9, (__name__,)):
        work()
