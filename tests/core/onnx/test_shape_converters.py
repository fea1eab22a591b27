"""Nodes that move, cut, gather and fill: what the node tests of ONNX do not ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.graph.job_graph import JobGraph
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.onnx.importing.node import ValueNeeded
from headrace.placement import Placement
from headrace.tensor_spec import Array, TensorSpec

FAR = 2**63 - 1
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def imported(
    op: str,
    inputs: Sequence[Array | TensorSpec | None],
    *,
    opset: int = 21,
    outputs: Sequence[str] = ("y",),
    read: Sequence[str] | None = None,
    **attrs: Any,
) -> JobGraph:
    """The job of a model of one node. Arrays are weights, specs are inputs of the model."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    given = [(name, value) for name, value in zip(names, inputs, strict=True) if value is not None]
    weights = [numpy_helper.from_array(v, n) for n, v in given if isinstance(v, np.ndarray)]
    specs = {name: value for name, value in given if isinstance(value, TensorSpec)}
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(spec.dtype.numpy), spec.shape
        )
        for name, spec in specs.items()
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, **attrs)],
        "test",
        infos,
        [onnx.ValueInfoProto(name=name) for name in read or outputs],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    file = read_model(model.SerializeToString())
    return Importer(file, Placement.of_device("near")).run(specs, {})


def folded(op: str, inputs: Sequence[Array | None], **more: Any) -> list[Array]:
    """The values of the outputs of a node whose inputs are all weights."""
    graph = imported(op, inputs, **more)
    return [graph.constants[tensor.name] for _, tensor in graph.outputs]


def one(op: str, inputs: Sequence[Array | None], **more: Any) -> list[Any]:
    """``folded`` for one output, as a list that a test can spell out."""
    (value,) = folded(op, inputs, **more)
    return value.tolist()


# --- what changed from version to version ----------------------------------------------------


def test_axes_of_squeeze_and_unsqueeze_moved_from_attribute_to_input() -> None:
    """Both spellings mean the same, also for negative axes, which count in the longer shape."""
    x = X[:1]
    for more in ({"opset": 11, "axes": [-2]}, {"opset": 13}):
        axes = [] if "axes" in more else [ints(-2)]
        assert folded("Squeeze", [x, *axes], **more)[0].shape == (4,)
        assert folded("Unsqueeze", [x, *axes], **more)[0].shape == (1, 1, 4)


def test_squeeze_without_axes_takes_every_1() -> None:
    """An absent list and an empty one do the same."""
    assert folded("Squeeze", [X[:1, :, None]], opset=13)[0].shape == (4,)
    assert folded("Squeeze", [X[:1, :, None], ints()], opset=13)[0].shape == (4,)


def test_squeeze_of_another_dimension_is_refused() -> None:
    """Only a 1 can go."""
    with pytest.raises(InvalidModelError, match="axis 0 of float32"):
        folded("Squeeze", [X, ints(0)], opset=13)


def test_slice_bounds_moved_from_attributes_to_inputs() -> None:
    """Opset 9 has attributes and no steps."""
    assert one("Slice", [X], opset=9, starts=[1, -2], ends=[FAR, -1]) == [[6.0], [10.0]]
    assert one("Slice", [X, ints(1, -2), ints(FAR, -1)], opset=10) == [[6.0], [10.0]]


@pytest.mark.parametrize("end", [FAR, 2**31 - 1, -FAR - 1, -100])
def test_backward_slice_to_the_end_reaches_the_first_element(end: int) -> None:
    """Exporters spell the end of a backward slice in four ways."""
    line = X[0]
    assert one("Slice", [line, ints(-1), ints(end), ints(0), ints(-1)]) == [3.0, 2.0, 1.0, 0.0]


def test_backward_slice_from_before_the_start_takes_the_first_element() -> None:
    """ONNX clamps such a start into the axis; numpy would take nothing."""
    assert one("Slice", [X[0], ints(-9), ints(-FAR), ints(0), ints(-1)]) == [0.0]


