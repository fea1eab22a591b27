"""Ctrl-C at every step of a run of a model: the next run is right, and close gives all back."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest
from onnx_models import info, model, node
from toy_backends import FarAllocator, far, near

from headrace.numpy_ops import NumpyKernel
from headrace.onnx import Model, load
from headrace.registry import BackendRegistry
from headrace.runtime import shelter
from headrace.testing.interrupts import interrupted

DOUBLED = model([node("Add", "x x", "y")], [info("x", ["n"])])
X = np.array([1, -2, 3], np.float32)


def by_run(loaded: Model) -> list[float]:
    return loaded.run({"x": X})["y"].tolist()


def by_submit(loaded: Model) -> list[float]:
    return loaded.submit({"x": X}).result()["y"].tolist()


@pytest.mark.parametrize("how", [by_run, by_submit])
@pytest.mark.parametrize("width", [1, 2])
def test_a_run_can_be_interrupted_at_any_step(
    how: Callable[[Model], list[float]], width: int
) -> None:
    """Whether the model is closed at once, or runs on before."""
    live, threads = FarAllocator.live, threading.active_count()
    registry = BackendRegistry.from_modules({"near": near(kernel=NumpyKernel), "far": far()})
    for step in count():
        with load(DOUBLED, "far", registry=registry, concurrency_width=width, jobs=1) as loaded:
            by_run(loaded)
            with interrupted(step) as interrupt:
                how(loaded)
            if step % 2:
                assert how(loaded) == [2, -4, 6], interrupt.where
        left = (FarAllocator.live, threading.active_count())
        assert left == (live, threads), interrupt.where
        if not interrupt.came:
            break
    assert step > 20


def test_opening_and_closing_take_a_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many jobs a model has: each thread more is another wait for those that compute."""
    started: list[str] = []

    def counted(kind: str, start: Callable[..., object]) -> Callable[..., object]:
        def start_counted(*arguments: object) -> object:
            started.append(kind)
            return start(*arguments)

        return start_counted

    monkeypatch.setattr(shelter, "start_new_thread", counted("shelter", start_new_thread))
    monkeypatch.setattr(threading.Thread, "start", counted("thread", threading.Thread.start))
    registry = BackendRegistry.from_modules({"far": far()})
    loaded = load(DOUBLED, "far", registry=registry, jobs=4)
    for n in range(1, 5):
        loaded.run({"x": np.ones(n, np.float32)})
        assert started == ["shelter"] * n
    started.clear()
    loaded.close()
    assert started == ["shelter"]
