"""Planted misuse: each is reported, the report names the call, and the call fails."""

import ctypes
import os
import subprocess
import sys

import numpy as np
from stand_in import (
    BAD_PARAM,
    CARD_TO_HOST,
    FROM_POINTERS,
    HOST_TO_CARD,
    HOST_TO_HOST,
    OK,
    address,
    folder,
    fork,
    last_era,
)

# Memory


def test_a_copy_in_the_wrong_direction(sim):
    """The pointers do not fit what the direction says."""
    block, data = sim.allocate(16), np.zeros(16, np.uint8)
    wrong = sim.code("direction")
    sim.refuse(
        "cnrtMemcpy", address(data), block, 16, HOST_TO_CARD, kind="wrong-direction", status=wrong
    )
    sim.refuse(
        "cnrtMemcpy", block, address(data), 16, CARD_TO_HOST, kind="wrong-direction", status=wrong
    )
    sim.refuse("cnrtMemcpy", block, address(data), 16, 9, kind="wrong-direction", status=wrong)
    sim.free(block)


def test_a_queue_that_is_to_copy_within_the_host(sim):
    """Also where the pointers say so."""
    queue, data = sim.queue(), np.zeros(16, np.uint8)
    for direction in (HOST_TO_HOST, FROM_POINTERS):
        copy = (address(data), address(data) + 8, 8, queue, direction)
        sim.refuse("cnrtMemcpyAsync", *copy, kind="wrong-direction")
    sim.check("cnrtQueueDestroy", queue)


def test_memory_used_after_it_was_freed(sim):
    """By a copy and by a fill in a queue."""
    block, data, queue = sim.allocate(16), np.zeros(16, np.uint8), sim.queue()
    sim.free(block)
    told = sim.refuse(
        "cnrtMemcpy", address(data), block + 4, 8, CARD_TO_HOST, kind="use-after-free"
    )
    assert "block 1 (16 bytes of memory of card 0, from cnrtMalloc)" in told
    sim.refuse("cnrtMemsetAsync", block, 0, 16, queue, kind="use-after-free")
    sim.check("cnrtQueueDestroy", queue)


def test_memory_freed_while_a_queue_uses_it(sim):
    """At the free, whether or not the task has run; and again by the task if it had not."""
    queue, block = sim.queue(), sim.allocate(16)
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemsetAsync", block, 0, 16, queue)
    told = sim.refuse("cnrtFree", block, kind="freed-in-use")
    assert f"{sim.name('cnrtMemsetAsync')} writes (task 1 of queue id 1)" in told
    assert sim.call("cnrtQueueSync", queue) == sim.code("queue")
    assert "before the task ran" in sim.take("cnrtMemsetAsync", "use-after-free")
    sim.check("cnrtQueueDestroy", queue)


def test_memory_freed_after_the_task_ran_by_luck(sim):
    """Nobody waited for the task: this is found although the memory happens to be idle."""
    queue, other, block = sim.queue(), sim.queue(), sim.allocate(16)
    notifier = sim.notifier()
    sim.check("cnrtMemsetAsync", block, 0, 16, queue)
    sim.check("cnrtPlaceNotifier", notifier, queue)
    sim.check("mlusim_drain")
    sim.refuse("cnrtFree", block, kind="freed-in-use")
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", queue)
    sim.check("cnrtQueueDestroy", other)


def test_memory_freed_twice(sim):
    """The second time it is nobody's."""
    block, pinned = sim.allocate(16), sim.pin(16)
    sim.free(block)
    sim.refuse("cnrtFree", block, kind="double-free", status=sim.code("driver"))
    sim.check("cnrtFreeHost", pinned)
    sim.refuse("cnrtFreeHost", pinned, kind="wild-free")


def test_memory_freed_by_the_wrong_function_or_pointer(sim):
    """Of the other kind, from the middle, or never allocated."""
    block, pinned, data = sim.allocate(16), sim.pin(16), np.zeros(4)
    sim.refuse("cnrtFreeHost", block, kind="wild-free")
    sim.refuse("cnrtFree", pinned, kind="wild-free")
    sim.refuse("cnrtFree", block + 4, kind="wild-free")
    sim.refuse("cnrtFree", address(data), kind="wild-free")
    sim.free(block)
    sim.check("cnrtFreeHost", pinned)