def test_pad_value_moved_from_attribute_to_input() -> None:
    """Opset 10 has attributes; 11 inputs; 18 names axes, which may be negative."""
    line = X[:1, :2]
    wanted = [[7.0, 0.0, 1.0]]
    value = np.array(7, np.float32)
    assert one("Pad", [line], opset=10, pads=[0, 1, 0, 0], value=7.0) == wanted
    assert one("Pad", [line, ints(0, 1, 0, 0), value], opset=11) == wanted
    assert one("Pad", [line, ints(1, 0), value, ints(-1)], opset=18) == wanted


def test_wrap_padding_before_its_opset_is_refused() -> None:
    """Opset 18 has no mode 'wrap', and nothing is padded in its place."""
    with pytest.raises(InvalidModelError, match="'wrap'"):
        folded("Pad", [X, ints(0, 1, 0, 1)], opset=18, mode="wrap")


def test_k_of_top_k_moved_from_attribute_to_input() -> None:
    """Opset 9 has an attribute and only the largest; equal elements keep their order."""
    x = np.array([5, 1, 9, 5, 9, 5], np.float32)
    for inputs, more in (([x], {"opset": 9, "k": 4}), ([x, ints(4)], {"opset": 11})):
        values, indices = folded("TopK", inputs, outputs=("v", "i"), **more)
        assert values.tolist() == [9, 9, 5, 5]
        assert indices.tolist() == [2, 4, 0, 3]


# --- shapes ----------------------------------------------------------------------------------


def test_zero_in_a_reshape_copies_a_dimension_unless_it_is_allowed() -> None:
    """``allowzero`` makes it the dimension 0."""
    assert folded("Reshape", [X, ints(0, -1, 2)])[0].shape == (3, 2, 2)
    empty = np.zeros((0, 4), np.float32)
    assert folded("Reshape", [empty, ints(4, 0)], allowzero=1)[0].shape == (4, 0)


def test_zero_in_a_reshape_beyond_the_rank_is_refused() -> None:
    """There is no dimension that it could copy."""
    with pytest.raises(InvalidModelError, match="stands for no dimension"):
        folded("Reshape", [X, ints(12, 1, 0)])


def test_shape_is_cut_as_python_cuts() -> None:
    """Start and end clamp and count from the end."""
    x = np.zeros((2, 3, 4), np.float32)
    assert one("Shape", [x], start=-2) == [3, 4]
    assert one("Shape", [x], start=-9, end=-1) == [2, 3]
    assert one("Shape", [x], start=2, end=1) == []


def test_expand_broadcasts_both_sides() -> None:
    """A 1, or a missing axis, of the asked shape keeps what the tensor has."""
    assert folded("Expand", [X, ints(1)])[0].shape == (3, 4)
    assert folded("Expand", [X[:, :1], ints(2, 1, 5)])[0].shape == (2, 3, 5)
    with pytest.raises(InvalidModelError, match="does not broadcast"):
        folded("Expand", [X, ints(2, 4)])


def test_shape_input_that_is_not_known_is_asked_for() -> None:
    """The importer learns which tensor it has to specialise on."""
    with pytest.raises(ValueNeeded) as caught:
        imported("Reshape", [X, TensorSpec((2,), "int64")])
    assert caught.value.tensor.name == "x1"


# --- parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [7, 11, 13])
def test_split_counts_outputs_that_nobody_reads(opset: int) -> None:
    """Three declared outputs mean thirds, also when the last is not used."""
    first, second = folded(
        "Split", [X[:, 0]], opset=opset, outputs=("a", "b", "c"), read=("a", "b")
    )
    assert first.tolist() == [0.0]
    assert second.tolist() == [4.0]


def test_split_into_unequal_parts_came_with_opset_18() -> None:
    """Before, the same node is an error."""
    outputs = ("a", "b", "c")
    parts = folded("Split", [X[0]], opset=18, outputs=outputs, num_outputs=3)
    assert [part.tolist() for part in parts] == [[0.0, 1.0], [2.0, 3.0], []]
    with pytest.raises(InvalidModelError, match="equal parts"):
        folded("Split", [X[0]], opset=13, outputs=outputs)


