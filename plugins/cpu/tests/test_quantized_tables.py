"""Rows of quantized tables: dequantized when they are taken, and the numbers that they were."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import RunError

ROWS, WIDTH = 50, 24
SCALE = np.float32(0.037)


def run(build, indices, table):
    """What a job of ``table`` makes, and its ops."""
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder(indices.shape, flow.dtypes.int64)) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                return build(table, x)

        made = job(indices)
        return made, [op.op.split("(")[0] for op in session.explain("job").ops]


def table_of(dtype):
    limits = np.iinfo(dtype)
    return np.random.default_rng(0).integers(limits.min, limits.max, (ROWS, WIDTH), dtype)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("zero", [True, False])
def test_elements_are_dequantized_when_they_are_taken(dtype, axis, zero):
    """Of bytes with one scale, along any axis; an index may count from the end."""
    indices = np.array([[3, -1, 7], [0, 3, -WIDTH]])
    worth = [SCALE, np.array(9, dtype)] if zero else [SCALE]

    def build(table, x):
        floats = flow.apply_op("dequantize", [table, *worth])
        return flow.apply_op("gather", [floats, x], axis=axis)

    table = table_of(dtype)
    made, ops = run(build, indices, table)
    assert ops == ["gather", "dequantize"]
    want = (table.astype(np.float32) - (9 if zero else 0)) * SCALE
    np.testing.assert_array_equal(made, np.take(want, indices, axis=axis))


@pytest.mark.parametrize(
    "kind", ["scales of rows", "another reader", "most of it", "16 bits", "no lookup"]
)
def test_other_tables_are_dequantized_as_they_were(kind):
    """Where nothing is won, or a row does not know its scale."""
    table = table_of(np.int16 if kind == "16 bits" else np.int8)
    scale = np.full(ROWS, SCALE) if kind == "scales of rows" else SCALE
    indices = np.arange(ROWS // 2 + 1) if kind == "most of it" else np.array([4, 2])

    def build(table, x):
        floats = flow.apply_op("dequantize", [table, scale], axis=0)
        if kind == "no lookup":
            return floats
        made = flow.apply_op("gather", [floats, x], axis=0)
        if kind == "another reader":
            made = flow.apply_op("matmul", [made, floats], transpose_b=True)
        return made

    made, ops = run(build, indices, table)
    if kind == "no lookup":
        np.testing.assert_array_equal(made, table.astype(np.float32) * SCALE)
        return
    assert ops[-1] != "dequantize"
    want = table.astype(np.float32)[indices] * SCALE
    if kind == "another reader":
        want = want @ (table.astype(np.float32) * SCALE).T
    np.testing.assert_allclose(made, want, rtol=1e-5)


def test_halves_are_rounded_before_they_are_read():
    """A sum of numbers that were not would be another one."""
    indices = np.array([4, 0, 2])

    def build(table, x):
        scale, dtype = SCALE.astype(np.float16), flow.dtypes.float16
        halves = flow.apply_op("dequantize", [table, scale], dtype=dtype)
        rows = flow.apply_op("gather", [halves, x], axis=0)
        return flow.apply_op("add", [rows, np.ones((), np.float16)])

    table = table_of(np.int8)
    made, _ = run(build, indices, table)
    rounded = (table.astype(np.float32) * np.float32(SCALE.astype(np.float16))).astype(np.float16)
    np.testing.assert_array_equal(made, rounded[indices] + np.float16(1))


def test_two_lookups_read_one_table():
    """And an index outside of it is an error as before."""

    def build(table, x):
        floats = flow.apply_op("dequantize", [table, SCALE])
        first = flow.apply_op("gather", [floats, x], axis=0)
        return flow.apply_op("add", [first, flow.apply_op("gather", [floats, x], axis=0)])

    table = table_of(np.int8)
    made, ops = run(build, np.array([1, 2]), table)
    assert ops.count("dequantize") < 2
    np.testing.assert_array_equal(made, 2 * (table[[1, 2]].astype(np.float32) * SCALE))
    with pytest.raises(RunError, match=str(ROWS)):
        run(build, np.array([1, ROWS]), table)
