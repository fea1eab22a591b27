"""Copies by strides and by tables: what numpy's indexing gives, for elements of any size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_cpu import _native

DTYPES = st.sampled_from(["uint8", "float16", "float32", "int64", "complex128"])


def numbered(shape, dtype):
    """Elements that differ, as far as the dtype can tell."""
    return (np.arange(int(np.prod(shape))) % 251).astype(dtype).reshape(shape)


def strides_of(array):
    """In elements."""
    return [stride // array.itemsize for stride in array.strides]


@settings(max_examples=200)
@given(data=st.data(), dtype=DTYPES, rank=st.integers(1, 5))
def test_axes_in_another_order(data, dtype, rank):
    """A transpose of any tensor, small ones and such as are cut into blocks."""
    sizes = [1, 2, 3, 4, 5, 16] if rank > 3 else [1, 2, 3, 4, 5, 7, 15, 17, 33, 64, 67, 130]
    shape = [data.draw(st.sampled_from(sizes)) for _ in range(rank)]
    perm = data.draw(st.permutations(range(rank)))
    x = numbered(shape, dtype)
    y = np.zeros([shape[axis] for axis in perm], dtype)
    turned = [strides_of(x)[axis] for axis in perm]
    _native.copy([(x, y.shape, 0, turned, 0, strides_of(y))], y)()
    np.testing.assert_array_equal(y, x.transpose(perm))


@settings(max_examples=100)
@given(data=st.data(), dtype=DTYPES, rank=st.integers(1, 4))
def test_parts_of_tensors(data, dtype, rank):
    """A slice with any steps into the middle of something larger, of which nothing else changes."""
    shape = [data.draw(st.integers(1, 9)) for _ in range(rank)]
    steps = [data.draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in range(rank)]
    x = numbered(shape, dtype)
    part = x[tuple(slice(None, None, step) for step in steps)]
    y = np.full([n + 2 for n in part.shape], 77, dtype)
    want = y.copy()
    middle = (slice(1, -1),) * rank
    want[middle] = part
    first = sum(
        (n - 1) * s for n, s, step in zip(shape, strides_of(x), steps, strict=True) if step < 0
    )
    _native.copy([(x, part.shape, first, strides_of(part), sum(strides_of(y)), strides_of(y))], y)()
    np.testing.assert_array_equal(y, want)


@settings(max_examples=200)
@given(
    dtype=DTYPES,
    few=st.integers(2, 18),
    many=st.sampled_from([2, 5, 15, 16, 17, 40, 1023, 1024, 1027, 2100]),
    few_first=st.booleans(),
    gaps=st.tuples(st.integers(0, 2), st.integers(0, 2)),
)
def test_matrices_of_few_rows_or_columns(dtype, few, many, few_first, gaps):
    """Both ways, of rows that lie apart or close on either side; between them nothing changes."""
    rows, columns = (few, many) if few_first else (many, few)
    x = numbered((rows, columns + gaps[0]), dtype)
    y = np.full((columns + 1, rows + gaps[1]), 77, dtype)
    want = y.copy()
    want[:columns, :rows] = x[:, :columns].T
    _native.copy([(x, (columns, rows), 0, (1, x.shape[1]), 0, (y.shape[1], 1))], y)()
    np.testing.assert_array_equal(y, want)


@settings(max_examples=200)
@given(
    dtype=DTYPES,
    run=st.sampled_from([2, 3, 4, 8, 16]),
    rows=st.integers(2, 18),
    columns=st.sampled_from([2, 5, 16, 67, 130]),
    gap=st.integers(0, 2),
)
def test_matrices_of_runs_that_stay_together(dtype, run, rows, columns, gap):
    """Numbers in pairs, boxes, pixels: a run is as good as an element of its size."""
    x = numbered((2, rows, columns, run + gap), dtype)
    y = np.full((2, columns, rows, run + gap), 77, dtype)
    want = y.copy()
    want[..., :run] = x[..., :run].swapaxes(1, 2)
    (batch, down, along, each) = strides_of(x)
    shape, turned = (2, columns, rows, run), (batch, along, down, each)
    _native.copy([(x, shape, 0, turned, 0, strides_of(y))], y)()
    np.testing.assert_array_equal(y, want)


@settings(max_examples=50)
@given(dtype=DTYPES, rows=st.integers(2, 9), columns=st.integers(2, 40))
def test_rows_are_turned_over(dtype, rows, columns):
    """A transpose that reads from the end: what lies before an element comes after it."""
    x, y = numbered((rows, columns), dtype), np.zeros((columns, rows), dtype)
    last = (rows - 1) * columns
    _native.copy([(x, y.shape, last, (1, -columns), 0, (rows, 1))], y)()
    np.testing.assert_array_equal(y, x[::-1].T)


def test_what_is_repeated_has_a_stride_of_nothing():
    """A broadcast is a copy too."""
    x, y = numbered((1, 5), "float32"), np.zeros((300, 5), np.float32)
    _native.copy([(x, y.shape, 0, [0, 1], 0, [5, 1])], y)()
    np.testing.assert_array_equal(y, np.broadcast_to(x, y.shape))


@settings(max_examples=50)
@given(DTYPES, st.sampled_from([1, 2, 7, 64]), st.sampled_from([1, 2, 3, 16, 17, 300]))
def test_elements_are_repeated_beside_themselves(dtype, rows, count):
    """Each as often as the last axis is long, and nothing beyond."""
    x, y = numbered((rows, 1), dtype), np.full((rows + 1, count), 77, dtype)
    _native.copy([(x, (rows, count), 0, [1, 0], 0, [count, 1])], y)()
    np.testing.assert_array_equal(y[:rows], np.broadcast_to(x, (rows, count)))
    np.testing.assert_array_equal(y[rows], np.full(count, 77, dtype))


def test_a_long_copy_is_cut():
    """A run of bytes that is worth several threads arrives whole."""
    x = numbered((1 << 20,), "float32")
    y = np.zeros_like(x)
    _native.copy([(x, x.shape, 0, [1], 0, [1])], y)()
    np.testing.assert_array_equal(y, x)


@settings(max_examples=200)
@given(data=st.data(), dtype=DTYPES, rank=st.integers(1, 4), fill=st.sampled_from([None, 9]))
def test_positions_by_tables(data, dtype, rank, fill):
    """Any positions on any axes, and a filling where there is none."""
    shape = [data.draw(st.sampled_from([1, 2, 3, 8, 40])) for _ in range(rank)]
    x = numbered(shape, dtype)
    tables, want = [], x
    outside = np.zeros(x.shape, bool)
    for axis, size in enumerate(shape):
        kind = data.draw(st.sampled_from(["none", "any", "padded", "twice"]))
        if kind == "none":
            tables.append(None)
            continue
        if kind == "any":
            table = data.draw(st.lists(st.integers(-1, size - 1), min_size=1, max_size=9))
        elif kind == "twice":
            first = data.draw(st.integers(0, size - 1))
            table = [place for place in range(first, size) for _ in range(2)]
        else:
            table = [-1] * 2 + list(range(size)) + [-1]
        places = np.array(table, np.int32)
        tables.append(places)
        want = np.take(want, np.maximum(places, 0), axis)
        outside = np.take(outside, np.maximum(places, 0), axis)
        index = [None] * rank
        index[axis] = slice(None)
        outside = outside | (places < 0)[tuple(index)]
    want = np.where(outside, np.array(fill or 0, dtype), want)
    y = np.full(want.shape, 77, dtype)
    _native.take(x, y, tables, None if fill is None else np.array(fill, dtype))()
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("shape", "first", "strides"),
    [((2, 3), 1, (3, 1)), ((2, 3), -1, (3, 1)), ((2, 3), 0, (4, 1)), ((2, 3), 0, (-3, 1))],
)
def test_a_copy_stays_inside(shape, first, strides):
    """What reaches beyond an array is an error that names it, on either side."""
    x, y = np.zeros(6, np.float32), np.zeros(6, np.float32)
    with pytest.raises(ValueError, match=r"x is \[6\] and has no elements at"):
        _native.copy([(x, shape, first, strides, 0, (3, 1))], y)
    with pytest.raises(ValueError, match=r"y is \[6\] and has no elements at"):
        _native.copy([(x, shape, 0, (3, 1), first, strides)], y)


@pytest.mark.parametrize("table", [[0, 3], [-2, 0]])
def test_a_table_stays_inside(table):
    """A position that the axis does not have is an error."""
    with pytest.raises(ValueError, match="a position on axis 0 is"):
        _native.take(np.zeros(3), np.zeros(2), [np.array(table, np.int32)], None)
