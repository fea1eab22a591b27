"""Variables over several devices: parts, updates, and checkpoints that know nothing of devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
from headrace.errors import VariableError

X = np.arange(28, dtype=np.float32).reshape(7, 4) - 9
W = np.arange(20, dtype=np.float32).reshape(4, 5) / 8

PLACES = [
    ("cpu", "0:0", None, "B"),
    ("fakedevice", "0:0", None, "B"),
    ("fakedevice", "0:0-2", None, "B"),
    ("fakedevice", "0:0-2", None, "S(0)"),
    ("fakedevice", "0:0-2", None, "S(1)"),
    ("fakedevice", "0:0-3", (2, 2), "S(1),S(0)"),
    ("fakedevice", "0:0-3", (2, 2), "B,S(1)"),
]


def layer(tag: str, devices: str, hierarchy: Any, sbp: str) -> tuple[flow.Session, Any]:
    """A session with one job, ``x @ w``, which then adds 1 to w."""
    session = flow.Session()
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement(tag, devices, hierarchy))

    @flow.global_function(function_config=config, session=session)
    def job(x: tp.Numpy.Placeholder((7, 4))) -> tp.Numpy:
        w = flow.get_variable("w", (4, 5), distribute=sbp)
        flow.assign(w, w + 1)
        return flow.matmul(x, w)

    return session, job


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_variable_lies_as_it_shall(place: tuple[Any, ...]) -> None:
    """Whole or in parts: results, updates and what is loaded are those of one device."""
    session, job = layer(*place)
    with session:
        session.load_variables({"w": W})
        for step in range(3):
            np.testing.assert_allclose(job(X), X @ (W + step), rtol=1e-6)
        np.testing.assert_array_equal(session.get_all_variables()["w"], W + 3)


@pytest.mark.parametrize("saved", [PLACES[0], PLACES[4], PLACES[5]], ids=str)
def test_a_checkpoint_fits_any_placement(saved: tuple[Any, ...], tmp_path: Path) -> None:
    """What three or four devices saved, any others load, to the bit."""
    session, job = layer(*saved)
    with session:
        session.load_variables({"w": W})
        job(X)
        flow.checkpoint.save(tmp_path / "saved", session)
    stored = flow.checkpoint.get(tmp_path / "saved")
    np.testing.assert_array_equal(stored["w"], W + 1)
    for place in PLACES:
        other, job = layer(*place)
        with other:
            other.load_variables(stored)
            np.testing.assert_allclose(job(X), X @ (W + 1), rtol=1e-6)


def drawn(tag: str, devices: str, hierarchy: Any, sbp: str) -> Any:
    """The random values of a variable that a job of a new session has there."""
    with flow.Session() as session, flow.scope.placement(tag, devices, hierarchy):

        @flow.global_function(session=session)
        def job() -> None:
            flow.get_variable("w", (4, 5), initializer=flow.kaiming_initializer(), distribute=sbp)

        return session.get_all_variables()["w"]


def test_random_values_do_not_depend_on_the_placement() -> None:
    """They are drawn for the whole, and then laid out."""
    held = [drawn(*place) for place in PLACES]
    for value in held[1:]:
        np.testing.assert_array_equal(value, held[0])


def test_a_split_variable_is_on_each_device_in_part() -> None:
    """The plan has one register for each part, of the part's size, on its device."""
    session, _ = layer("fakedevice", "0:0-2", None, "S(1)")
    with session:
        plan = session.plan()
    (desc,) = plan.variables
    parts = [plan.registers[register] for register in desc.parts]
    assert [part.spec.shape for part in parts] == [(4, 2), (4, 2), (4, 1)]
    assert [plan.chunks[part.chunk].memory.device_index for part in parts] == [0, 1, 2]


def test_two_ways_to_lie_are_refused() -> None:
    """Two jobs that distribute a variable differently name both ways."""
    session, _ = layer("fakedevice", "0:0-2", None, "S(1)")

    with session:
        config = flow.FunctionConfig()
        config.default_placement_scope(flow.scope.placement("fakedevice", "0:0-2"))

        @flow.global_function(function_config=config, session=session)
        def other() -> None:
            flow.get_variable("w", (4, 5), distribute="S(0)")

        message = r"'w': job 'job' has it with distribute S\(1\), and job 'other' with .* S\(0\)"
        with pytest.raises(VariableError, match=message):
            other()


@pytest.mark.parametrize(
    ("shape", "sbp", "message"),
    [
        ((2, 5), "S(0)", "cannot be split along axis 0 over 3 devices"),
        ((4, 5), "B,B", "over the 1 axes of 'fakedevice 0:0-2'"),
        ((4,), "S(1)", "cannot be split along axis 1"),
    ],
)
def test_impossible_splits_are_refused(shape: tuple[int, ...], sbp: str, message: str) -> None:
    """Where the variable is asked for, with its name."""
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job() -> None:
            with flow.scope.placement("fakedevice", "0:0-2"):
                flow.get_variable("w", shape, distribute=sbp)

        with pytest.raises(VariableError, match=f"'w'.*{message}"):
            job()


def _place(draw: Callable[..., Any], rank: int) -> tuple[Any, ...]:
    tag = draw(st.sampled_from(["cpu", "fakedevice"]))
    count = draw(st.integers(1, 4)) if tag == "fakedevice" else 1
    axes = [f"S({axis})" for axis in range(rank)] + ["B"]
    return tag, f"0:0-{count - 1}", None, draw(st.sampled_from(axes))


@st.composite
def moves(draw: Callable[..., Any]) -> tuple[tuple[int, ...], tuple[Any, ...], tuple[Any, ...]]:
    """A shape whose axes can all be split by four, and two places for it."""
    shape = tuple(draw(st.lists(st.integers(4, 7), min_size=1, max_size=3)))
    return shape, _place(draw, len(shape)), _place(draw, len(shape))


@given(moves())
@settings(max_examples=20)
def test_values_move_between_any_two_places(move: tuple[Any, ...]) -> None:
    """Loaded here, assigned to a variable that lies elsewhere, and read: every bit is the same."""
    shape, here, there = move
    value = np.random.default_rng(1).standard_normal(shape).astype(np.float32)

    with flow.Session() as session:

        def place(name: str, where: tuple[Any, ...]) -> flow.Symbol:
            tag, devices, hierarchy, sbp = where
            with flow.scope.placement(tag, devices, hierarchy):
                return flow.get_variable(name, shape, distribute=sbp)

        @flow.global_function(session=session)
        def move_it() -> None:
            flow.assign(place("b", there), place("a", here))

        session.load_variables({"a": value}, ignore_mismatch=True)
        move_it()
        np.testing.assert_array_equal(session.get_all_variables()["b"], value)
