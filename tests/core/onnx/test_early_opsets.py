"""What nodes meant before operator set 7, where that is not what they have meant since."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx_models import folded, info, model, node

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
V = np.array([10, 20, 30], np.float32)


def same(got: Array, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "computed"),
    [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)],
)
def test_the_second_operand_may_stand_in_the_middle_of_the_first(
    op: str, computed: Callable[..., Array]
) -> None:
    """``axis`` says where its shape begins; without it the shapes end together."""
    same(folded(op, [X, V], 6, broadcast=1, axis=1), computed(X, V[:, None]))
    same(folded(op, [X, V], 1, broadcast=1, axis=-2), computed(X, V[:, None]))
    same(folded(op, [X, X[0, 0] + 1], 6, broadcast=1), computed(X, X[0, 0] + 1))
    same(folded(op, [X, V[:1]], 6, broadcast=1, axis=0), computed(X, V[0]))


def test_comparisons_and_logic_broadcast_in_the_same_way() -> None:
    """They had the same two attributes."""
    b = np.array([[True], [False], [True]]).reshape(3)
    a = np.ones((2, 3, 4), bool)
    assert (folded("And", [a, b], 6, broadcast=1, axis=1) == (a & b[:, None])).all()
    assert (folded("Less", [X, V], 6, broadcast=1, axis=1) == (V[:, None] > X)).all()
    same(folded("Pow", [X, V * 0 + 2], 6, broadcast=1, axis=1), X * X)


@pytest.mark.parametrize(
    ("second", "attrs", "words"),
    [
        (V, {}, "broadcast is 0"),
        (V, {"broadcast": 1}, "does not broadcast"),
        (X, {"broadcast": 1, "axis": 1}, "more axes"),
        (V, {"broadcast": 1, "axis": 3}, "axis 3 is outside"),
        (np.ones((1, 2, 3, 4), np.float32), {"broadcast": 1}, "does not broadcast"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    second: Array, attrs: dict[str, int], words: str
) -> None:
    """The first operand was never repeated, and the second only where the node said so."""
    first = X if second is not X else X[:, :, 0].copy()
    with pytest.raises(InvalidModelError, match=words):
        folded("Add", [first, second], 6, **attrs)


def test_what_became_an_input_was_an_attribute() -> None:
    """Shapes, dtypes by name, pads, scales and repeats of one axis."""
    assert folded("Reshape", [X], 1, shape=[0, -1]).shape == (2, 12)
    assert folded("Cast", [X], 1, to="INT32").dtype == np.int32
    same(folded("Pad", [V], 1, paddings=[1, 2]), [0, *V, 0, 0])
    same(folded("Tile", [X, V[:1] / 5, V[:1] / 10], 1), np.tile(X, (1, 2, 1)))
    image = X.reshape(1, 2, 3, 4)
    doubled = image.repeat(2, axis=2).repeat(3, axis=3)
    same(folded("Upsample", [image], 1, height_scale=2.0, width_scale=3.0), doubled)
    same(folded("Concat", [X, X], 3), np.concatenate([X, X], 1))


def test_split_took_its_sizes_as_an_input_at_first() -> None:
    """Operator set 2 made them an attribute, 13 an input again."""
    nodes = [node("Split", "x sizes", "a b", axis=1)]
    outputs = [info("a", (2, 1, 4)), info("b", (2, 2, 4))]
    made = model(nodes, [], outputs, {"x": X, "sizes": np.array([1, 2], np.float32)}, 1)
    graph = Importer(read_model(made.SerializeToString()), Placement.of_device("near")).run({}, {})
    parts = [graph.constants[tensor.name] for _, tensor in graph.outputs]
    same(parts[0], X[:, :1])
    same(parts[1], X[:, 1:])


def test_slopes_of_channels_needed_no_axes_of_size_one() -> None:
    """PRelu had one slope for each channel, or one for all."""
    same(folded("PRelu", [-X, V], 6), -X * V[:, None])
    same(folded("PRelu", [-X, V[:1]], 6), -X * V[0])


def test_powers_were_floats_and_selu_had_four_digits() -> None:
    """Defaults and types of attributes that changed."""
    image = X.reshape(1, 2, 3, 4)
    want = np.sqrt((image**2).sum((2, 3), keepdims=True))
    same(folded("GlobalLpPool", [image], 1, p=2.0), want)
    same(folded("GlobalLpPool", [image], 1), want)
    same(folded("Selu", [-V], 1), 1.0507 * 1.6732 * np.expm1(-V))


def test_models_to_be_run_said_so() -> None:
    """``is_test`` 1 means what has been meant since; without it a batch norm was trained."""
    image, ones, zeros = X.reshape(2, 3, 4), np.ones(3, np.float32), np.zeros(3, np.float32)
    given = [image, ones, V, zeros, ones]
    got = folded("BatchNormalization", given, 6, is_test=1, epsilon=0.0)
    same(got, image + V[:, None])
    with pytest.raises(UnsupportedModelError, match="is_test is 0"):
        folded("BatchNormalization", given, 6)
    same(folded("Dropout", [X], 6, is_test=1), X)


def test_a_cast_to_no_dtype_is_refused() -> None:
    """The name is that of ONNX's own list."""
    with pytest.raises(InvalidModelError, match=re.escape("to is 'FLOTE'")):
        folded("Cast", [X], 1, to="FLOTE")
