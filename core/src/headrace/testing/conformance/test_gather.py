"""Elements chosen by index tensors, or by their order, on a device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from headrace.dtypes import ALL, NUMBERS, dtype_of
from headrace.errors import RunError
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case, run_op

_exact = partial(Case, rtol=0.0, atol=0.0)
_X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
_LINE = np.array([1, 2, 3, 4], np.float32)


def _at(*indices: object) -> Array:
    return np.array(indices, np.int64)


def _new(*shape: int) -> Array:
    """Numbers that are nowhere in ``_X``."""
    return -1.5 - np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


_GATHERS = (
    _exact("rows", "gather", (_X, _at(1, 0, 1))),
    _exact("columns", "gather", (_X, _at([3, 0], [-1, -4])), {"axis": 2}),
    _exact("negative-axis", "gather", (_X, _at(2, -3)), {"axis": -2}),
    _exact("int32-indices", "gather", (_X, _at(0, -1, 2).astype(np.int32)), {"axis": 1}),
    _exact("scalar-index", "gather", (_X, np.array(-1, np.int64)), {"axis": 1}),
    _exact("no-index", "gather", (_X, np.zeros((2, 0), np.int64)), {"axis": 1}),
    _exact("empty", "gather", (np.zeros((3, 0), np.float32), _at(2, 0))),
    _exact("from-empty-axis", "gather", (np.zeros((3, 0), np.float32), _at()), {"axis": 1}),
)

_ELEMENTS = (
    _exact("first-axis", "gather_elements", (_X[0], _at([0, 1, -1, 2], [-3, 0, 2, 1]))),
    _exact("last-axis", "gather_elements", (_X[0], _at([0], [-1], [2])), {"axis": -1}),
    _exact("longer", "gather_elements", (_X[0], _at([3, 3, 3, 0, -4, 1])), {"axis": 1}),
    _exact("rank-3", "gather_elements", (_X, _at([[0, 2], [1, -1]])), {"axis": 1}),
    _exact("none", "gather_elements", (_X[0], np.zeros((0, 4), np.int64))),
)

_ND = (
    _exact("points", "gather_nd", (_X, _at([0, 2, 3], [-1, -3, 0]))),
    _exact("slices", "gather_nd", (_X, _at([[1], [0]], [[-1], [-2]]))),
    _exact("int32-indices", "gather_nd", (_X, _at([1, 2]).astype(np.int32))),
    _exact("one-point", "gather_nd", (_X, _at(1, 2, 3))),
    _exact("batch", "gather_nd", (_X, _at([[2], [0]], [[1], [-1]])), {"batch_dims": 1}),
    _exact("two-batches", "gather_nd", (_X, _at([[0], [1], [2]], [[3], [-1], [0]])),
           {"batch_dims": 2}),
    _exact("whole", "gather_nd", (_LINE, np.zeros((2, 0), np.int64))),
    _exact("whole-batch", "gather_nd", (_X, np.zeros((2, 2, 0), np.int64)), {"batch_dims": 1}),
    _exact("none", "gather_nd", (_X, np.zeros((0, 2), np.int64))),
)  # fmt: skip

_SCATTERS = (
    _exact("rows", "scatter_elements", (_X[0], _at([2, 0, -3, 1]), _new(1, 4))),
    _exact("columns", "scatter_elements", (_X[0], _at([-1, 0], [1, 2]), _new(2, 2)), {"axis": 1}),
    _exact("last-wins", "scatter_elements", (_LINE, _at(1, 1, 3, -3), _new(4))),
    _exact("none", "scatter_elements", (_LINE, _at(), _new(0))),
    _exact("points", "scatter_nd", (_X, _at([0, 0, 0], [-1, 2, 3]), _new(2))),
    _exact("slices", "scatter_nd", (_X, _at([[-1], [0]]), _new(1, 2, 3, 4))),
    _exact("last-wins", "scatter_nd", (_LINE, _at([2], [2]), _new(2))),
    _exact("none", "scatter_nd", (_LINE, np.zeros((0, 1), np.int64), _new(0))),
    *(
        case
        for reduction in ("add", "mul", "min", "max")
        for case in (
            Case(
                f"{reduction}-twice",
                "scatter_elements",
                (_X[0], _at([2, 2, 0, 1], [2, -1, 0, 1]), _new(2, 4)),
                {"reduction": reduction},
            ),
            Case(
                f"{reduction}-twice",
                "scatter_nd",
                (_X, _at([1, 2], [0, 0], [1, -1]), _new(3, 4)),
                {"reduction": reduction},
            ),
        )
    ),
    *(
        Case(f"add-{dtype}", "scatter_nd", (array, _at([1], [1]), array[:2]), {"reduction": "add"})
        for dtype in sorted(NUMBERS)
        for array in [np.array([100, 100, 3]).astype(dtype.numpy)]  # wraps in 8 bits
    ),
)

_TIES = np.array([5, 1, 9, 5, 9, 5], np.float32)
_BEST = (
    _exact("ties", "top_k", (_TIES,), {"k": 4}, 2),
    _exact("ties-smallest", "top_k", (_TIES,), {"k": 5, "largest": False}, 2),
    _exact("first-axis", "top_k", (_X % 5,), {"k": 2, "axis": 0}, 2),
    _exact("middle-axis", "top_k", (_X % 7,), {"k": 2, "axis": -2, "largest": False}, 2),
    _exact("all", "top_k", (_X % 7,), {"k": 4}, 2),
    _exact("nothing", "top_k", (_X,), {"k": 0}, 2),
    _exact("nan", "top_k", (np.array([1, np.nan, np.inf, -np.inf], np.float32),), {"k": 3}, 2),
    *(
        _exact(f"{dtype}", "top_k", (np.array([3, 0, 7, 7, 100]).astype(dtype.numpy),), {"k": 4}, 2)
        for dtype in sorted(NUMBERS)
    ),
)  # fmt: skip

_ROW = np.array([[0, 1, 2], [3, 1, 0]])
_DTYPES = tuple(
    _exact(f"{dtype}", op, (_ROW.astype(dtype.numpy), indices, *more), attrs)
    for dtype in sorted(ALL)
    for op, indices, more, attrs in (
        ("gather", _at(2, -3), (), {"axis": 1}),
        ("gather_elements", _at([-1, 0], [2, 1]), (), {"axis": 1}),
        ("gather_nd", _at([1, 0], [0, -1]), (), {}),
        ("scatter_elements", _at([1, 0, -1]), (_ROW[1:].astype(dtype.numpy),), {"axis": 0}),
        ("scatter_nd", _at([-1]), (_ROW[:1].astype(dtype.numpy),), {}),
    )
)

_COMPARISONS = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")


def _trees(
    name: str,
    dtype: str = "float32",
    comparisons: tuple[str, ...] = ("less_equal",),
    aggregate: str = "sum",
    rows: int = 5,
    trees: int = 3,
    levels: int = 3,
    targets: int = 2,
    nans: bool = False,
) -> Case:
    """Full trees of small numbers, many of which a feature is equal to."""
    draw = np.random.default_rng(5)
    x = draw.integers(-2, 3, (rows, 4)).astype(dtype_of(dtype).numpy)
    if nans:
        x[::2, 1] = np.nan
    inner = 2**levels - 1
    each = 2 * inner + 1
    own = np.arange(each)
    count = trees * each
    first = np.where(own < inner, 2 * own + 1, own)
    yes = (first + np.arange(trees)[:, None] * each).reshape(-1)
    no = yes + np.tile(own < inner, trees)
    tables = (
        np.arange(trees) * each,
        draw.integers(0, len(comparisons), count),
        draw.integers(0, 4, count),
        draw.integers(-2, 3, count).astype(x.dtype),
        yes,
        no,
        draw.integers(-8, 9, (count, targets)).astype(x.dtype),
    )
    inputs = [t.astype(np.int32) if t.dtype.kind == "i" else t for t in tables]
    tracked = (draw.integers(0, 2, count).astype(bool),) if nans else ()
    attrs = {"comparisons": comparisons, "depth": levels, "aggregate": aggregate}
    return _exact(name, "tree_ensemble", (x, *inputs, *tracked), attrs)


_TREES = (
    _trees("trees"),
    _trees("all-comparisons", comparisons=_COMPARISONS, rows=40, trees=9),
    *(_trees(name, comparisons=(name,)) for name in _COMPARISONS),
    *(_trees(f"{dtype}", dtype) for dtype in ("float64", "float16", "bfloat16")),
    *(_trees(fold, aggregate=fold) for fold in ("min", "max")),
    _trees("tracked-nans", nans=True),
    _trees("many-rows", rows=300, trees=20, levels=5),
    _trees("one-row", rows=1, trees=40, targets=1),
    _trees("a-leaf", levels=0),
    _trees("no-tree", trees=0),
    _trees("no-row", rows=0),
)

CASES: tuple[Case, ...] = _GATHERS + _ELEMENTS + _ND + _SCATTERS + _BEST + _DTYPES + _TREES

_OUTSIDE = tuple(
    Case(f"{index}", op, (_X, indices, *more), attrs)
    for index in (3, -4, 2**40)
    for op, indices, more, attrs in (
        ("gather", _at(0, index), (), {"axis": 1}),
        ("gather_elements", _at([[0, index, 1, 2]]), (), {"axis": 1}),
        ("gather_nd", _at([1, 2], [0, index]), (), {}),
        ("scatter_elements", _at([[0, index, 1, 2]]), (_new(1, 1, 4),), {"axis": 1}),
        ("scatter_nd", _at([0, index]), (_new(1, 4),), {}),
    )
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gather(device: str, case: Case) -> None:
    """The elements that the indices name are read or written, and no others."""
    check_case(device, case)


@pytest.mark.parametrize("case", _OUTSIDE, ids=str)
def test_an_index_outside_is_an_error(device: str, case: Case) -> None:
    """An index that no element has stops the run; nothing is read or written in its place."""
    with pytest.raises(RunError):
        run_op(device, case)
