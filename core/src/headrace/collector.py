"""The cyclic garbage collector rests while a job is compiled, or what is needed for it imported.

It also rests where its finalizers would wait for a lock that is held; see ``held``.

A graph is many small objects that all live until it is done. Python's collector looks through them
again each time their number has grown by a quarter, so that compiling 100,000 ops took half as long
again as it does without, and grew faster than the job. What compiling makes and drops is freed by
its count of references: it leaves no cycles, and what is not gone when it is over stays with the
job. A plugin, or the half of headrace that ``headrace.onnx`` stands on, is modules, classes and
records that all stay. A collection would look through all of them to find nothing, in the middle of
it or right behind.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import ref

_blocks: set[ref[_Block]] = set()  # those that ask for it now, in all threads
_is_off = False  # it was on when the first of them came, and is to be on again


class _Block:
    """One ``with`` block; gone when nobody is in it, also where Ctrl-C kept it from its end."""

    __slots__ = ("__weakref__",)


@contextmanager
def collector_rests(*, lasting: bool = False) -> Iterator[None]:
    """No automatic collection inside the ``with`` block; may be nested, from any thread.

    The collector belongs to the process: other threads go without it for that time as well.

    Args:
        lasting: what is made inside stays, modules or a job, and counts as old from then on.
    """
    global _is_off
    block = _Block()
    mine = ref(block)
    try:
        _blocks.add(mine)
        if gc.isenabled():
            _is_off = True
            gc.disable()
        yield
    finally:
        try:
            if lasting and not gc.get_freeze_count():  # what others froze is not ours to thaw
                gc.freeze()
                gc.unfreeze()  # into the oldest generation, without a look at any of it
        finally:
            _ends(mine)


def _ends(block: ref[_Block]) -> None:
    # Without a lock: a finalizer or handler that comes while it is held may wait for a thread that
    # needs it too. So a block may begin while the last one ends, which is looked at again.
    global _is_off
    for one in tuple(_blocks):
        if one is block or one() is None:
            _blocks.discard(one)
    while _is_off and not _blocks:
        gc.enable()
        _is_off = False
        if _blocks:
            _is_off = True
            gc.disable()


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold ``lock`` while the collector rests.

    For locks that closing a job asks for: a finalizer may close one, and the collector runs it on
    whatever thread it comes by, also on the one that has the lock, which would wait for itself.
    """
    with collector_rests(), lock:
        yield


def _rests_no_more() -> None:
    """Of a child: the blocks of its parent's other threads never end there."""
    global _is_off
    _blocks.clear()
    if _is_off:
        gc.enable()
        _is_off = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rests_no_more)
