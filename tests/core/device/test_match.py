"""Predicates by which kernels say which calls they take."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.device import match
from headrace.errors import DTypeError
from headrace.ops import get_op, make_call
from headrace.tensor_spec import TensorSpec


def taken(names: Sequence[str], op: str, inputs: Sequence[str], **attrs: object) -> bool:
    call = make_call(get_op(op), "node", [TensorSpec((1,), dtype) for dtype in inputs], attrs)
    return match.dtypes(*names)(call)


def test_the_first_input_decides() -> None:
    """A kernel for float32 takes a float32 call, and no other, whatever it gives."""
    assert taken(["float32"], "cast", ["float32"], dtype="int32")
    assert taken(["int8", "float32"], "relu", ["float32"])
    assert not taken(["float32"], "cast", ["int32"], dtype="float32")


def test_without_inputs_the_output_decides() -> None:
    """An op that takes nothing is matched by what it gives."""
    assert taken(["float32"], "fill", [], shape=(2,), dtype="float32")
    assert not taken(["float32"], "fill", [], shape=(2,), dtype="int32")


def test_names_that_are_no_dtypes_are_refused() -> None:
    """A misspelt dtype fails where it is written, not by never matching."""
    with pytest.raises(DTypeError, match="'float23' is not a tensor dtype"):
        match.dtypes("float23")