@pytest.mark.parametrize("sizes", [(1, 2), (5, -1), (4,), (2, 1, 1)])
def test_split_sizes_must_fit(sizes: tuple[int, ...]) -> None:
    """One for each output, none negative, and together the axis."""
    with pytest.raises(InvalidModelError, match="sizes"):
        folded("Split", [X, ints(*sizes)], opset=13, axis=1, outputs=("a", "b"))


def test_concat_names_both_shapes_that_do_not_fit() -> None:
    """A dimension differs that is not joined."""
    with pytest.raises(InvalidModelError, match=r"\[1, 2\].*\[2, 3\]"):
        folded("Concat", [np.zeros((1, 2), np.float32), np.zeros((2, 3), np.float32)], axis=1)


def test_cum_sum_wraps_and_turns_around() -> None:
    """Integers wrap as on every device; exclusive and reverse combine."""
    x = np.array([2**31 - 1, 1, 5], np.int32)
    axis = np.array(0, np.int32)
    assert one("CumSum", [x, axis]) == [2**31 - 1, -(2**31), -(2**31) + 5]
    small = np.array([1, 2, 3, 4, 5], np.float32)
    assert one("CumSum", [small, axis], exclusive=1, reverse=1) == [14.0, 12.0, 9.0, 5.0, 0.0]


# --- values ----------------------------------------------------------------------------------


def test_index_outside_stops_the_import() -> None:
    """A constant index is checked when it is folded; the message names index and axis."""
    with pytest.raises(HeadraceError, match="index 4 is outside axis 1, which has 4"):
        folded("Gather", [X, ints(0, 4)], axis=1)


@pytest.mark.parametrize(
    ("indices", "op"),
    [
        (2, "slice"),
        (-1, "slice"),
        ([1], "slice"),
        ([0, 2], "slice"),
        ([-3, -2], "slice"),
        ([2, 0], "gather"),
        ([1, 1], "gather"),
        ([[0, 1]], "gather"),
    ],
)
def test_known_places_that_go_up_evenly_are_a_slice(indices: object, op: str) -> None:
    """One index takes its axis away; others are gathered."""
    places = np.array(indices, np.int64)
    (part, *_) = imported("Gather", [TensorSpec((3, 4), "float32"), places], axis=1).ops
    assert part.call.op == op
    (value,) = folded("Gather", [X, places], axis=1)
    assert np.array_equal(value, np.take(X, places, 1))


def test_nonzero_of_a_scalar_has_no_rows() -> None:
    """As ONNX says, and not as numpy had it."""
    assert folded("NonZero", [np.array(3.0, np.float32)])[0].shape == (0, 1)
    assert one("NonZero", [np.array([[0, 1], [2, 0]], np.float32)]) == [[0, 1], [1, 0]]


def test_large_integer_survives_constant_of_shape() -> None:
    """int64 does not go through a float."""
    value = helper.make_tensor("v", onnx.TensorProto.INT64, [1], [2**62 + 1])
    assert one("ConstantOfShape", [ints(2)], value=value) == [2**62 + 1] * 2


@pytest.mark.parametrize(
    ("attrs", "dtype", "wanted"),
    [
        ({"value_int": 3}, np.int64, 3),
        ({"value_ints": [1, 2]}, np.int64, [1, 2]),
        ({"value_float": 0.5}, np.float32, 0.5),
        ({"value_floats": [0.5, 2.0]}, np.float32, [0.5, 2.0]),
    ],
)
def test_constant_of_python_numbers(attrs: dict[str, Any], dtype: object, wanted: object) -> None:
    """Numbers become int64 and float32, a single one a scalar."""
    (value,) = folded("Constant", [], **attrs)
    assert value.dtype == dtype
    assert value.tolist() == wanted


def test_constant_string_is_refused() -> None:
    """Strings are no tensors."""
    with pytest.raises(UnsupportedModelError, match="strings"):
        folded("Constant", [], value_string="text")


@pytest.mark.parametrize(
    ("attrs", "held"),
    [({}, "nothing"), ({"value_int": 1, "value_float": 2.0}, "value_float and value_int")],
)
def test_a_constant_holds_one_value(attrs: dict[str, Any], held: str) -> None:
    """Of none, and of two, nobody can say which is meant."""
    with pytest.raises(InvalidModelError, match=f"holds {held}; it must be one of value, sparse"):
        folded("Constant", [], **attrs)


