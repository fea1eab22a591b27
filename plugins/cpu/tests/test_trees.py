"""Decision trees, few rows and many, against a walk in Python."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import RunError
from headrace_cpu import set_threads

WIDTH, DEPTH, TREES = 5, 4, 9
COMPARE = {"less_equal": np.less_equal, "less": np.less, "greater": np.greater}


def whole_trees(dtype, kinds):
    """``TREES`` trees whose leaves lie ``DEPTH`` steps down, two of them leaves at once."""
    rng, inner, size = np.random.default_rng(7), 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes = np.arange(TREES * size, dtype=np.int32)
    is_leaf = nodes % size >= inner
    is_leaf[[1, size]] = True  # a leaf half way down, and a tree of one node
    first = nodes - nodes % size
    down = first + 2 * (nodes - first) + 1
    return {
        "roots": np.arange(0, len(nodes), size, dtype=np.int32),
        "modes": rng.integers(0, kinds, len(nodes)).astype(np.int32),
        "features": rng.integers(-WIDTH, WIDTH, len(nodes)).astype(np.int32),
        "splits": rng.integers(-3, 4, len(nodes)).astype(dtype),
        "yes": np.where(is_leaf, nodes, down).astype(np.int32),
        "no": np.where(is_leaf, nodes, down + 1).astype(np.int32),
        "weights": rng.standard_normal((len(nodes), 2)).astype(dtype),
        "nans": rng.random(len(nodes)) < 0.5,
    }


def walked(x, trees, comparisons, nans, fold):
    """What the trees say, one row, one tree and one step after another."""
    said = []
    for row in x:
        leaves = []
        for node in trees["roots"]:
            for _ in range(DEPTH):
                number = row[trees["features"][node]]
                met = COMPARE[comparisons[trees["modes"][node]]](number, trees["splits"][node])
                met = met or (nans and np.isnan(number) and trees["nans"][node])
                node = trees["yes" if met else "no"][node]
            leaves.append(trees["weights"][node].astype(np.float64))
        said.append(fold(leaves, axis=0))
    return np.array(said)


def job_of(session, trees, rows, dtype, nans, **attrs):
    """A job on the cpu that asks the trees about ``rows`` rows."""
    tables = [trees[name] for name in list(trees)[:-1]] + ([trees["nans"]] if nans else [None])

    @flow.global_function(session=session)
    def job(x: tp.Numpy.Placeholder((rows, WIDTH), dtype)) -> tp.Numpy:
        with flow.scope.placement("cpu", "0:0"):
            return flow.apply_op("tree_ensemble", [x, *tables], depth=DEPTH, **attrs)

    return job


@pytest.mark.parametrize("rows", [1, 7, 8, 13, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("nans", [False, True])
@pytest.mark.parametrize(
    "comparisons", [("less_equal",), ("less",), ("greater",), ("less", "greater", "less_equal")]
)
def test_rows_end_where_their_numbers_lead(rows, dtype, nans, comparisons):
    """Numbers that equal a split, and such that are NaN, are among them."""
    trees = whole_trees(dtype, len(comparisons))
    x = np.random.default_rng(rows).integers(-4, 5, (rows, WIDTH)).astype(dtype)
    x[rows // 2, 1] = np.nan
    set_threads(1 + rows % 2)
    with flow.Session() as session:
        made = job_of(session, trees, rows, dtype, nans, comparisons=comparisons)(x)
    want = walked(x, trees, comparisons, nans, np.sum)
    np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [2, 200])
@pytest.mark.parametrize(("aggregate", "fold"), [("min", np.min), ("max", np.max)])
def test_the_smallest_and_the_largest_are_taken(rows, aggregate, fold):
    """Each target apart."""
    trees = whole_trees(np.float32, 1)
    x = np.random.default_rng(rows).standard_normal((rows, WIDTH)).astype(np.float32)
    with flow.Session() as session:
        job = job_of(
            session, trees, rows, np.float32, False, comparisons=("less",), aggregate=aggregate
        )
        np.testing.assert_array_equal(job(x), walked(x, trees, ("less",), False, fold))


@pytest.mark.parametrize("rows", [1, 500])
@pytest.mark.parametrize(
    ("table", "index"), [("features", WIDTH), ("no", 10**6), ("yes", -(10**6))]
)
def test_an_index_that_is_outside_is_an_error(rows, table, index):
    """It names the table, however many rows there are."""
    trees = whole_trees(np.float32, 1)
    trees[table][:] = index
    with flow.Session() as session:
        job = job_of(session, trees, rows, np.float32, False, comparisons=("less",))
        with pytest.raises(RunError, match=rf"index {index} of {table} is outside"):
            job(np.full((rows, WIDTH), 5 if table == "no" else -5, np.float32))
