"""A small job under one seed, with random faults: what a bench does ten thousand times."""

from __future__ import annotations

import random
from contextlib import closing

from small_jobs import JOBS, executor
from watched import watched

from headrace.errors import DeviceError, RunError
from headrace_fakedevice import Fault
from headrace_fakedevice.faults import KINDS


def random_run(seed: int) -> int:
    """Several calls of a job with up to three faults; how many came to pass.

    Raises:
        Exception: numbers are wrong, an error is none that a caller can expect, nobody can go on,
            or something is left.
    """
    draw = random.Random(seed)
    name, width = draw.choice(list(JOBS)), draw.randint(1, 3)
    faults = [
        Fault(draw.choice(KINDS), draw.randint(1, 30), at_once=draw.random() < 0.5)
        for _ in range(draw.randint(1, 3))
    ]
    job = JOBS[name]
    with watched(seed, faults) as (_, seen):
        for _ in range(len(faults) + 1):
            try:
                ready = executor(name, width)
            except (DeviceError, RunError):
                continue
            break
        with closing(ready):
            for start in range(0, 6, 2):
                calls = [(n, ready.submit(job.feeds(n))) for n in (start, start + 1)]
                for number, call in calls:
                    try:
                        results = call.wait()
                    except RunError:
                        continue
                    job.check(number, job.picked(results))
            while True:
                struck = len(seen.struck)
                try:
                    job.check(7, ready.run(job.feeds(7)))
                except RunError:
                    assert len(seen.struck) > struck  # or it would never be right again
                    continue
                break
    return len(seen.struck)