def test_sparse_constant_becomes_dense() -> None:
    """What is not listed is 0."""
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([5, 6], np.float32), "v"),
        numpy_helper.from_array(ints(1, 3), "i"),
        [2, 2],
    )
    assert one("Constant", [], sparse_value=sparse) == [[0.0, 5.0], [0.0, 6.0]]


@pytest.mark.parametrize("k", [-FAR - 1, -7, -1, 0, 2, 7, FAR])
def test_eye_like_off_the_diagonal(k: int) -> None:
    """A diagonal that lies outside gives zeros; a negative one does not come in from the end."""
    wanted = np.eye(3, 4, max(-9, min(k, 9)), np.int64)
    assert one("EyeLike", [X], k=k, dtype=7) == wanted.tolist()


def test_range_of_integers_is_exact() -> None:
    """Bounds beyond 2**53 and steps that do not divide."""
    start = 2**62
    bounds = [np.array(v, np.int64) for v in (start, start + 5, 2)]
    assert one("Range", bounds) == [start, start + 2, start + 4]


@pytest.mark.parametrize("bounds", [(0, 5, 0), (0, np.inf, 1), (-3e38, 3e38, 1e-40)])
def test_range_without_an_end_is_refused(bounds: tuple[float, ...]) -> None:
    """A step of 0, an infinite limit, and a count beyond all numbers."""
    with pytest.raises(HeadraceError):
        folded("Range", [np.array(v, np.float32) for v in bounds])


def test_storage_dtypes_move() -> None:
    """4-bit and 8-bit floats have no arithmetic, and none is needed to move them."""
    x = np.array([[0, 1], [2, 3]]).astype(ml_dtypes.int4)
    (y,) = folded("Transpose", [x])
    assert y.dtype == ml_dtypes.int4
    assert y.astype(np.int64).tolist() == [[0, 2], [1, 3]]


# --- sizes -----------------------------------------------------------------------------------

HUGE = 2**62
SCALAR = np.zeros((1, 1), np.float32)
BOMBS: dict[str, tuple[str, list[Array], dict[str, Any]]] = {
    "constant-of-shape": ("ConstantOfShape", [ints(HUGE, HUGE)], {}),
    "constant-of-empty-shape": ("ConstantOfShape", [ints(HUGE, HUGE, 0)], {}),
    "expand": ("Expand", [SCALAR, ints(HUGE, 7)], {}),
    "tile": ("Tile", [SCALAR, ints(HUGE, 7)], {}),
    "pad": ("Pad", [SCALAR, ints(HUGE, HUGE, HUGE, HUGE)], {}),
    "range": ("Range", [np.array(v, np.int64) for v in (0, HUGE, 1)], {}),
    "one-hot": ("OneHot", [ints(0, 1), ints(HUGE), np.zeros(2, np.float32)], {}),
    "split": ("Split", [SCALAR], {"num_outputs": HUGE}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_few_bytes_cannot_ask_for_everything(bomb: str) -> None:
    """A size that no machine has is an error of the node, before anything is allocated."""
    op, inputs, attrs = BOMBS[bomb]
    with pytest.raises(HeadraceError, match=op):
        folded(op, inputs, **attrs)


def test_what_is_large_is_left_to_the_device() -> None:
    """128 MiB of zeros are an op of the job and no constant."""
    graph = imported("ConstantOfShape", [ints(32, 1 << 20)])
    assert [op.call.op for op in graph.ops] == ["expand"]
    assert max(value.nbytes for value in graph.constants.values()) <= 16


def test_dropout_drops_nothing_where_nothing_is_trained() -> None:
    """The data go through and the mask is full."""
    y, mask = folded("Dropout", [X], outputs=("y", "mask"), opset=13)
    np.testing.assert_array_equal(y, X)
    assert mask.dtype == np.bool_
    assert mask.all()
    ratio, on = np.array(0.5, np.float32), np.array(True)
    assert one("Dropout", [X, np.zeros_like(ratio), on], opset=13) == X.tolist()
