"""No hook of a plugin runs while jobs run: counted at pluggy itself, on the installed backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pluggy
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.registry import BackendRegistry

LAUNCHES = 10_000


@pytest.mark.parametrize("tag", ["cpu", "fakedevice"])
def test_no_hook_is_called_by_a_launch(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading calls hooks, which shows that the count counts; 10,000 launches call none."""
    calls: list[str] = []
    called = pluggy.HookCaller.__call__

    def counted(self: pluggy.HookCaller, **arguments: object) -> Any:
        calls.append(self.name)
        return called(self, **arguments)

    monkeypatch.setattr(pluggy.HookCaller, "__call__", counted)
    ops = 100  # of one job, so that the calls of the job are few
    x = np.array([-1, 0, 2], np.float32)
    with flow.Session(BackendRegistry()) as session:

        @flow.global_function(session=session)
        def chain(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:  # type: ignore[valid-type]
            with flow.scope.placement(tag, "0:0"):
                y: Any = x
                for _ in range(ops):
                    y = flow.relu(y)
            return y  # type: ignore[no-any-return]

        np.testing.assert_array_equal(chain(x), [0, 0, 2])
        assert "headrace_kernels" in calls
        calls.clear()
        for _ in range(LAUNCHES // ops):
            chain(x)
        assert calls == []
