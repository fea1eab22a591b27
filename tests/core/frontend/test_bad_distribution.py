"""What cannot be distributed as a user wants it: each error names op, tensor, and both sides."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plugin_ops import hello
from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.errors import HeadraceError, SbpError, VariableError
from headrace.graph import JobGraph
from headrace.registry import BackendRegistry

OPS = ("add", "relu", "identity", "reshape", "matmul", "softmax", "slice", "concat", "arange")
Matrix = tp.Numpy.Placeholder((8, 6))
split, broadcast = flow.distribute.split, flow.distribute.broadcast


def session() -> flow.Session:
    return flow.Session(BackendRegistry.from_modules({"near": near(OPS), "hello": hello()}))


def on_two(made: flow.Session) -> Callable[..., object]:
    """``global_function`` over two devices."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near", "0:0-1"))
    return flow.global_function(function_config=config, session=made)


def said_by(body: Callable[[flow.Symbol], flow.Symbol]) -> str:
    """What a job that returns ``body(x)`` is refused with; lines of this file are LINE."""
    with session() as made:

        @on_two(made)
        def job(x: Matrix) -> tp.Numpy:
            return body(x)

        @on_two(made)
        def other(x: Matrix) -> tp.Numpy:
            return flow.relu(x)

        with pytest.raises(HeadraceError) as refused:
            job(np.zeros((8, 6), np.float32))
        assert isinstance(refused.value, (SbpError, VariableError))
        assert other(np.ones((8, 6), np.float32)).sum() == 48  # the session goes on
    return re.sub(r"test_bad_distribution\.py:\d+", "LINE", str(refused.value))


def told_twice(x: flow.Symbol) -> flow.Symbol:
    return flow.relu(x).with_distribute(split(0)).with_distribute(split(1))


def fed_two_ways(x: flow.Symbol) -> flow.Symbol:
    first = flow.relu(x.with_distribute("S(0)"))
    return first + flow.relu(x.with_distribute("B"))


def line_of_softmax(x: flow.Symbol) -> flow.Symbol:
    return flow.softmax(x, axis=1).with_distribute(split(1))


def axis_that_is_not_there(x: flow.Symbol) -> flow.Symbol:
    return flow.relu(x).with_distribute(split(2))


def one_row_for_two(x: flow.Symbol) -> flow.Symbol:
    row = flow.apply_op("slice", [x], starts=(0,), ends=(1,), axes=(0,))
    return flow.relu(row).with_distribute(split(0))


def other_hierarchy(x: flow.Symbol) -> flow.Symbol:
    return flow.relu(x).with_distribute([split(0), broadcast()])


def without_signatures(x: flow.Symbol) -> flow.Symbol:
    start = flow.apply_op("slice", [x], starts=(0, 0), ends=(1, 1), axes=(0, 1))
    return flow.apply_op("arange", [start, np.float32(1)], size=8).with_distribute(split(0))


def softmax_of_one_axis(x: flow.Symbol) -> flow.Symbol:
    return flow.softmax(flow.reshape(x, (48,))).with_distribute(split(0))


def rows_that_do_not_divide(x: flow.Symbol) -> flow.Symbol:
    return flow.reshape(flow.relu(x), (3, 16)).with_distribute(split(0))


def variable_of_one_row(x: flow.Symbol) -> flow.Symbol:
    return flow.get_variable("v", (1, 6), distribute=split(0)) + x


def variable_that_lies_elsewhere(x: flow.Symbol) -> flow.Symbol:
    return flow.get_variable("v", (8, 6), distribute=split(0)).with_distribute("B") + x


