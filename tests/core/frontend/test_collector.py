"""Python's garbage collector while a job is compiled, and after."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import numpy as np
import pytest
from forked import in_child
from onnx_models import info, model, node
from toy_backends import OPS, near

import headrace as flow
import headrace.typing as tp
from headrace.collector import collector_rests
from headrace.device import OpCall
from headrace.numpy_ops import NumpyKernel
from headrace.registry import BackendRegistry

X = np.ones(3, np.float32)


@pytest.fixture(autouse=True)
def enabled_after() -> Iterator[None]:
    """Whatever a test does, the collector is on when it is over."""
    yield
    gc.enable()


def session(seen: list[bool], breaks: bool = False) -> flow.Session:
    """A session whose job notes, as its kernel is made, whether the collector is on."""

    def make(call: OpCall) -> NumpyKernel:
        seen.append(gc.isenabled())
        if breaks:
            raise RuntimeError("no such kernel")
        return NumpyKernel(call)

    made = flow.Session(BackendRegistry.from_modules({"near": near(OPS, make)}))
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near", "0:0"))

    @flow.global_function(function_config=config, session=made)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(x)

    return made


def test_it_rests_while_a_job_is_compiled() -> None:
    """Off while kernels are made, on again when the job runs."""
    seen: list[bool] = []
    with session(seen) as made:
        made.run("job", [X])
    assert seen and not any(seen)
    assert gc.isenabled()


def test_it_is_on_again_when_compiling_fails() -> None:
    """An error of a plugin does not leave the process without its collector."""
    with session([], breaks=True) as made, pytest.raises(Exception, match="no such kernel"):
        made.run("job", [X])
    assert gc.isenabled()


def test_whoever_has_switched_it_off_finds_it_off() -> None:
    """What the caller chose stays."""
    gc.disable()
    with session([]) as made:
        made.run("job", [X])
    assert not gc.isenabled()


def test_what_an_import_made_is_old_when_it_is_over() -> None:
    """The next collection does not look through it; what is made later is young as ever."""
    with collector_rests(lasting=True):
        made: list[object] = []
    later: list[object] = []
    old = {id(found) for found in gc.get_objects(generation=2)}
    assert id(made) in old and id(later) not in old
    assert gc.isenabled()


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generations of the collections that come within."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


NEAR = BackendRegistry.from_modules({"near": near(OPS)})


def relus(count: int) -> flow.onnx.Model:
    """A model that is a chain of so many ops, on a device of a toy plugin."""
    names = ["x", *(f"t{index}" for index in range(count - 1)), "y"]
    nodes = [node("Relu", *ends) for ends in itertools.pairwise(names)]
    given = model(nodes, [info("x", (3,))], [info("y", (3,))]).SerializeToString()
    return flow.onnx.load(given, "near", registry=NEAR, plan_cache=False)


def test_no_collection_comes_with_a_model_or_right_behind_it() -> None:
    """Hundreds of ops are read, compiled and run, and what stays of them is old."""
    with relus(3) as first:  # imports what it needs
        first.run({"x": X})
    gc.collect()
    with collections() as seen, relus(300) as loaded:
        loaded.run({"x": X})
    assert seen == []


def test_compiling_leaves_no_cycles() -> None:
    """Or nobody would free them soon, as they count as old."""
    with relus(3) as first:
        first.run({"x": X})
    gc.collect()
    gc.disable()
    with relus(30) as loaded:
        loaded.run({"x": X})
        assert gc.collect() == 0


def test_what_others_froze_stays_frozen() -> None:
    """An import thaws nothing that the caller has taken out of the collector's way."""
    frozen: list[object] = []
    gc.freeze()
    try:
        with collector_rests(lasting=True):
            later: list[object] = []
        seen = {id(found) for found in gc.get_objects()}
        assert id(frozen) not in seen and id(later) in seen
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("step", ["_ends", "gc.get_freeze_count"])
def test_it_is_on_again_after_an_interrupt_at_the_end(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a block was kept from saying that it is over, the next one notices."""

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(f"headrace.collector.{step}", interrupted)
        with collector_rests(lasting=True):
            pass
    with collector_rests():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_child_collects_though_a_thread_of_its_parent_compiles() -> None:
    """That thread is not there, to have the collector go on."""
    resting, over = threading.Event(), threading.Event()

    def rest() -> None:
        with collector_rests():
            resting.set()
            assert over.wait(20)

    def check() -> None:
        assert gc.isenabled(), "it rests"
        with collector_rests():
            assert not gc.isenabled(), "it does not rest"
        assert gc.isenabled(), "it rests for ever"

    thread = threading.Thread(target=rest)
    thread.start()
    try:
        assert resting.wait(20)
        assert in_child(check) == "nothing"
        assert not gc.isenabled()
    finally:
        over.set()
        thread.join()
