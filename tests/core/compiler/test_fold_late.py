"""What folds late is folded one by one, and what it was made of is let go of at once."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from headrace.compiler.passes.fold_late import fold_late
from headrace.graph import CORE_OPS, JobGraph, JobGraphBuilder, OpEntry, builder
from headrace.op_call import OpCall
from headrace.ops import Input, Op
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec


class Packed(Op):
    """y: as x."""

    name = "near.pack"
    inputs = (Input("x"),)
    folds_late = True

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (call.input(0),)


class Alive:
    """Knows ``near.pack``, which adds one; counts the weights that are there when it is computed.

    Attributes:
        counts: one for each time.
    """

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._weights: list[weakref.ref[Any]] = []

    def weight(self, value: float) -> Array:
        """A weight that is watched; a view of it would hold it as well."""
        made = np.full(4, value, np.float32)
        self._weights.append(weakref.ref(made))
        return made

    def op(self, name: str) -> OpEntry:
        if name == Packed.name:
            return OpEntry("near", Packed, self._compute)
        return CORE_OPS.op(name)

    def _compute(
        self, call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
    ) -> None:
        self.counts.append(sum(weight() is not None for weight in self._weights))
        assert inputs[0] is not None
        outputs[0][...] = inputs[0] + 1


def graph_of(alive: Alive, *, also_returned: bool = False) -> list[JobGraph]:
    """Three weights, packed, and the sum of what was made of them and is fed."""
    builder = JobGraphBuilder("job", Placement.of_device("near"), ops=alive)
    total = builder.input("x", TensorSpec((4,), "float32"))
    for value in (1, 2, 3):
        weight = builder.constant(alive.weight(value), f"w{value}")
        (packed,) = builder.op("near.pack", [weight])
        (total,) = builder.op("add", [total, packed])
        if also_returned:
            builder.output(f"w{value}", weight)
    builder.output("y", total)
    return [builder.finish()]


def test_a_builder_leaves_them() -> None:
    """Until the passes of plugins have run they are ops, of which nothing was computed."""
    alive = Alive()
    (graph,) = graph_of(alive)
    assert [op.call.op for op in graph.ops] == ["near.pack", "add"] * 3
    assert not alive.counts


def test_each_weight_is_let_go_of_when_it_was_packed() -> None:
    """Before the next one is packed, so that they are never all there twice."""
    alive = Alive()
    graph = fold_late(graph_of(alive).pop, alive)
    assert alive.counts == [3, 2, 1]
    assert [op.call.op for op in graph.ops] == ["add"] * 3
    assert [value.tolist() for value in graph.constants.values()] == [[2] * 4, [3] * 4, [4] * 4]


def test_what_packs_may_fill_up_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their size, panels take the place of their source; other ops may not make more."""
    monkeypatch.setattr(builder, "FOLD_LIMIT_BYTES", 100)
    assert builder.fold_limit(80) == builder.fold_limit(80, late=True) == 100
    assert builder.fold_limit(800) == 800
    assert builder.fold_limit(800, late=True) == 900


def test_a_weight_that_is_also_a_result_stays() -> None:
    """Whoever reads it otherwise finds it."""
    alive = Alive()
    graph = fold_late(graph_of(alive, also_returned=True).pop, alive)
    assert alive.counts == [3, 3, 3]
    assert [graph.constants[f"w{value}"][0] for value in (1, 2, 3)] == [1, 2, 3]


def test_a_weight_that_two_pack_stays_until_the_second_has() -> None:
    """It is let go of by the last one that reads it."""
    alive = Alive()
    builder = JobGraphBuilder("job", Placement.of_device("near"), ops=alive)
    total = builder.input("x", TensorSpec((4,), "float32"))
    weight = builder.constant(alive.weight(1))
    for _ in range(2):
        (packed,) = builder.op("near.pack", [weight])
        (total,) = builder.op("add", [total, packed])
    builder.output("y", total)
    held = [builder.finish()]
    del builder
    graph = fold_late(held.pop, alive)
    assert alive.counts == [1, 1]
    assert [value.tolist() for value in graph.constants.values()] == [[2] * 4] * 2
