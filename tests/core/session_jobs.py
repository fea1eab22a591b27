"""Jobs over variables, and the decorator that puts them in a session on a device."""

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


def on(session: flow.Session, tag: str) -> Callable[..., Any]:
    """``global_function`` in a session, on a device."""
    config = flow.FunctionConfig()
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


def with_hook(module: Any, hook: str, entries: list[Any]) -> Any:
    """A plugin module that answers a hook in another way."""
    hooks = {**vars(module), hook: hookimpl(lambda: entries)}
    return SimpleNamespace(**hooks)
