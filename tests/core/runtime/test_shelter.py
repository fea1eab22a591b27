"""``Shelter``: what it does comes to its end, wherever Ctrl-C comes."""

from __future__ import annotations

import _imp
import _thread
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import count

import pytest

from headrace.runtime import shelter
from headrace.runtime.shelter import Shelter, Stopped
from headrace.testing.interrupts import interrupted


def press_ctrl_c(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have the main thread interrupted as often, each time it begins to wait."""
    wait, left = shelter._wait_for, [KeyboardInterrupt()] * times

    def interrupted_wait(ended: threading.Lock) -> None:
        if left:
            raise left.pop()
        wait(ended)

    monkeypatch.setattr(shelter, "_wait_for", interrupted_wait)


@pytest.fixture
def threads_end() -> Iterator[None]:
    """Those whose work nobody waits for end soon after it; until then the test is not over."""
    before = _thread._count()  # also of those that `threading` has yet to hear of
    yield
    while _thread._count() > before:
        threading.Event().wait(0)


def test_work_is_done_by_another_thread_which_has_ended() -> None:
    """It gives what the work returns, and raises what that raises."""
    threads = threading.enumerate()
    assert Shelter().run(threading.current_thread) not in threads
    assert Shelter().run(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        Shelter().run(lambda: 1 // 0)
    assert threading.enumerate() == threads


def test_other_threads_do_it_themselves() -> None:
    """No signal reaches them."""
    found: list[bool] = []

    def ask() -> None:
        found.append(Shelter().run(threading.get_ident) == threading.get_ident())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert found == [True]


def test_work_may_import_after_ctrl_c_in_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may have left the lock of imports with the main thread."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    _imp.acquire_lock()
    assert Shelter().run(partial(import_module, "colorsys")) is not None
    assert not _imp.lock_held()


def test_a_finalizer_within_an_import_leaves_that_its_lock() -> None:
    """The collector may close a model there; the work is done in place."""
    text = "lock.acquire_lock()\ntry: made = ask()\nfinally: lock.release_lock()"
    within = {"lock": _imp, "ask": partial(Shelter().run, threading.get_ident)}
    exec(compile(text, "<frozen importlib._bootstrap>", "exec"), within)
    assert within["made"] == threading.get_ident()
    assert not _imp.lock_held()


def test_work_may_ask_for_more() -> None:
    """Of the same owner, which is done at once."""
    one = Shelter()
    assert one.run(lambda: one.run(lambda: 2) + 1) == 3


def test_work_is_done_once_wherever_ctrl_c_comes() -> None:
    """When the interrupt is heard of it is over, unless it never began; none is left for later."""
    for step in count(1):  # at 0 nothing was asked for yet
        one, did = Shelter(), list[str]()
        with interrupted(step) as interrupt:
            one.run(partial(did.append, "first"))
        one.run(partial(did.append, "second"))
        assert did in (["first", "second"], ["second"]), interrupt.where
        if not interrupt.came:
            break
    assert step > 10


def test_the_first_ctrl_c_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the work, which may be told to stop, is over."""
    stopped, did = threading.Event(), list[str]()
    press_ctrl_c(monkeypatch, 1)

    def work() -> None:
        assert stopped.wait(60)
        did.append("work")

    with pytest.raises(KeyboardInterrupt):
        Shelter().run(work, stopped.set)
    assert did == ["work"]


@pytest.mark.usefixtures("threads_end")
def test_the_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work goes on, and who asks next waits for it."""
    left, did, one = threading.Event(), list[str](), Shelter()
    press_ctrl_c(monkeypatch, 2)

    def work() -> None:
        assert left.wait(60)
        did.append("work")

    with pytest.raises(KeyboardInterrupt):
        one.run(work)
    assert did == []
    left.set()
    one.run(lambda: did.append("next"))
    assert did == ["work", "next"]


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("x"), "what was waited for meanwhile raised ValueError('x')"), (Stopped(), "")],
)
def test_an_interrupt_says_what_was_raised_meanwhile(
    error: BaseException, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not by work that was told to stop."""
    press_ctrl_c(monkeypatch, 1)

    def fail() -> None:
        raise error

    with pytest.raises(KeyboardInterrupt) as caught:
        Shelter().run(fail)
    assert "".join(getattr(caught.value, "__notes__", [])) == said


@pytest.mark.usefixtures("threads_end")
def test_what_work_raises_that_nobody_waits_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As what ends any other thread."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_value))
    press_ctrl_c(monkeypatch, 2)
    left, error, one = threading.Event(), ValueError("x"), Shelter()

    def work() -> None:
        assert left.wait(60)
        raise error

    with pytest.raises(KeyboardInterrupt):
        one.run(work)
    left.set()
    one.run(lambda: None)
    assert told == [error]


def test_work_is_done_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of the interpreter, or when there are too many."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(shelter, "start_new_thread", refuse)
    assert Shelter().run(lambda: 3) == 3


def test_nothing_is_kept_of_work_that_failed() -> None:
    """Neither it nor what its error names is a cycle that waits for the collector."""

    class Thing:
        pass

    def fail(thing: Thing) -> None:
        raise ValueError(thing)

    thing = Thing()
    gone = weakref.ref(thing)
    gc.disable()
    try:
        with pytest.raises(ValueError, match="Thing"):
            Shelter().run(partial(fail, thing))
        del thing
        assert gone() is None
    finally:
        gc.enable()