GOLDEN = {
    told_twice: (
        "tensor 'relu_0/y' is to be distributed as S(1) (LINE), but before tensor 'relu_0/y' is to "
        "be distributed as S(0) (LINE); a tensor has one distribution: apply 'identity' to it for "
        "another"
    ),
    fed_two_ways: (
        "tensor 'x' is to be distributed as B (LINE), but before tensor 'x' is to be distributed "
        "as S(0) (LINE); a tensor has one distribution: apply 'identity' to it for another"
    ),
    line_of_softmax: (
        "softmax 'softmax_0' (LINE), which makes float32[8, 6] of float32[8, 6], cannot run on 2 "
        "devices as wanted: tensor 'softmax_0/y' is to be distributed as S(1) (LINE). What it can "
        "do: S(0) -> S(0); B -> B"
    ),
    axis_that_is_not_there: (
        "tensor 'relu_0/y' is to be distributed as S(2) (LINE), and float32[8, 6] has no axis 2: "
        "its axes are 0 to 1"
    ),
    one_row_for_two: (
        "relu 'relu_0' (LINE), which makes float32[1, 6] of float32[1, 6], cannot run on 2 devices "
        "as wanted: tensor 'relu_0/y' is to be distributed as S(0) (LINE). What it can do: S(1) -> "
        "S(1); B -> B; S(0) cannot be: axis 0 of float32[1, 6] has 1 element for 2 devices, and "
        "each needs one"
    ),
    other_hierarchy: (
        "tensor 'relu_0/y' is to be distributed as S(0),B (LINE), which is for a hierarchy of 2 "
        "axes; relu 'relu_0' (LINE) runs over one of 1, [2]. Give one for each axis: split, "
        "broadcast or auto"
    ),
    without_signatures: (
        "arange 'arange_0' (LINE), which makes float32[8] of float32[1, 1], float32[], cannot run "
        "on 2 devices as wanted: tensor 'arange_0/y' is to be distributed as S(0) (LINE). All it "
        "can do is B: its class has no sbp_signatures, ways to share it out"
    ),
    softmax_of_one_axis: (
        "softmax 'softmax_0' (LINE), which makes float32[48] of float32[48], cannot run on 2 "
        "devices as wanted: tensor 'softmax_0/y' is to be distributed as S(0) (LINE). All it can "
        "do is B: of tensors like these it has no sbp_signatures, ways to share it out"
    ),
    rows_that_do_not_divide: (
        "reshape 'reshape_0' (LINE), which makes float32[3, 16] of float32[8, 6], cannot run on 2 "
        "devices as wanted: tensor 'reshape_0/y' is to be distributed as S(0) (LINE). What it can "
        "do: P -> P; P(max) -> P(max); P(min) -> P(min); B -> B"
    ),
    variable_of_one_row: (
        "variable 'v' is float32[1, 6] and cannot be split along axis 0 over 2 devices of "
        "'near 0:0-1': each must hold some of it"
    ),
    variable_that_lies_elsewhere: (
        "tensor 'v' is to be distributed as B (LINE); it is variable 'v', which is distributed as "
        "S(0); say it where the variable is made"
    ),
}


@pytest.mark.parametrize("body", GOLDEN, ids=lambda body: body.__name__)
def test_it_is_refused_with_both_sides(body: Callable[[flow.Symbol], flow.Symbol]) -> None:
    """By name and place; another job of the session runs all the same."""
    assert said_by(body) == GOLDEN[body]


@pytest.mark.parametrize("axis", [1.5, "0", None, -1], ids=str)
def test_an_axis_is_an_integer_from_0(axis: Any) -> None:
    """Anything else is refused where it is said, and not when the job is compiled."""
    with pytest.raises(SbpError, match=r"a split axis .* 0; got"):
        split(axis)
    assert str(split(np.int64(1))) == "S(1)"


def test_jobs_that_lay_a_variable_two_ways_are_both_named() -> None:
    """The first to say it is right."""
    with session() as made:

        @on_two(made)
        def rows() -> tp.Numpy:
            return flow.get_variable("v", (8, 6), distribute=split(0)) + 0

        @on_two(made)
        def columns() -> tp.Numpy:
            return flow.get_variable("v", (8, 6), distribute=split(1)) + 0

        with pytest.raises(VariableError) as refused:
            columns()
        assert rows().shape == (8, 6)
    assert str(refused.value) == (
        "variable 'v': job 'rows' has it with distribute S(0), and job 'columns' with distribute "
        "S(1); variables of one name are one variable of the session, so let both say the same, "
        "or give one of them another name"
    )


def test_a_pass_that_leaves_a_cycle_is_named_with_op_and_tensor() -> None:
    """Of a plugin, in a job over several devices; the op reads what only a later one makes."""

    def circle(graph: JobGraph) -> JobGraph:
        first, *others = graph.ops
        later = graph.ops[-1].outputs[0]
        return replace(graph, ops=(replace(first, inputs=(later, *first.inputs[1:])), *others))

    registry = BackendRegistry.from_modules({"hello": hello(circle)})
    with flow.Session(registry) as made:

        @flow.global_function(session=made)
        def job(x: Matrix) -> tp.Numpy:
            with flow.scope.placement("hello", "0:0"):
                return (x + 1) + x

        with pytest.raises(HeadraceError) as refused:
            job(np.zeros((8, 6), np.float32))
    for name in ("'add_0'", "'add_1/y'", "hello"):
        assert name in str(refused.value), str(refused.value)
