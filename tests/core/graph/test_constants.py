"""Constants that are made when they are asked for, and those that several jobs have in common."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial

import numpy as np

from headrace.aligned import Empty, aligned_empty
from headrace.graph import JobGraphBuilder
from headrace.graph.constants import (
    AGAIN_BYTES,
    Constants,
    LazyConstant,
    MadeConstants,
    entries_of,
    settled,
)
from headrace.ops import OPS
from headrace.ops.schema import make_call
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

SIZE = 4096
NEAR = Placement.of_device("near")


class Making:
    """Makes zeros, and counts how often.

    Attributes:
        count: so often.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.count = 0
        self._size = size

    def __call__(self, empty: Empty = aligned_empty) -> Array:
        self.count += 1
        zeros = empty((self._size,), np.dtype(np.float32))
        zeros[...] = 0
        return zeros

    def lazy(self, made: MadeConstants) -> LazyConstant:
        """A constant of these."""
        return LazyConstant(TensorSpec((self._size,), "float32"), "zeros", self, made)


def same(value: Array) -> Array:
    return value


def test_nothing_is_made_until_it_is_asked_for() -> None:
    """A builder knows the spec of a constant, and of what is folded from it, without its value."""
    making = Making()
    builder = JobGraphBuilder("job", NEAR)
    (folded,) = builder.op("reshape", [builder.constant(making.lazy(MadeConstants(same)))],
                           shape=(64, 64))  # fmt: skip
    builder.output("y", folded)
    graph = builder.finish()
    assert folded.spec == TensorSpec((64, 64), "float32")
    assert folded.name in graph.constants
    assert making.count == 0
    assert graph.constants[folded.name].shape == (64, 64)
    assert making.count == 1


def test_more_constants_make_none_of_those_that_are_there() -> None:
    """A pass that brings its own leaves weights to whoever reads them."""
    making = Making()
    builder = JobGraphBuilder("job", NEAR)
    builder.output("y", builder.constant(making.lazy(MadeConstants(same)), "weight"))
    graph = builder.finish().with_constants({"more": np.ones(2, np.float32)})
    assert sorted(graph.constants) == ["more", "weight"]
    assert making.count == 0


def test_jobs_share_what_they_fold_from_the_same() -> None:
    """The second job gets the array of the first; the constant itself is not made again."""
    making, made = Making(), MadeConstants(same)

    def job(term: float) -> Array:
        builder = JobGraphBuilder("job", NEAR)
        terms = [
            builder.constant(making.lazy(made)),
            builder.constant(np.array([term], np.float32)),
        ]
        (folded,) = builder.op("add", terms)
        builder.output("y", folded)
        return settled(entries_of(builder.finish().constants)[folded.name])

    first = job(1)
    assert job(1) is first
    assert making.count == 1
    np.testing.assert_array_equal(job(2), np.full(SIZE, 2, np.float32))


def test_outputs_of_one_op_are_made_together() -> None:
    """Once for all of them, in any order; and again only for what nobody holds any more."""
    made, counts = MadeConstants(same), [0]
    call = make_call(OPS["top_k"], "top", [TensorSpec((SIZE,), "float32")], {"k": 3}, outputs=2)

    def compute(inputs: list[Array | None], empty: Empty) -> list[Array]:
        counts[0] += 1
        return [np.zeros(3, np.float32), np.arange(3)]

    def indices_and_values() -> list[Array]:
        lazy = LazyConstant.computed(call, [Making().lazy(made)], compute, aligned_empty)
        assert lazy is not None
        assert tuple(constant.spec for constant in lazy) == call.outputs
        return [constant.passing() for constant in reversed(lazy)]

    indices, values = indices_and_values()
    np.testing.assert_array_equal(indices, [0, 1, 2])
    np.testing.assert_array_equal(values, [0, 0, 0])
    assert indices_and_values()[0] is indices
    assert counts == [1]
    del indices, values
    indices_and_values()
    assert counts == [2]


def test_a_large_array_makes_nothing_lazy() -> None:
    """Nobody knows whether it is the same in another job, so it is folded at once."""
    making, made = Making(), MadeConstants(same)
    builder = JobGraphBuilder("job", NEAR)
    ones = builder.constant(np.ones(SIZE, np.float32))
    (folded,) = builder.op("add", [builder.constant(making.lazy(made)), ones])
    builder.output("y", folded)
    assert isinstance(entries_of(builder.finish().constants)[folded.name], np.ndarray)


