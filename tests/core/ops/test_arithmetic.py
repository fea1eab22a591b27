"""Calls of elementwise, matmul, reduce and softmax ops that are refused, and may lie in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace import numpy_ops
from headrace.errors import DTypeError, OpError, ShapeError
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec
from headrace.testing.case import Case
from headrace.testing.conformance import (
    test_activation,
    test_binary,
    test_cast,
    test_logic,
    test_softmax,
    test_unary,
)
from headrace.testing.run import call_of, compare

REFUSED: tuple[Any, ...] = (  # op, inputs, attributes, error, message
    (
        "add",
        ("float32[2, 3]", "float32[4]"),
        {},
        ShapeError,
        r"\(2, 3\) and \(4,\) do not broadcast",
    ),
    ("add", ("float32[2]", "float64[2]"), {}, DTypeError, "they are float32 and float64"),
    ("add", ("bool[2]", "bool[2]"), {}, DTypeError, "'a' is bool"),
    ("exp", ("int32[2]",), {}, DTypeError, "its dtype may be float16, bfloat16"),
    ("negative", ("uint8[2]",), {}, DTypeError, "'x' is uint8"),
    ("sqrt", ("float8_e5m2[2]",), {}, DTypeError, "'x' is float8_e5m2"),
    (
        "bias_add",
        ("float32[2, 3]", "float32[2]"),
        {},
        ShapeError,
        "bias must be float32.3. for axis 1",
    ),
    ("bias_add", ("float32[2, 3]", "float32[3]"), {"axis": 2}, ShapeError, "axis 2 is outside"),
    ("clip", ("float32[4]", "float32[2]"), {}, ShapeError, "min must hold one element"),
    ("clip", ("float32[4]", None, "float32[1, 1]"), {}, ShapeError, "max must hold one element"),
    (
        "prelu",
        ("float32[3]", "float32[2, 3]"),
        {},
        ShapeError,
        "does not broadcast to the shape of x",
    ),
    ("celu", ("float32[3]",), {"alpha": 0.0}, ShapeError, "alpha must not be 0"),
    ("gelu", ("float32[3]",), {"approximate": "erf"}, OpError, "one of none, tanh; got 'erf'"),
    ("bit_shift", ("int8[3]", "int8[3]"), {"direction": "up"}, OpError, "one of left, right"),
    ("where", ("int32[3]", "int32[3]", "int32[3]"), {}, DTypeError, "'condition' is int32"),
    ("cast", ("int32[3]",), {}, OpError, "'dtype' is required"),
    ("cast", ("int32[3]",), {"dtype": "string"}, DTypeError, "'string' is not a tensor dtype"),
    ("matmul", ("float32[2, 3]", "float32[4, 5]"), {}, ShapeError, "inner sizes differ"),
    ("matmul", ("float32[]", "float32[4, 5]"), {}, ShapeError, "a is a scalar"),
    ("matmul", ("float32[3]", "float32[3]"), {"transpose_b": True}, ShapeError, "needs two axes"),
    ("matmul", ("float32[2, 4, 3]", "float32[3, 3, 5]"), {}, ShapeError, r"\(2,\) and \(3,\)"),
    ("reduce_sum", ("float32[2, 3]",), {"axes": (2,)}, ShapeError, "axes 2 is outside"),
    ("reduce_sum", ("float32[2, 3]",), {"axes": (1, -1)}, ShapeError, "name an axis twice"),
    ("reduce_sum", ("bool[2]",), {}, DTypeError, "'x' is bool"),
    ("argmax", ("float32[2, 0]",), {"axis": 1}, ShapeError, "nothing stands there"),
    ("argmin", ("float32[]",), {}, ShapeError, "axis 0 is outside a tensor of rank 0"),
    ("softmax", ("float32[2, 3]",), {"axis": 2}, ShapeError, "axis 2 is outside"),
    ("log_softmax", ("int32[2]",), {}, DTypeError, "'x' is int32"),
)

IN_PLACE = (test_activation, test_binary, test_cast, test_logic, test_softmax, test_unary)


def spec(text: str | None) -> TensorSpec | None:
    if text is None:
        return None
    dtype, _, dims = text.rstrip("]").partition("[")
    return TensorSpec([int(dim) for dim in dims.split(",") if dim], dtype)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "error", "message"),
    REFUSED,
    ids=[f"{op}-{number}" for number, (op, *_) in enumerate(REFUSED)],
)
def test_illegal_call_is_refused_with_its_values(
    op: str,
    inputs: tuple[str | None, ...],
    attrs: dict[str, object],
    error: type[OpError],
    message: str,
) -> None:
    """The message names the node and place of the call, and what does not fit."""
    with pytest.raises(error, match=message) as caught:
        make_call(get_op(op), "node", [spec(text) for text in inputs], attrs, location="job.py:3")
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{op} 'node' (job.py:3): ")


@pytest.mark.parametrize("family", IN_PLACE, ids=lambda family: family.__name__.split(".")[-1])
def test_results_may_lie_where_in_place_says(family: object) -> None:
    """Writing the output over the named input changes nothing about the result."""
    tried = 0
    cases: tuple[Case, ...] = family.CASES  # type: ignore[attr-defined]
    for case in cases:
        call = call_of(case)
        for source, target in get_op(case.op).in_place(call):
            arrays = [None if x is None else np.array(x) for x in case.inputs]
            arrays += [None] * (len(call.inputs) - len(arrays))
            shared = arrays[source]
            assert shared is not None and target == 0
            with np.errstate(all="ignore"):
                numpy_ops.FUNCTIONS[case.op](call, arrays, [shared])
            compare(case, (shared,), f"in place of input {source}")
            tried += 1
    assert tried > 10
