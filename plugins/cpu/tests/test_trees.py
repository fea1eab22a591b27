"""Decision trees, few rows and many, against a walk in Python."""

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import RunError
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import set_threads
from headrace_cpu.ops.trees import LaidTreeEnsemble, LayTrees, laid_trees, lay_trees

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
        "features": rng.integers(0, WIDTH, len(nodes)).astype(np.int32),
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


def job_of(session, trees, rows, dtype, nans, depth=DEPTH, **attrs):
    """A job on the cpu that asks the trees about ``rows`` rows."""
    tables = [trees[name] for name in list(trees)[:-1]] + ([trees["nans"]] if nans else [None])

    @flow.global_function(session=session)
    def job(x: tp.Numpy.Placeholder((rows, WIDTH), dtype)) -> tp.Numpy:
        with flow.scope.placement("cpu", "0:0"):
            return flow.apply_op("tree_ensemble", [x, *tables], depth=depth, **attrs)

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


@pytest.mark.parametrize("rows", [1, 12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nodes_that_are_counted_from_the_end_are_found(rows, dtype):
    """As those are that are counted from the beginning, which alone are laid together."""
    trees = whole_trees(dtype, 1)
    trees["features"] -= WIDTH * (np.arange(len(trees["features"])) % 2).astype(np.int32)
    trees["yes"] -= np.int32(len(trees["yes"]))
    x = np.random.default_rng(rows).standard_normal((rows, WIDTH)).astype(dtype)
    x[0, 0] = np.nan
    with flow.Session() as session:
        made = job_of(session, trees, rows, dtype, True, comparisons=("less",))(x)
    want = walked(x, trees, ("less",), True, np.sum)
    np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [0, 1, 3, 70])
@pytest.mark.parametrize("depth", [0, 3, 8, 39])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_trees_of_unequal_depth_are_summed_in_order(rows, depth, dtype):
    """Trees that are one node, and some that are lists of 40; the sums are those of float64."""
    rng, length, trees = np.random.default_rng(3), 40, 301
    nodes = np.arange(trees * length, dtype=np.int32)
    is_end = nodes % length == length - 1
    is_end |= (nodes // length % 3 == 0) | (rng.random(len(nodes)) < 0.02)
    tables = {
        "roots": nodes[::length],
        "modes": np.zeros_like(nodes),
        "features": rng.integers(0, WIDTH, len(nodes)).astype(np.int32),
        "splits": rng.standard_normal(len(nodes)).astype(dtype) - 1,
        "yes": np.where(is_end, nodes, nodes - nodes % length + length - 1).astype(np.int32),
        "no": np.where(is_end, nodes, nodes + 1).astype(np.int32),
        "weights": rng.standard_normal((len(nodes), 1)).astype(dtype),
        "nans": np.zeros(len(nodes), bool),
    }
    x = rng.standard_normal((rows, WIDTH)).astype(dtype)
    with flow.Session() as session:
        job = job_of(session, tables, rows, dtype, False, depth, comparisons=("less_equal",))
        made = job(x)
    want = np.zeros((rows, 1))
    for root in tables["roots"]:
        at = np.full(rows, root)
        for _ in range(depth):
            met = x[np.arange(rows), tables["features"][at]] <= tables["splits"][at]
            at = np.where(met, tables["yes"][at], tables["no"][at])
        want += tables["weights"][at]
    np.testing.assert_array_equal(made, want.astype(dtype))


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


@pytest.mark.parametrize("nans", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_nodes_that_can_be_are_laid(dtype, nans):
    """Their tables are let go of; the device computes what the host makes of the laid ones."""
    trees, comparisons = whole_trees(dtype, 2), ("less", "greater")
    x = np.random.default_rng(1).standard_normal((3, WIDTH)).astype(dtype)
    x[1] = np.nan
    made = []
    for features in (trees["features"], trees["features"] - WIDTH):
        with flow.Session() as session:
            given = trees | {"features": features}
            job = job_of(session, given, 3, dtype, nans, comparisons=comparisons)
            made.append(job(x))
            ops = [op.op.split("(")[0] for op in session.explain("job").ops]
        assert ops == ["cpu.tree_ensemble" if not made[1:] else "tree_ensemble"]
    np.testing.assert_array_equal(*made)
    modes, features, splits, yes, no = (trees[name] for name in list(trees)[1:6])
    tables = [modes, features, splits, yes, no, trees["nans"] if nans else None]
    specs = [None if table is None else TensorSpec.of(table) for table in tables]
    lay = make_call(LayTrees, "lay", specs, {})
    nodes = np.empty(lay.outputs[0].shape, np.uint8)
    lay_trees(lay, tables, [nodes])
    arrays = [x, trees["roots"], nodes, trees["weights"]]
    attrs = {"comparisons": comparisons, "depth": DEPTH, "nans": nans}
    call = make_call(LaidTreeEnsemble, "trees", [TensorSpec.of(one) for one in arrays], attrs)
    y = np.empty_like(made[0])
    laid_trees(call, arrays, [y])
    np.testing.assert_allclose(y, made[0], rtol=1e-5, atol=1e-5)


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