def test_what_nobody_holds_goes() -> None:
    """A value goes with the last job that has it."""
    made = MadeConstants(same)
    watched = weakref.ref(made.value("zeros", Making()))
    gc.collect()
    assert watched() is None


def test_parts_that_are_joined_are_of_one_array() -> None:
    """What they are parts of is made once for all of them, and not held afterwards."""
    making, made = Making(), MadeConstants(same)
    builder = JobGraphBuilder("job", NEAR)
    whole = builder.constant(making.lazy(made))
    parts = [
        builder.op("slice", [whole], starts=[start], ends=[start + 2], axes=[0], steps=[1])[0]
        for start in (4, 0, 2)
    ]
    (joined,) = builder.op("concat", parts, axis=0)
    builder.output("y", joined)
    value = settled(entries_of(builder.finish().constants)[joined.name])
    np.testing.assert_array_equal(value, np.zeros(6, np.float32))
    assert making.count == 1
    made.value("zeros", making)
    assert making.count == 2


def test_what_is_settled_once_is_not_held() -> None:
    """It was made for one job, and goes with that."""
    made = MadeConstants(same)
    watched = weakref.ref(Making().lazy(made).settled())
    gc.collect()
    assert watched() is None


def test_what_is_made_again_is_held_within_bounds() -> None:
    """The second time; what would be too much with the newest goes."""

    def twice(name: str, making: Callable[[], Array]) -> None:
        for _ in range(2):
            made.value(name, making)

    made = MadeConstants(same)
    half = AGAIN_BYTES // 4 // 2
    first, others = Making(half), [Making(half), Making(half)]
    twice("first", first)
    made.value("first", first)
    assert first.count == 2
    for name, making in enumerate(others):
        twice(str(name), making)
    made.value("first", first)
    assert first.count == 3


def test_a_view_of_what_is_held_takes_no_room() -> None:
    """Both halves of the room are there for arrays that own their memory."""
    made = MadeConstants(same)
    half = AGAIN_BYTES // 4 // 2
    makings = {"one": Making(half), "two": Making(half)}

    def view(name: str) -> Array:
        return made.value(name, makings[name]).reshape(2, -1)

    for name in makings:
        for _ in range(2):
            made.value(("view", name), partial(view, name))
    for name in makings:
        made.value(name, makings[name])
    assert [making.count for making in makings.values()] == [2, 2]


def test_a_value_cannot_be_written() -> None:
    """Several jobs have it."""
    assert not MadeConstants(same).value("zeros", Making()).flags.writeable


def test_a_mapping_of_arrays_will_do() -> None:
    """Passes may give a graph constants in a mapping of their own."""
    arrays = {"w": np.zeros(3)}
    assert entries_of(arrays) is arrays
    assert dict(Constants(arrays)) == arrays


def test_parts_of_a_constant_are_views_until_a_job_has_one() -> None:
    """What gates are put together of is copied once; a device is given no part of a weight."""
    made, rows, width = MadeConstants(same), 4, SIZE // 4
    making = Making()
    builder = JobGraphBuilder("job", NEAR)
    (weight,) = builder.op("reshape", [builder.constant(making.lazy(made))], shape=(rows, width))
    halves = [
        builder.op("slice", [weight], starts=(start,), ends=(start + 2,), axes=(0,))[0]
        for start in (0, 2)
    ]
    (row,) = builder.op("slice", [weight], starts=(1,), ends=(2,), axes=(0,), steps=(1,))
    (turned,) = builder.op("concat", halves[::-1], axis=0)
    value, part, small = (builder.value(tensor) for tensor in (weight, halves[1], row))
    assert value is not None and part is not None and small is not None
    assert np.shares_memory(part, value)
    assert np.shares_memory(small, value)
    assert making.count == 1
    lies = settled(entries_of(builder.finish().constants)[halves[1].name])
    assert not np.shares_memory(lies, value)
    np.testing.assert_array_equal(lies, value[2:])
    np.testing.assert_array_equal(builder.value(turned), np.concatenate([value[2:], value[:2]]))