def test_pinned_memory_freed_while_a_copy_needs_it(sim):
    """A queue still reads from it."""
    queue, block, pinned = sim.queue(), sim.allocate(16), sim.pin(16)
    sim.check("mlusim_pause", queue)
    sim.check("cnrtMemcpyAsync", block, pinned, 16, queue, HOST_TO_CARD)
    sim.refuse("cnrtFreeHost", pinned, kind="freed-in-use")
    assert sim.call("cnrtQueueSync", queue) == sim.code("queue")
    sim.take("cnrtMemcpyAsync", "use-after-free")
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_a_copy_beyond_the_end(sim):
    """Of memory of the card, or of pinned memory; and an address between two blocks."""
    block, pinned, data = sim.allocate(16), sim.pin(8), np.zeros(64, np.uint8)
    told = sim.refuse("cnrtMemcpy", block + 8, address(data), 9, HOST_TO_CARD, kind="out-of-bounds")
    assert "needs 9 bytes at offset 8" in told
    sim.refuse("cnrtMemcpy", pinned, block, 9, CARD_TO_HOST, kind="out-of-bounds")
    sim.refuse("cnrtMemset", block + 20, 0, 1, kind="out-of-bounds")
    sim.free(block)
    sim.check("cnrtFreeHost", pinned)


def test_an_allocation_of_nothing(sim):
    """Versions differ in what they do, so nobody may ask for it."""
    sim.refuse("cnrtMalloc", ctypes.byref(ctypes.c_void_p()), 0, kind="bad-argument")


# Order


def test_a_result_read_without_waiting(sim):
    """Whether or not the task has run by then."""
    queue, block, out = sim.queue(), sim.allocate(16), np.zeros(16, np.uint8)
    sim.check("cnrtMemsetAsync", block, 1, 16, queue)
    for _ in range(2):
        told = sim.refuse("cnrtMemcpy", address(out), block, 16, CARD_TO_HOST, kind="missing-sync")
        assert "synchronise the queue first" in told
        sim.check("mlusim_drain")
    sim.sync(queue)
    assert sim.to_host(block, (16,), np.uint8).all()
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_memory_overwritten_that_a_queue_still_reads(sim):
    """By the host, from another thread of events than the queue's."""
    queue, block, data = sim.queue(), sim.allocate(16), np.zeros(16, np.uint8)
    out = np.empty(16, np.uint8)
    sim.check("cnrtMemset", block, 1, 16)
    sim.check("cnrtMemcpyAsync", address(out), block, 16, queue, CARD_TO_HOST)
    sim.refuse("cnrtMemcpy", block, address(data), 16, HOST_TO_CARD, kind="missing-sync")
    sim.refuse("cnrtMemset", block, 0, 16, kind="missing-sync")
    sim.sync(queue)
    assert out.all()
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_two_queues_that_share_memory_without_a_notifier(sim):
    """The second one may read before the first has written."""
    writer, reader, block = sim.queue(), sim.queue(), sim.allocate(16)
    out, notifier = np.empty(16, np.uint8), sim.notifier()
    copy = (address(out), block, 16, reader, CARD_TO_HOST)
    sim.check("cnrtMemsetAsync", block, 1, 16, writer)
    told = sim.refuse("cnrtMemcpyAsync", *copy, kind="unordered")
    assert "nothing makes queue 2 wait" in told
    sim.check("cnrtPlaceNotifier", notifier, writer)
    sim.check("cnrtQueueWaitNotifier", notifier, reader, 0)
    sim.check("cnrtMemcpyAsync", *copy)
    sim.sync(reader)
    assert out.all()
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", writer)
    sim.check("cnrtQueueDestroy", reader)


# Cards


def test_things_of_one_card_used_with_another(start):
    """Its queue, its memory, its notifier, its library handle."""
    sim = start(cards=2)
    wrong = sim.code("wrong device")
    block, queue, notifier, handle = sim.allocate(16), sim.queue(), sim.notifier(), sim.handle()
    data = np.zeros(16, np.uint8)
    with sim.on(1):
        other = sim.queue()
        sim.refuse("cnrtQueueSync", queue, kind="wrong-device", status=wrong)
        sim.refuse("cnrtMemsetAsync", block, 0, 16, other, kind="wrong-device", status=wrong)
        sim.refuse("cnrtMemset", block, 0, 16, kind="wrong-device", status=wrong)
        sim.refuse(
            "cnrtMemcpy", block, address(data), 16, HOST_TO_CARD, kind="wrong-device", status=wrong
        )
        sim.refuse("cnrtPlaceNotifier", notifier, other, kind="wrong-device", status=wrong)
        sim.refuse("cnrtQueueWaitNotifier", notifier, other, 0, kind="wrong-device", status=wrong)
        sim.refuse("cnnlSetQueue", handle, other, kind="wrong-device", status=BAD_PARAM)
        sim.refuse("cnrtMemcpyPeer", block, 1, block, 0, 16, kind="wrong-device", status=wrong)
        sim.check("cnrtQueueDestroy", other)
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.close(handle, queue)


def test_memory_freed_on_another_card(start):
    """The defect of a destructor that forgets its device guard."""
    sim = start(cards=2)
    block = sim.allocate(16)
    with sim.on(1):
        sim.refuse("cnrtFree", block, kind="wrong-device", status=sim.code("wrong device"))
    assert sim.call("mlusim_live", b"card memory") == 0


