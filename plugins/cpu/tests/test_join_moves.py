"""Transposes with reshapes between them: one, where one does what they do."""

import numpy as np
import pytest

from headrace.frontend.compiled_job import CompiledJob
from headrace.graph.builder import JobGraphBuilder
from headrace.placement import Placement
from headrace.registry import default_registry
from headrace.tensor_spec import TensorSpec
from headrace_cpu.passes.join_moves import JoinMoves

SHUFFLE = ((0, 3, 1, 2), [1, 3, 4, 5, 6], (0, 2, 1, 3, 4), [1, 12, 5, 6], (0, 2, 3, 1))
"""Channels that lie last are brought first, dealt out anew, and brought last again."""

CASES = {
    "shuffle": ((1, 5, 6, 12), SHUFFLE, 1),
    "nothing": ((2, 3, 4), ((2, 0, 1), [4, 6], [4, 2, 3], (1, 2, 0)), 0),
    "pixels": (
        (1, 4, 5, 12),
        ((0, 3, 1, 2), [1, 2, 2, 3, 4, 5], (0, 3, 4, 1, 5, 2), [1, 3, 8, 10]),
        1,
    ),
    "axes of one": ((1, 6, 1, 4), ((3, 2, 1, 0), [4, 1, 2, 3, 1], (2, 3, 1, 0, 4), [6, 4]), 0),
    "cut twice": ((24, 5), ((1, 0), [5, 4, 6], (0, 2, 1), [5, 2, 3, 4], (1, 3, 0, 2)), 1),
    "no common parts": ((4, 6), ((1, 0), [8, 3], (1, 0)), None),
    "one transpose": ((4, 6), ([8, 3], (1, 0), [24]), None),
}  # fmt: skip


def graph_of(shape, moves, *, read_between=False):
    builder = JobGraphBuilder("job", Placement.of_device("cpu:0"))
    x = builder.input("x", TensorSpec(shape, "float32"))
    for at, move in enumerate(moves):
        if isinstance(move, tuple):
            (x,) = builder.op("transpose", [x], perm=move)
        else:
            (x,) = builder.op("reshape", [x], shape=tuple(move))
        if read_between and at == 1:
            builder.output("between", x)
    builder.output("y", x)
    return builder.finish()


@pytest.mark.parametrize("name", CASES)
def test_moves_that_follow_each_other_are_one(name):
    """The result is numpy's; what no one move does stays as it is."""
    shape, moves, transposes = CASES[name]
    graph = graph_of(shape, moves)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wanted = x
    for move in moves:
        wanted = wanted.transpose(move) if isinstance(move, tuple) else wanted.reshape(move)
    joined = JoinMoves("cpu")(graph)
    if transposes is None:
        assert joined is graph
    else:
        assert [op.call.op for op in joined.ops].count("transpose") == transposes
    with CompiledJob(joined, default_registry()) as job:
        np.testing.assert_array_equal(job.run({"x": x})["y"], wanted)


def test_what_others_read_stays():
    """A tensor between two moves that is a result, and moves of another device."""
    graph = graph_of((1, 5, 6, 12), SHUFFLE[:3], read_between=True)
    assert JoinMoves("cpu")(graph) is graph
    shuffle = graph_of((1, 5, 6, 12), SHUFFLE)
    assert JoinMoves("other")(shuffle) is shuffle


@pytest.mark.parametrize("seed", range(40))
def test_any_chain_gives_what_numpy_gives(seed):
    """Of sizes whose parts often fit, and sometimes do not."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 6], 4))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wanted, moves = x, []
    for _ in range(6):
        if rng.integers(2):
            move = tuple(int(n) for n in rng.permutation(wanted.ndim))
            wanted = wanted.transpose(move)
        else:
            factors, rest = [], wanted.size
            for n in rng.choice([1, 2, 3, 4, 6], 6):
                if rest % n == 0:
                    factors.append(int(n))
                    rest //= n
            move = [*factors, int(rest)]
            wanted = wanted.reshape(move)
        moves.append(move)
    with CompiledJob(JoinMoves("cpu")(graph_of(shape, moves)), default_registry()) as job:
        np.testing.assert_array_equal(job.run({"x": x})["y"], wanted)
