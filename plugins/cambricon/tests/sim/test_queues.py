"""Queues and notifiers: what runs when, who waits for whom, and what time has passed."""

import ctypes
import itertools
import threading

import numpy as np
from stand_in import CARD_TO_HOST, HOST_TO_CARD, OK, address, last_era


def test_work_of_a_queue_runs_in_order(sim):
    """However long each task is delayed."""
    queue, block = sim.queue(), sim.allocate(1)
    values = list(range(1, 200))
    for value in values:
        sim.check("cnrtMemsetAsync", block, value, 1, queue)
    sim.sync(queue)

    assert sim.to_host(block, (1,), np.uint8)[0] == values[-1]
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_a_queue_with_work_is_pending_and_an_idle_one_is_not(sim):
    """The code is the era's; it is also the last error of the thread until it is fetched."""
    queue, block = sim.queue(), sim.allocate(1)
    assert sim.call("cnrtQueueQuery", queue) == OK
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemsetAsync", block, 0, 1, queue)

    pending = sim.code("not ready")
    assert sim.call("cnrtQueueQuery", queue) == pending
    assert sim.call("cnrtPeekAtLastError") == pending
    assert sim.call("cnrtGetLastError") == pending
    assert sim.call("cnrtGetLastError") == OK
    sim.sync(queue)
    assert sim.call("cnrtQueueQuery", queue) == OK
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_queues_do_not_wait_for_each_other(sim):
    """One is held back, the other finishes."""
    slow, fast = sim.queue(), sim.queue()
    first, second = sim.allocate(1), sim.allocate(1)
    sim.check("mlusim_pause", slow)
    sim.check("cnrtMemsetAsync", first, 1, 1, slow)
    sim.check("cnrtMemsetAsync", second, 2, 1, fast)
    sim.sync(fast)

    assert sim.to_host(second, (1,), np.uint8)[0] == 2
    assert sim.call("cnrtQueueQuery", slow) == sim.code("not ready")
    sim.sync(slow)
    sim.free(first, second)
    sim.check("cnrtQueueDestroy", slow)
    sim.check("cnrtQueueDestroy", fast)


def test_a_queue_waits_for_the_notifier_of_another(sim):
    """What comes after the wait sees what came before the placement."""
    data, out = np.full(4, 7, np.uint8), np.zeros(4, np.uint8)
    writer, reader, notifier, block = sim.queue(), sim.queue(), sim.notifier(), sim.allocate(4)
    sim.check("mlusim_pause", writer)
    sim.check("cnrtMemcpyAsync", block, address(data), 4, writer, HOST_TO_CARD)
    sim.check("cnrtPlaceNotifier", notifier, writer)
    sim.check("cnrtQueueWaitNotifier", notifier, reader, 0)
    sim.check("cnrtMemcpyAsync", address(out), block, 4, reader, CARD_TO_HOST)
    sim.sync(reader)

    assert out.tolist() == [7] * 4
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", writer)
    sim.check("cnrtQueueDestroy", reader)


def test_the_host_waits_for_a_notifier_and_then_may_read(sim):
    """Only for what came before it: the queue itself is still at work."""
    queue, notifier, block, other = sim.queue(), sim.notifier(), sim.allocate(1), sim.allocate(1)
    sim.check("cnrtMemsetAsync", block, 3, 1, queue)
    sim.check("cnrtPlaceNotifier", notifier, queue)
    sim.check("cnrtMemsetAsync", other, 4, 1, queue)
    sim.check("cnrtWaitNotifier", notifier)

    assert sim.call("cnrtQueryNotifier", notifier) == OK
    assert sim.to_host(block, (1,), np.uint8)[0] == 3
    sim.sync(queue)
    sim.free(block, other)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", queue)


def test_a_pending_notifier_says_so_and_one_never_placed_is_done(sim):
    """With the code of the era."""
    queue, notifier, block = sim.queue(), sim.notifier(), sim.allocate(1)
    assert sim.call("cnrtQueryNotifier", notifier) == OK
    assert sim.call("cnrtWaitNotifier", notifier) == OK
    assert sim.call("cnrtQueueWaitNotifier", notifier, queue, 0) == OK
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemsetAsync", block, 0, 1, queue)
    sim.check("cnrtPlaceNotifier", notifier, queue)

    pending = sim.code("busy") if sim.era < 6 else sim.code("not ready")
    assert sim.call("cnrtQueryNotifier", notifier) == pending
    sim.check("cnrtWaitNotifier", notifier)
    assert sim.call("cnrtQueryNotifier", notifier) == OK
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", queue)


def test_a_notifier_placed_anew_forgets_the_former_place(sim):
    """Waiting for it then means the later one."""
    queue, notifier, block = sim.queue(), sim.notifier(), sim.allocate(1)
    sim.check("cnrtPlaceNotifier", notifier, queue)
    sim.check("cnrtWaitNotifier", notifier)
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemsetAsync", block, 6, 1, queue)
    sim.check("cnrtPlaceNotifier", notifier, queue)
    sim.check("cnrtWaitNotifier", notifier)

    assert sim.to_host(block, (1,), np.uint8)[0] == 6
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", queue)


