"""Memory of the cards and of the host: whose it is, how much there is, and who may touch it."""

import ctypes
import os
import signal

import numpy as np
from stand_in import (
    CARD_TO_CARD,
    CARD_TO_HOST,
    FROM_POINTERS,
    HOST_TO_CARD,
    OK,
    address,
    fork,
    last_era,
)


def test_a_copy_to_the_card_and_back_keeps_every_byte(sim):
    """Through two blocks, and with pointers into their middle."""
    data = np.arange(256, dtype=np.uint8)
    first, second = sim.to_card(data), sim.allocate(256)

    sim.check("cnrtMemcpy", second + 16, first + 32, 64, CARD_TO_CARD)

    assert np.array_equal(sim.to_host(second + 16, (64,), np.uint8), data[32:96])
    sim.free(first, second)


def test_the_direction_may_be_left_to_the_pointers(sim):
    """Of a copy that the host waits for."""
    data = np.arange(8, dtype=np.float32)
    block, back = sim.allocate(32), np.zeros(8, np.float32)

    sim.check("cnrtMemcpy", block, address(data), 32, FROM_POINTERS)
    sim.check("cnrtMemcpy", address(back), block, 32, FROM_POINTERS)

    assert np.array_equal(back, data)
    sim.free(block)


def test_the_host_cannot_touch_memory_of_a_card(sim):
    """Reading or writing at the address ends the process by SIGSEGV."""
    block = sim.allocate(64)
    for touch in (ctypes.string_at, lambda at, size: ctypes.memset(at, 0, size)):
        child = fork()
        if child == 0:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            touch(block, 1)
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV
    sim.free(block)


def test_fresh_memory_is_poison(sim):
    """NaN as a float, so that a missing fill is seen."""
    block = sim.allocate(64)

    assert np.isnan(sim.to_host(block, (16,), np.float32)).all()
    sim.free(block)


def test_memory_is_counted_and_runs_out(start):
    """The amounts are those of the card; a failed allocation gives NULL and changes nothing."""
    sim = start(memory_bytes=1 << 20)
    room, total = ctypes.c_size_t(), ctypes.c_size_t()
    sizes = [ctypes.byref(room), ctypes.byref(total)]

    def info():
        sim.check(*(["cnrtGetMemInfo", *sizes, -1] if sim.era == 4 else ["cnrtMemGetInfo", *sizes]))
        return room.value, total.value

    block, pointer = sim.allocate(3 << 18), ctypes.c_void_p(1)
    assert info() == (1 << 18, 1 << 20)
    assert sim.call("cnrtMalloc", ctypes.byref(pointer), 1 << 19) == sim.code("no memory")
    assert pointer.value is None
    sim.free(block)
    assert info() == (1 << 20, 1 << 20)


def test_freed_addresses_are_not_given_again_at_once(sim):
    """So that a stale pointer is not taken for a fresh one."""
    first = sim.allocate(64)
    sim.free(first)
    second = sim.allocate(64)

    assert second != first
    sim.free(second)


def test_pinned_memory_is_the_hosts_and_may_be_empty(sim):
    """Readable and writable; nothing is given for nothing."""
    pinned = sim.pin(64)
    ctypes.memset(pinned, 7, 64)
    assert ctypes.string_at(pinned, 64) == bytes([7]) * 64
    sim.check("cnrtFreeHost", pinned)
    assert sim.pin(0) == 0


def test_freeing_nothing_is_nothing(sim):
    """NULL is accepted by both functions."""
    sim.check("cnrtFree", None)
    sim.check("cnrtFreeHost", None)


