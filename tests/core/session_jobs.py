"""Small jobs of sessions, and the decorator that puts them in one, on a device."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import headrace as flow
import headrace.typing as tp
from headrace.hookspecs import hookimpl

X = np.array([1, 2, 3], np.float32)
Three = tp.Numpy.Placeholder((3,))


def on(session: flow.Session, tag: str, width: int = 1) -> Callable[..., Any]:
    """``global_function`` in a session, on a device, for so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    return flow.global_function(function_config=config, session=session)


def counter(job: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A job that adds to a variable, and one that reads it."""

    @job
    def add(x: Three) -> tp.Numpy:
        total = flow.get_variable("total", (3,))
        flow.assign(total, total + x)
        return total

    @job
    def read() -> tp.Numpy:
        return flow.get_variable("total", (3,)) + 0

    return add, read


def clamping(job: Callable[..., Any]) -> Any:
    """A job ``relu(x)``; its op ``last`` can be gated."""

    @job
    def clamp(x: Three) -> tp.Numpy:
        return flow.relu(x, name="last")

    return clamp


def telling(job: Callable[..., Any]) -> Any:
    """The same job, whose result goes to a callback."""

    @job
    def tell(x: Three) -> tp.Callback[tp.Numpy]:
        return flow.relu(x, name="last")

    return tell


def with_hook(module: Any, hook: str, entries: list[Any]) -> Any:
    """A plugin module that answers a hook in another way."""
    hooks = {**vars(module), hook: hookimpl(lambda: entries)}
    return SimpleNamespace(**hooks)
