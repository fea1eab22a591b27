"""Nodes that compute: what changed from version to version, and what node tests do not ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import folded, info, model, node

from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.tensor_spec import Array

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def f(*values: float) -> Array:
    return np.array(values, np.float32)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def same(got: Array, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-6)


# --- versions --------------------------------------------------------------------------------


def test_softmax_before_opset_13_takes_all_axes_from_its_own_on() -> None:
    """Opset 11 sums over a whole matrix where 13 sums over each row."""
    x = X.reshape(1, 3, 4)
    same(folded("Softmax", [x], 11, axis=1).sum(), 1)
    same(folded("Softmax", [x], 11).sum(), 1)  # axis 1 by default
    same(folded("Softmax", [x], 13).sum(), 3)  # axis -1 by default
    assert folded("LogSoftmax", [x], 11, axis=-2).shape == x.shape


def test_hardmax_marks_the_first_greatest() -> None:
    """One mark for each line: of a matrix flattened before opset 13, of each row since."""
    x = np.array([[[1, 3, 3], [3, 0, 2]]], np.float32)
    same(folded("Hardmax", [x], 11), [[[0, 1, 0], [0, 0, 0]]])
    same(folded("Hardmax", [x], 13), [[[0, 1, 0], [1, 0, 0]]])


def test_axes_of_reductions_moved_from_attribute_to_input() -> None:
    """Both spellings mean the same; ReduceSum moved in opset 13, the others in 18."""
    for op, moved in (("ReduceSum", 13), ("ReduceMean", 18), ("ReduceL2", 18)):
        old = folded(op, [X], moved - 1, axes=[-1], keepdims=0)
        same(folded(op, [X, ints(-1)], moved, keepdims=0), old)
        assert old.shape == (3,)


def test_no_axes_mean_all_unless_the_node_says_none() -> None:
    """``noop_with_empty_axes`` leaves out the folding, but not what is done to each element."""
    for axes in ([], [ints()]):
        same(folded("ReduceSum", [X, *axes], keepdims=0), 66)
        same(folded("ReduceSum", [X, *axes], noop_with_empty_axes=1), X)
        same(folded("ReduceSumSquare", [X, *axes], noop_with_empty_axes=1), X * X)
        same(folded("ReduceLogSumExp", [X, *axes], noop_with_empty_axes=1), X)


def test_a_mean_of_nothing_is_0() -> None:
    """ONNX leaves it undefined; nets that average bags of rows, some empty, count on that."""
    nothing = np.zeros((0, 3), np.float32)
    same(folded("ReduceMean", [nothing, ints(0)], keepdims=0), [0, 0, 0])
    same(folded("ReduceMean", [nothing], 13, keepdims=0), 0)
    assert folded("ReduceMean", [nothing, ints(1)], keepdims=0).shape == (0,)


def test_limits_of_clip_moved_from_attributes_to_inputs() -> None:
    """Opset 10 has attributes; since 11 either input may be left out."""
    assert folded("Clip", [X[0]], 10, min=1.0, max=2.0).tolist() == [1, 1, 2, 2]
    low, high = np.array(1, np.float32), np.array(2, np.float32)
    assert folded("Clip", [X[0], low, high], 11).tolist() == [1, 1, 2, 2]
    assert folded("Clip", [X[0], None, high], 13).tolist() == [0, 1, 2, 2]


def test_absent_limits_of_clip_are_the_finite_ones() -> None:
    """ONNX says that they default to the lowest and the greatest finite value."""
    limits = np.finfo(np.float32)
    assert folded("Clip", [f(-np.inf, np.inf)]).tolist() == [limits.min, limits.max]


# --- several dtypes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponent", "dtype", "ops"),
    [
        (2.0, np.float32, {"multiply"}),
        (3.0, np.float32, {"multiply"}),
        (2.0, np.float16, {"multiply"}),
        (3.0, np.float16, {"power"}),
        (0.5, np.float32, {"power"}),
        (2.0, np.int32, {"power"}),
    ],
)
def test_squares_and_cubes_are_products(
    load_near: Any, exponent: float, dtype: type[np.generic], ops: set[str]
) -> None:
    """Of floats; a cube of half floats, rounded twice, would be another number."""
    x = np.array([0, 0.5, 1.25, 3, 7], dtype)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    loaded = load_near(
        model(
            [node("Pow", "x exponent", "y")],
            [info("x", [5], element)],
            [info("y", [5], element)],
            {"exponent": np.asarray(exponent, dtype)},
        )
    )
    same(loaded.run({"x": x})["y"], x**exponent)
    (job,) = loaded._jobs._jobs.values()
    made = {task.call.op for task in job.job.plan.tasks if task.call}
    assert made & {"multiply", "power"} == ops


@pytest.mark.parametrize(
    ("base", "exponent", "wanted"),
    [
        (np.array([4, 9], np.int32), f(0.5), [2, 3]),
        (np.array([2, 3], np.int32), ints(5, 2), [32, 9]),
        (np.array([2, -1], np.int64), np.array([-1, -3], np.int8), [0, -1]),
        (f(4, 9), ints(2), [16, 81]),
        (np.array([3], np.float16), np.array([2], np.float64), [9]),
    ],
    ids=["int-float", "int-wider-int", "int-negative-int", "float-int", "half-double"],
)
def test_pow_has_the_dtype_of_its_base(base: Array, exponent: Array, wanted: list[int]) -> None:
    """An exponent is not cut to the dtype of the base before it has done its work."""
    y = folded("Pow", [base, exponent])
    assert y.dtype == base.dtype
    assert y.tolist() == wanted


def test_sums_of_half_floats_do_not_leave_their_range_on_the_way() -> None:
    """Their squares, products and totals may: they are made in float32."""
    x = np.full(4, 300, np.float16)  # 300 * 300 is beyond float16
    assert folded("ReduceL2", [x], keepdims=0).tolist() == 600
    great = np.full(4, 60000, np.float16)
    assert folded("Mean", [great, great]).tolist() == [60000] * 4
    assert folded("Gemm", [x[None], x[:, None]], alpha=0.1).tolist() == [[36000]]


def test_log_sum_exp_does_not_overflow() -> None:
    """Nor does an infinite element make NaN of the rest."""
    same(folded("ReduceLogSumExp", [f(1000, 1000)], keepdims=0), 1000 + np.log(2))
    same(folded("ReduceLogSumExp", [f(-np.inf, -np.inf)], keepdims=0), -np.inf)
    same(folded("ReduceLogSumExp", [f(np.inf, 1)], keepdims=0), np.inf)


def test_zero_points_of_matmul_integer_go_by_row_of_a_and_column_of_b() -> None:
    """One for all, or one each, subtracted before anything wraps."""
    a, b = np.array([[1, 2], [3, 4]], np.uint8), np.array([[5, 6], [7, 8]], np.uint8)
    rows, columns = np.array([1, 2], np.uint8), np.array([5, 9], np.uint8)
    wanted = (a.astype(int) - [[1], [2]]) @ (b.astype(int) - [5, 9])
    y = folded("MatMulInteger", [a, b, rows, columns])
    assert y.dtype == np.int32
    assert y.tolist() == wanted.tolist()
    assert folded("MatMulInteger", [a, b]).tolist() == (a.astype(int) @ b).tolist()


def test_cast_knows_the_numbers_of_onnx() -> None:
    """The dtype is ONNX's number in Cast, and that of the second input in CastLike."""
    x = f(1.5, -2.5)
    assert folded("Cast", [x], to=7).dtype == np.int64
    assert folded("CastLike", [x, np.zeros(1, np.int8)]).tolist() == [1, -2]