def durations(sim) -> tuple[float, float]:
    """Of a fill of a megabyte and of a copy of as much to the host, in microseconds."""
    queue, notifiers, block = sim.queue(), [sim.notifier() for _ in range(3)], sim.allocate(1 << 20)
    out, found = np.empty(1 << 20, np.uint8), []
    sim.check("cnrtPlaceNotifier", notifiers[0], queue)
    sim.check("cnrtMemsetAsync", block, 0, 1 << 20, queue)
    sim.check("cnrtPlaceNotifier", notifiers[1], queue)
    sim.check("cnrtMemcpyAsync", address(out), block, 1 << 20, queue, CARD_TO_HOST)
    sim.check("cnrtPlaceNotifier", notifiers[2], queue)
    sim.sync(queue)
    for start, end in itertools.pairwise(notifiers):
        value = ctypes.c_float()
        sim.check("cnrtNotifierDuration", start, end, ctypes.byref(value))
        found.append(value.value)
    if sim.era > 4:
        sim.check("cnrtNotifierElapsedTime", notifiers[0], notifiers[1], ctypes.byref(value))
        assert np.isclose(value.value * 1000, found[0])
    for notifier in notifiers:
        assert sim.destroy_notifier(notifier) == OK
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)
    return found[0], found[1]


def test_notifiers_measure_virtual_time(sim):
    """A launch and the bytes at the bandwidth that the README tells; the same on every run."""
    fill, copy = durations(sim)

    assert np.isclose(fill, 4 + (1 << 20) / 300e3, rtol=1e-4)
    assert np.isclose(copy, 4 + (1 << 20) / 12e3, rtol=1e-4)
    assert durations(sim) == (fill, copy)


def test_a_synchronised_card_is_idle(start):
    """All queues of the current card, and of no other."""
    sim = start(cards=2)
    with sim.on(1):
        other, far = sim.queue(), sim.allocate(1)
        sim.check("mlusim_pause", other)
        sim.check("cnrtMemsetAsync", far, 1, 1, other)
    queue, block = sim.queue(), sim.allocate(1)
    sim.check("cnrtMemsetAsync", block, 1, 1, queue)
    sim.check("cnrtSyncDevice")

    assert sim.call("cnrtQueueQuery", queue) == OK
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)
    with sim.on(1):
        assert sim.call("cnrtQueueQuery", other) == sim.code("not ready")
        sim.sync(other)
        sim.free(far)
        sim.check("cnrtQueueDestroy", other)


def test_a_destroyed_queue_still_finishes(sim):
    """And the card can be waited for."""
    queue, block = sim.queue(), sim.allocate(1)
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemsetAsync", block, 8, 1, queue)
    sim.check("cnrtQueueDestroy", queue)
    sim.check("cnrtSyncDevice")

    assert sim.to_host(block, (1,), np.uint8)[0] == 8
    sim.free(block)


def test_no_queue_is_the_default_queue(sim):
    """NULL; in the last era also its two special values."""
    block = sim.allocate(2)
    for queue in (0, 1, 2) if sim.era == 6 else (0,):
        sim.check("cnrtMemsetAsync", block, 5 + queue, 2, queue)
        sim.sync(queue)
        assert sim.to_host(block, (1,), np.uint8)[0] == 5 + queue
    sim.free(block)


def test_a_failed_task_is_told_by_the_next_sync_and_once(sim):
    """The call that enqueued it had succeeded, and the queue stays usable."""
    queue, block = sim.queue(), sim.allocate(1)
    sim.check("mlusim_fail_task", sim.name("cnrtMemsetAsync").encode(), 1)
    sim.check("cnrtMemsetAsync", block, 8, 1, queue)

    assert sim.call("cnrtQueueSync", queue) == sim.code("queue")
    sim.check("cnrtMemsetAsync", block, 9, 1, queue)
    sim.sync(queue)
    assert sim.to_host(block, (1,), np.uint8)[0] == 9
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


@last_era
def test_a_function_of_the_host_is_called_in_order(sim):
    """Whoever hears from it may use what came before, and no more."""
    called, kind = threading.Event(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    seen = []
    function = kind(lambda value: (seen.append(value), called.set()))
    queue, block, later = sim.queue(), sim.allocate(1), sim.allocate(1)
    sim.check("cnrtMemsetAsync", block, 1, 1, queue)
    sim.check("cnrtInvokeHostFunc", queue, function, 11)
    sim.check("cnrtMemsetAsync", later, 1, 1, queue)
    assert called.wait(60)

    assert seen == [11]
    assert sim.to_host(block, (1,), np.uint8)[0] == 1
    sim.refuse("cnrtFree", later, kind="freed-in-use")
    sim.check("mlusim_drain")
    sim.free(block)
    sim.call("cnrtQueueSync", queue)
    sim.call("mlusim_clear_reports")
    sim.check("cnrtQueueDestroy", queue)


@last_era
def test_a_queue_cannot_be_captured(sim):
    """It says so, and is not being captured."""
    status, queue = ctypes.c_int(7), sim.queue()
    assert sim.call("cnrtQueueBeginCapture", queue, 0) == sim.code("unsupported")
    sim.check("cnrtQueueIsCapturing", queue, ctypes.byref(status))
    assert status.value == 0
    sim.check("cnrtQueueDestroy", queue)
