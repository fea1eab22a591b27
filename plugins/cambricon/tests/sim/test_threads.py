"""Several threads of one process, each with a queue and a handle of its own."""

import threading

import numpy as np
from net import Net, values
from stand_in import CARD_TO_HOST, HOST_TO_CARD, OK, address


def in_threads(count, work):
    """Run it in so many threads at once; what any of them raised is raised."""
    problems, start = [], threading.Barrier(count)

    def run(index):
        try:
            start.wait()
            work(index)
        except BaseException as problem:  # noqa: BLE001 - raised below
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for problem in problems:
        raise problem


def test_threads_compute_beside_each_other(start):
    """Each gets its own results, whatever the others do."""
    sim = start()

    def work(index):
        net = Net(sim)
        x = values((4, 50), seed=index)
        for _ in range(10):
            assert np.array_equal(net.activation("RELU", x), np.maximum(x, 0))
            assert np.array_equal(net.concat([x, x], 1), np.concatenate([x, x], 1))
        net.close()

    in_threads(4, work)


def test_the_current_card_is_of_a_thread(start):
    """A thread begins with card 0, and changes it for itself alone."""
    sim = start(cards=2)
    sim.select(1)

    def work(index):
        assert sim.select(index % 2) == OK
        queue, block = sim.queue(), sim.allocate(64)
        data, out = np.full(64, index, np.uint8), np.zeros(64, np.uint8)
        for _ in range(20):
            sim.check("cnrtMemcpyAsync", block, address(data), 64, queue, HOST_TO_CARD)
            sim.check("cnrtMemcpyAsync", address(out), block, 64, queue, CARD_TO_HOST)
            sim.sync(queue)
            assert np.array_equal(out, data)
        sim.free(block)
        sim.check("cnrtQueueDestroy", queue)

    in_threads(4, work)
    sim.select(0)


def test_one_thread_waits_for_what_another_enqueued(start):
    """By a notifier that it is given; then the memory is its own."""
    sim = start()
    queue, notifier, block = sim.queue(), sim.notifier(), sim.allocate(16)
    placed = threading.Event()

    def work(index):
        if index == 0:
            sim.check("cnrtMemsetAsync", block, 5, 16, queue)
            sim.check("cnrtPlaceNotifier", notifier, queue)
            placed.set()
        else:
            assert placed.wait(60)
            sim.check("cnrtWaitNotifier", notifier)
            assert (sim.to_host(block, (16,), np.uint8) == 5).all()

    in_threads(2, work)
    sim.free(block)
    assert sim.destroy_notifier(notifier) == OK
    sim.check("cnrtQueueDestroy", queue)