# --- compositions ----------------------------------------------------------------------------


def test_gemm_scales_transposes_and_broadcasts() -> None:
    """``alpha * A' * B' + beta * C``, where C may be a row, a column, one element, or absent."""
    a, b = X, X[:2]
    plain = X @ X[:2].T
    for c in (f(1, 2), f(1, 2, 3)[:, None], np.array(5, np.float32)):
        got = folded("Gemm", [a, b, c], transB=1, alpha=0.5, beta=3.0)
        same(got, 0.5 * plain + 3 * c)
    same(folded("Gemm", [a.T.copy(), b], transA=1, transB=1), plain)
    same(folded("Gemm", [a, b, f(np.nan, np.nan)], transB=1, beta=0.0), plain)


def test_shrink_moves_towards_zero() -> None:
    """Elements inside ``-lambd..lambd`` become 0, the others come closer by ``bias``."""
    assert folded("Shrink", [f(-3, -1, 1, 3)], lambd=1.5, bias=0.5).tolist() == [-2.5, 0, 0, 2.5]
    assert folded("Shrink", [ints(-3, -1, 1, 3)], lambd=1.5, bias=1.0).tolist() == [-2, 0, 0, 2]


def test_variadic_nodes_join_any_number_of_inputs() -> None:
    """One input is the result itself; shapes broadcast."""
    rows = [X, X[:1] * 2, X[:, :1]]
    same(folded("Max", rows), np.maximum(np.maximum(*rows[:2]), rows[2]))
    same(folded("Sum", rows), rows[0] + rows[1] + rows[2])
    same(folded("Mean", rows), (rows[0] + rows[1] + rows[2]) / 3)
    for op in ("Max", "Min", "Sum", "Mean"):
        same(folded(op, [X]), X)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "error", "message"),
    [
        ("Gemm", [X[0], X], {}, InvalidModelError, "must have rank 2"),
        (
            "Gemm",
            [X, X.T.copy(), np.ones((2, 3, 3), np.float32)],
            {},
            InvalidModelError,
            "C float32",
        ),
        (
            "BitShift",
            [np.array([1], np.uint8)] * 2,
            {"direction": "UP"},
            InvalidModelError,
            "LEFT or RIGHT",
        ),
        ("Gelu", [X], {"approximate": "erf"}, InvalidModelError, "none or tanh"),
        ("Softmax", [X], {"axis": 2}, InvalidModelError, "axis 2"),
        ("ReduceSum", [X, ints(0, -2)], {}, InvalidModelError, "twice"),
        ("Cast", [X], {"to": 8}, UnsupportedModelError, "no string tensors"),
        ("Cast", [X], {"to": 99}, InvalidModelError, "no data type 99"),
        (
            "Gemm",
            [ints(1)[None], ints(1)[None]],
            {"alpha": 0.5},
            UnsupportedModelError,
            "alpha 0.5",
        ),
    ],
)
def test_a_node_that_cannot_be_run_says_why(
    op: str,
    inputs: list[Array],
    attrs: dict[str, Any],
    error: type[HeadraceError],
    message: str,
) -> None:
    """The message names the node and the values that do not fit."""
    with pytest.raises(error, match=message) as caught:
        folded(op, inputs, **attrs)
    assert op in str(caught.value)
