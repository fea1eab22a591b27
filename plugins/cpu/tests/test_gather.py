"""Elements chosen by indices, and trees that are walked: against numpy, on any threads."""

import numpy as np
import pytest
from geometry import element, named_elements
from hypothesis import given, settings

import headrace_cpu
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import _native
from headrace_cpu.ops.trees import LayTrees, lay_trees

DTYPES = ["bool", "int16", "float32", "float64", "complex128"]


def on_any_threads(bind, shape, dtype):
    """What the launch of ``bind(y)`` writes; the same, bit by bit, on one thread and three."""
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros(shape, dtype)
        bind(y)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", [1, 3, 4000])
def test_slices_are_those_that_numpy_takes(dtype, inner):
    """Single elements and long rows, some of them counted from the end."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 99, (3, 7, inner)).astype(dtype)
    indices = rng.integers(-7, 7, 50)
    y = on_any_threads(lambda y: _native.gather(x, indices, y, 1), (3, 50, inner), dtype)
    np.testing.assert_array_equal(y, np.take(x, indices, axis=1))
    flat = indices[:48].reshape(3, 16, 1)
    y = on_any_threads(lambda y: _native.gather_nd(x, flat, y, 1), (3, 16, inner), dtype)
    np.testing.assert_array_equal(y, np.stack([a[i[:, 0]] for a, i in zip(x, flat, strict=True)]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", [1, 300])
def test_each_element_has_its_index(dtype, inner):
    """Along one axis, the last one too."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 99, (4, 9, inner)).astype(dtype)
    indices = rng.integers(-9, 9, (4, 21000 // inner, inner)).astype(np.int32)
    y = on_any_threads(lambda y: _native.gather_elements(x, indices, y, 1), indices.shape, dtype)
    np.testing.assert_array_equal(y, np.take_along_axis(x, indices.astype(np.int64), axis=1))


@settings(max_examples=60)
@given(named_elements(least=1))
def test_indices_may_be_shorter_than_what_they_choose_from(named):
    """Along every axis but the one that is chosen along, where they may be longer."""
    shape, axis, made = named
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    indices = rng.integers(-shape[axis], shape[axis], made)
    y = on_any_threads(lambda y: _native.gather_elements(x, indices, y, axis), made, "float64")
    for place in np.ndindex(*made):
        assert y[place] == x[element(place, indices, axis)]


def test_indices_longer_than_what_they_choose_from_are_refused():
    """But along the axis of the choice."""
    x, indices = np.ones((2, 3), np.float32), np.zeros((2, 4), np.int64)
    with pytest.raises(ValueError, match=r"x is \[2, 3\] but indices are \[2, 4\]"):
        _native.gather_elements(x, indices, np.ones((2, 4), np.float32), 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_point_has_its_indices(dtype):
    """Along several axes at once."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 99, (4, 9, 300)).astype(dtype)
    points = np.stack([rng.integers(-9, 9, (4, 80)), rng.integers(-300, 300, (4, 80))], axis=-1)
    planes = x[..., None]
    y = on_any_threads(lambda y: _native.gather_nd(planes, points, y, 1), (4, 80, 1), dtype)
    batch = np.arange(4)[:, None]
    np.testing.assert_array_equal(y[..., 0], x[batch, points[..., 0], points[..., 1]])


@pytest.mark.parametrize("index", [5, -6, 2**40])
def test_an_index_outside_reads_nothing(index):
    """Of any of the three."""
    x, y = np.ones((1, 5, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    at = np.full((1, 1, 1), index)
    for launch in (
        _native.gather(x, at.reshape(-1), y, 1),
        _native.gather_elements(x, at, y, 1),
        _native.gather_nd(x, at, y, 1),
    ):
        with pytest.raises(IndexError, match=f"index {index} is outside axis 1, which has 5 el"):
            launch()
    assert y.item() == 0


@pytest.mark.parametrize("laid", [False, True], ids=["tables", "laid"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_go_down_each_tree(dtype, laid):
    """One question after another, as a loop over rows and trees answers them."""
    rng = np.random.default_rng(2)
    rows, width, trees, levels, targets = 150, 6, 11, 4, 3
    inner, each = 2**levels - 1, 2 ** (levels + 1) - 1
    count = trees * each
    own = np.arange(count) % each < inner
    first = np.arange(count) - np.arange(count) % each
    yes = np.where(own, first + 2 * (np.arange(count) % each) + 1, np.arange(count))
    no = np.where(own, yes + 1, yes)
    roots = np.arange(trees) * each
    features, modes = rng.integers(0, width, count), rng.integers(0, 2, count)
    x = rng.standard_normal((rows, width)).astype(dtype)
    x[::7] = np.nan
    splits = rng.standard_normal(count).astype(dtype)
    weights = rng.standard_normal((count, targets)).astype(dtype)
    nans = rng.integers(0, 2, count).astype(bool)
    wanted = np.zeros((rows, targets))
    for row in range(rows):
        for node in roots:
            while own[node]:
                number = x[row, features[node]]
                met = number < splits[node] if modes[node] else number >= splits[node]
                node = yes[node] if met or (np.isnan(number) and nans[node]) else no[node]
            wanted[row] += weights[node]
    roots, *tables = (t.astype(np.int32) for t in (roots, modes, features, yes, no))
    tables = [*tables[:2], splits, *tables[2:], nans]
    call = make_call(LayTrees, "lay", [TensorSpec.of(table) for table in tables], {})
    nodes = np.empty(call.outputs[0].shape, np.uint8)
    lay_trees(call, tables, [nodes])

    def bind(y, roots=roots, splits=splits, nodes=nodes):
        trees = _native.Trees(roots, weights, ["greater_equal", "less"], levels, "sum")
        if laid:
            return _native.laid_trees(x, trees, nodes, True, y)
        return _native.tree_ensemble(x, trees, *tables[:2], splits, *tables[3:], y)

    y = on_any_threads(bind, wanted.shape, dtype)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    y = np.zeros(wanted.shape, dtype)
    with pytest.raises(IndexError, match="index 9999 of roots is outside"):
        bind(y, roots=np.array([9999], np.int32))()
    other = np.float64 if dtype == np.float32 else np.float32
    wrong = "nodes is .* but must be" if laid else "splits must be contiguous, of the dtype of x"
    with pytest.raises((TypeError, ValueError), match=wrong):
        bind(y, splits=splits.astype(other), nodes=nodes[:, :-1].copy())
    if laid:  # whatever the bytes say, nothing outside is read
        with pytest.raises(IndexError, match=f"index .* is outside of {width}"):
            bind(y, nodes=np.full_like(nodes, 0xFF))()
