"""Ctrl-C while queued work is done, which is on the thread that waits for it."""

from __future__ import annotations

from itertools import count

import numpy as np
from watched import nothing_left

import headrace as flow
import headrace.typing as tp
from headrace.testing.interrupts import interrupted

X = np.array([1, -2, 3], np.float32)


def test_work_can_be_interrupted_at_any_step() -> None:
    """No memory is taken for used by work that nobody will do, and the next call is right."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("fakedevice", "0:0"))
    with nothing_left(), flow.Session() as session:

        @flow.global_function(function_config=config, session=session)
        def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
            return flow.relu(x) + x

        job(X)
        for step in count():
            with interrupted(step, ("headrace_fakedevice",)) as interrupt:
                job(X)
            if not interrupt.came:
                break
            assert job(X).tolist() == [2, -2, 6], interrupt.where
        assert step > 100