# Handles


def test_a_queue_destroyed_before_its_handle(sim):
    """At the destruction, and again when the handle is used."""
    queue = sim.queue()
    handle, tensor = sim.handle(queue), sim.tensor((4,))
    block = sim.allocate(16)
    sim.refuse("cnrtQueueDestroy", queue, kind="queue-before-handle", status=sim.code("invalid"))
    square = (handle, tensor, block, tensor, block)
    sim.refuse("cnnlSquare", *square, kind="destroyed-queue", status=BAD_PARAM)
    sim.destroy(tensor)
    sim.free(block)
    sim.close(handle)


def test_a_handle_that_is_none(sim):
    """NULL, destroyed, of another kind, or made up."""
    queue, data = sim.queue(), np.zeros(4)
    handle = sim.handle(queue)
    tensor = sim.tensor((4,))
    sim.refuse("cnnlSetQueue", None, queue, kind="null-handle", status=BAD_PARAM)
    sim.refuse("cnnlSetQueue", tensor, queue, kind="wrong-kind", status=BAD_PARAM)
    sim.refuse("cnrtQueueSync", address(data), kind="wild-handle", status=sim.code("invalid"))
    sim.destroy(tensor)
    sim.refuse("cnnlDestroyTensorDescriptor", tensor, kind="destroyed-object", status=BAD_PARAM)
    sim.close(handle, queue)
    sim.refuse("cnnlDestroy", handle, kind="destroyed-object", status=BAD_PARAM)
    sim.refuse("cnrtQueueDestroy", queue, kind="destroyed-object", status=sim.code("invalid"))
    sim.refuse("cnrtQueueDestroy", None, kind="default-queue", status=sim.code("invalid"))


# Processes


@last_era
def test_a_call_from_a_host_function(sim):
    """It runs on a thread of the runtime, which would wait for itself."""
    statuses, queue = [], sim.queue()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    function = kind(lambda _: statuses.append(sim.call("cnrtSyncDevice")))
    sim.check("cnrtInvokeHostFunc", queue, function, None)
    sim.sync(queue)
    sim.take("cnrtSyncDevice", "call-in-host-function")
    assert statuses == [sim.code("unsupported")]
    sim.check("cnrtQueueDestroy", queue)


def test_a_call_after_a_fork(sim):
    """The threads of the queues are not in the child."""
    block = sim.allocate(8)
    child = fork()
    if child == 0:
        try:
            sim.refuse("cnrtFree", block, kind="fork", status=sim.code("system"))
        except BaseException:  # noqa: BLE001 - the parent looks at the status
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    sim.free(block)


LEAKS = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from stand_in import StandIn
sim = StandIn({era}, Path({place!r}), quiet=1, log={log!r})
handle = sim.handle(sim.queue())
sim.notifier(), sim.tensor((4,)), sim.tensor((4,)), sim.allocate(8), sim.pin(24)
sim.out("cnnlCreateReduceDescriptor")
"""


def test_what_is_not_given_back_is_told_at_the_end(start, tmp_path):
    """Every kind, with a count, in the file that MLUSIM_LOG names."""
    log, tests = tmp_path / "log", os.path.dirname(__file__)
    code = LEAKS.format(tests=tests, era=start.era, place=str(folder()), log=str(log))
    subprocess.run([sys.executable, "-c", code], check=True)

    lines = log.read_text("utf-8").splitlines()
    assert all(line.startswith("exit: [leak] ") for line in lines)
    made = "cnrtCreateQueue" if start.era == 4 else "cnrtQueueCreate"
    assert any(line.endswith(f"the first came from {made} (queue 1)") for line in lines)
    assert [line.removeprefix("exit: [leak] ").split(" not ")[0] for line in lines] == [
        "1 library handle(s)",
        "1 notifier(s)",
        "1 queue(s)",
        "1 reduce descriptor(s)",
        "2 tensor descriptor(s)",
        "1 block(s) of card memory",
        "1 block(s) of page-locked host memory",
    ]


def test_a_lenient_stand_in_reports_and_goes_on(start):
    """What a card would do with luck is done; what cannot be done still fails."""
    sim = start(strict=0)
    queue, block, out = sim.queue(), sim.allocate(4), np.zeros(4, np.uint8)
    sim.check("cnrtMemsetAsync", block, 1, 4, queue)
    sim.check("mlusim_drain")
    sim.check("cnrtMemcpy", address(out), block, 4, CARD_TO_HOST)
    sim.take("cnrtMemcpy", "missing-sync")
    assert out.all()
    sim.check("cnrtFree", block)
    sim.take("cnrtFree", "freed-in-use")
    sim.refuse("cnrtFree", block, kind="double-free")
    sim.sync(queue)
    sim.check("cnrtQueueDestroy", queue)