def test_a_fill_sets_bytes(sim):
    """The sync form and the async one."""
    block, queue = sim.allocate(8), sim.queue()
    sim.check("cnrtMemset", block, 5, 8)
    sim.check("cnrtMemsetAsync", block + 4, 9, 4, queue)
    sim.sync(queue)

    assert sim.to_host(block, (8,), np.uint8).tolist() == [5] * 4 + [9] * 4
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_copies_between_cards_go_through_the_peer_functions(start):
    """At once and in a queue; a card is no peer of itself."""
    sim = start(cards=2)
    data, can = np.arange(4, dtype=np.int32), ctypes.c_uint()
    here = sim.to_card(data)
    with sim.on(1):
        there = sim.allocate(16)
        queue = sim.queue()
    sim.check("cnrtMemcpyPeer", there, 1, here, 0, 16)
    with sim.on(1):
        assert np.array_equal(sim.to_host(there, (4,), np.int32), data)
        sim.check("cnrtMemsetAsync", there, 0, 16, queue)
        sim.check("cnrtMemcpyPeerAsync", here, 0, there, 1, 16, queue)
        sim.sync(queue)
        sim.free(there)
        sim.check("cnrtQueueDestroy", queue)
    assert not sim.to_host(here, (4,), np.int32).any()
    for peer, expected in ((0, 0), (1, 1)):
        sim.check("cnrtGetPeerAccessibility", ctypes.byref(can), 0, peer)
        assert can.value == expected
    sim.free(here)


@last_era
def test_copies_of_rows_keep_their_pitches(sim):
    """Direction before queue."""
    data = np.arange(24, dtype=np.uint8).reshape(4, 6)
    block, queue, back = sim.allocate(64), sim.queue(), np.zeros((4, 3), np.uint8)
    sim.check("cnrtMemcpy2DAsync", block, 16, address(data), 6, 5, 4, HOST_TO_CARD, queue)
    sim.sync(queue)
    sim.check("cnrtMemcpy2D", address(back), 3, block + 1, 16, 3, 4, CARD_TO_HOST)

    assert np.array_equal(back, data[:, 1:4])
    sim.free(block)
    sim.check("cnrtQueueDestroy", queue)


def test_pageable_memory_is_staged_or_read_late_as_the_seed_says(start):
    """Both are seen: a program may rely on neither."""
    sim = start(seed=3)
    queue, seen = sim.queue(), set()
    for _ in range(16):
        data, block = np.ones(4, np.uint8), sim.allocate(4)
        sim.check("mlusim_pause", queue)
        sim.check("cnrtMemcpyAsync", block, address(data), 4, queue, HOST_TO_CARD)
        data[:] = 2
        sim.sync(queue)
        seen.add(int(sim.to_host(block, (4,), np.uint8)[0]))
        sim.free(block)
    sim.check("cnrtQueueDestroy", queue)

    assert seen == {1, 2}


def test_an_allocation_can_be_made_to_fail(sim):
    """The n-th call, once, and as exhaustion."""
    sim.check("mlusim_fail", b"cnrtMalloc", 2, b"memory")
    block, pointer = sim.allocate(8), ctypes.c_void_p()

    assert sim.call("cnrtMalloc", ctypes.byref(pointer), 8) == sim.code("no memory")
    assert sim.call("cnrtMalloc", ctypes.byref(pointer), 8) == OK
    sim.free(block, pointer.value)


@last_era
def test_a_pointer_tells_what_it_is(sim):
    """Of a card, page-locked, or nothing that is known."""

    class Attributes(ctypes.Structure):
        _fields_ = [
            ("kind", ctypes.c_int),
            ("card", ctypes.c_int),
            ("size", ctypes.c_size_t),
            ("on_card", ctypes.c_void_p),
            ("on_host", ctypes.c_void_p),
        ]

    block, pinned, data, found = sim.allocate(16), sim.pin(8), np.zeros(4), Attributes()

    def ask(pointer):
        sim.check("cnrtPointerGetAttributes", ctypes.byref(found), pointer)
        return found.kind, found.size

    assert ask(block + 4) == (2, 16)
    assert ask(pinned) == (1, 8)
    assert ask(address(data)) == (0, 0)
    sim.free(block)
    sim.check("cnrtFreeHost", pinned)
