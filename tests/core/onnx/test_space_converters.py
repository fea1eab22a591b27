"""Nodes with windows, statistics and coordinates: versions, automatic padding, known traps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx_models import info, model, node

from headrace.errors import HeadraceError, InvalidModelError, UnsupportedModelError
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array


def f(*values: Any) -> Array:
    return np.array(values, np.float32)


def line(*values: float) -> Array:
    """One image of one channel of one spatial axis."""
    return f([values])


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def folded(
    op: str, inputs: Sequence[Array | None], opset: int = 19, outputs: str = "y", **attrs: Any
) -> list[Array]:
    """The outputs of a model of one node whose inputs are all weights."""
    names = ["-" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    weights = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    infos = [info(name, None) for name in outputs.split()]
    made = model([node(op, " ".join(names), outputs, **attrs)], [], infos, weights, opset)
    for output in made.graph.output:
        output.ClearField("type")
    graph = Importer(read_model(made.SerializeToString()), Placement.of_device("near")).run({}, {})
    return [graph.constants[tensor.name] for _, tensor in graph.outputs]


def one(op: str, inputs: Sequence[Array | None], opset: int = 19, **attrs: Any) -> Array:
    (value,) = folded(op, inputs, opset, **attrs)
    return value


def same(got: Array, want: Any, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6)


# --- padding ---------------------------------------------------------------------------------


def test_same_padding_is_never_negative() -> None:
    """Where the stride is larger than the window, nothing is cropped: sampling begins at 0."""
    x = np.arange(1, 29, dtype=np.float32).reshape(1, 1, 4, 7)
    weight = f([[[2]]])
    y = one("Conv", [x, weight], strides=[2, 4], auto_pad="SAME_UPPER")
    same(y, [[[[2, 10], [30, 38]]]])


def test_odd_same_padding_goes_to_the_end_or_the_beginning() -> None:
    """SAME_UPPER pads more after, SAME_LOWER more before; VALID pads nothing."""
    x, weight = line(1, 2, 3, 4), f([[1, 10]])
    same(one("Conv", [x, weight], auto_pad="SAME_UPPER"), [[[21, 32, 43, 4]]])
    same(one("Conv", [x, weight], auto_pad="SAME_LOWER"), [[[10, 21, 32, 43]]])
    same(one("Conv", [x, weight], auto_pad="VALID"), [[[21, 32, 43]]])


def test_same_padding_counts_dilation() -> None:
    """The window spans five elements with its gaps, so two are added on each side."""
    x = line(1, 2, 3, 4, 5)
    same(one("MaxPool", [x], kernel_shape=[3], dilations=[2], auto_pad="SAME_UPPER"),
         [[[3, 4, 5, 4, 5]]])  # fmt: skip


@pytest.mark.parametrize(
    ("auto_pad", "want"), [("SAME_UPPER", [1, 1, 3, 2]), ("SAME_LOWER", [1, 3, 2, 2])]
)
def test_transposed_same_padding_gives_input_times_stride(auto_pad: str, want: list[int]) -> None:
    """Of the five elements that there are, the last or the first is cropped."""
    y = one("ConvTranspose", [line(1, 2), f([[1, 1, 1]])], strides=[2], auto_pad=auto_pad)
    same(y, [[want]])


def test_transposed_output_shape_decides_the_padding() -> None:
    """What is too much is cropped, before the beginning first; what is missing is added behind."""
    inputs = [line(1, 2), f([[1, 1]])]
    same(one("ConvTranspose", inputs, output_shape=[2]), [[[3, 2]]])
    same(one("ConvTranspose", inputs, output_shape=[2], auto_pad="SAME_UPPER"), [[[1, 3]]])
    same(one("ConvTranspose", inputs, output_shape=[5]), [[[1, 3, 2, 0, 0]]])


def test_average_over_an_overhang_divides_by_what_is_there() -> None:
    """The slot beyond the explicit padding is not counted: the last divisor is 2."""
    y = one("AveragePool", [line(2, 4, 6, 8, 10, 13)], kernel_shape=[3], strides=[2],
            pads=[1, 1], ceil_mode=1, count_include_pad=1)  # fmt: skip
    same(y, [[[2, 6, 31 / 3, 6.5]]])


def test_padding_never_wins_a_maximum() -> None:
    """All elements are negative; zeros around them would win."""
    same(one("MaxPool", [line(-1, -3, -2, -5)], kernel_shape=[3], pads=[1, 1]),
         [[[-1, -1, -2, -2]]])  # fmt: skip


def test_valid_padding_rounds_up_where_ceil_mode_says_so() -> None:
    """As shape inference of ONNX and other runtimes have it."""
    x = line(1, 2, 3, 4)
    same(one("MaxPool", [x], kernel_shape=[3], strides=[2], auto_pad="VALID", ceil_mode=1),
         [[[3, 4]]])  # fmt: skip


# --- windows ---------------------------------------------------------------------------------


def test_each_group_reads_its_own_channels() -> None:
    """Group 1 of the outputs reads channels 2 and 3."""
    x = f([1, 2, 3, 4]).reshape(1, 4, 1)
    weight = f([1, 0], [0, 1], [1, 1], [1, 0], [0, 1], [2, -1]).reshape(6, 2, 1)
    same(one("Conv", [x, weight], kernel_shape=[1], group=2)[0, :, 0], [1, 2, 3, 3, 4, 2])


def test_powers_are_summed_over_windows() -> None:
    """LpPool with an overhang, and over everything, for p of 1, 2 and 3."""
    x = line(3, -4, 2)
    attrs: Any = {"kernel_shape": [2], "strides": [2]}
    same(one("LpPool", [x], **attrs), [[[5]]])
    same(one("LpPool", [x], ceil_mode=1, **attrs), [[[5, 2]]])
    same(one("LpPool", [x], p=1, **attrs), [[[7]]])
    same(one("LpPool", [x], p=3, **attrs), [[[91 ** (1 / 3)]]])
    same(one("GlobalLpPool", [x], p=3), [[[99 ** (1 / 3)]]])
    same(one("GlobalMaxPool", [x]), [[[3]]])
    same(one("GlobalAveragePool", [x]), [[[1 / 3]]])


def test_unpooling_counts_in_the_shape_that_the_window_implies() -> None:
    """Also when a larger shape is wanted."""
    inputs = [line(7, 8), np.array([[[1, 2]]])]
    same(one("MaxUnpool", inputs, kernel_shape=[2], strides=[2]), [[[0, 7, 8, 0]]])
    same(one("MaxUnpool", [*inputs, ints(1, 1, 6)], kernel_shape=[2], strides=[2]),
         [[[0, 7, 8, 0, 0, 0]]])  # fmt: skip


def test_places_of_maxima_count_rows_or_columns_first() -> None:
    """storage_order turns the spatial part of an index around."""
    x = f([[1, 2, 3], [4, 6, 5]])[None]
    for order, place in ((0, 4), (1, 3)):
        _, indices = folded("MaxPool", [x], kernel_shape=[2, 3], outputs="y i", storage_order=order)
        assert indices.tolist() == [[[[place]]]]


# --- statistics ------------------------------------------------------------------------------

X = f([[1, 2, -3]])  # [1, 1, 3]
VECTORS = [f(1.5), f(0.25), f(1), f(0)]  # scale, bias, mean, variance


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_epsilon_stands_inside_the_root(opset: int) -> None:
    """A channel whose variance is 0 stays finite."""
    y = one("BatchNormalization", [X, *VECTORS], opset)
    same(y, [[[0.25, 474.59164, -1897.1166]]], rtol=1e-4)


def test_batch_norm_before_opset_9_may_have_statistics_of_every_element() -> None:
    """With spatial=0 each element of an image is normalised by its own."""
    x = f([[1, 2], [3, 4]])
    scale, bias, mean, variance = f([1, 2], [3, 4]), f([0, 0], [0, 1]), x[0], f([1, 1], [1, 1])
    y = one("BatchNormalization", [x, scale, bias, mean * 0, variance], 7, spatial=0, epsilon=0.0)
    same(y, [[[1, 4], [9, 17]]])


def test_batch_norm_in_training_moves_the_running_statistics() -> None:
    """By the mean and the biased variance of the batch, as ONNX weighs them."""
    inputs = [f([[1, 3]]), f(1), f(0), f(10), f(2)]
    y, mean, variance = folded(
        "BatchNormalization", inputs, 15, "y m v", training_mode=1, momentum=0.75, epsilon=0.0
    )
    same(y, [[[-1, 1]]])
    same(mean, [0.75 * 10 + 0.25 * 2])
    same(variance, [0.75 * 2 + 0.25 * 1])


def test_statistics_of_another_dtype_than_the_input() -> None:
    """Half floats, with a half scale and float32 statistics, as opset 15 allows."""
    scale, bias = (vector.astype(np.float16) for vector in VECTORS[:2])
    y = one("BatchNormalization", [X.astype(np.float16), scale, bias, VECTORS[2], f(1)], 15)
    assert y.dtype == np.float16
    same(y, [[[0.25, 1.75, -5.75]]], rtol=1e-3)


def test_layer_norm_survives_a_large_mean() -> None:
    """The variance is 1.25 around a mean of 30002, which squares in float32 would lose."""
    x = f([30000.5, 30001.5, 30002.5, 30003.5])
    y = one("LayerNormalization", [x, f(1, 1, 1, 1)], 17)
    same(y, [[-1.341635, -0.4472118, 0.4472118, 1.341635]], rtol=1e-4)


def test_group_norm_scales_groups_before_opset_21_and_channels_since() -> None:
    """Two groups of two channels of one element each."""
    x = f([1, 3, 10, 30]).reshape(1, 4, 1)
    old = one("GroupNormalization", [x, f(1, 2), f(0, 5)], 18, num_groups=2, epsilon=0.0)
    new = one(
        "GroupNormalization", [x, f(1, 1, 2, 3), f(0, 0, 5, 5)], 21, num_groups=2, epsilon=0.0
    )
    same(old[0, :, 0], [-1, 1, 3, 7])
    same(new[0, :, 0], [-1, 1, 3, 8])


def test_a_vector_of_zeros_keeps_its_zeros() -> None:
    """Divided by its norm it would be NaN."""
    for p, want in ((1, [3 / 7, -4 / 7]), (2, [0.6, -0.8])):
        same(one("LpNormalization", [f([3, -4], [0, 0])], p=p), [want, [0, 0]])


# --- coordinates -----------------------------------------------------------------------------


def test_an_integer_scale_is_no_repetition_unless_it_rounds_down() -> None:
    """Two thirds is nearer to the next element."""
    x, scales = line(10, 20, 30, 40), f(1, 1, 3)
    attrs = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "round_prefer_floor"}
    y = one("Resize", [x, None, scales], 13, **attrs)
    same(y, [[[10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40, 40]]])


def test_aligned_corners_of_an_axis_of_length_1() -> None:
    """Neither 0 / 0 in nor out of it."""
    x = f([[[3, 9]], [[5, 7]]])
    y = one("Resize", [x, None, None, ints(1, 2, 2, 1)], 13, mode="linear",
            coordinate_transformation_mode="align_corners")  # fmt: skip
    same(y, [[[[3], [3]], [[5], [5]]]])


def test_smoothed_integers_are_rounded_after_each_axis_and_others_are_cut() -> None:
    """By two, without what lies beyond the edge: 3, 3 and 1 of 7 elements."""
    x = np.array([[[[0, 8, 9, 4], [1, 0, 3, 250], [7, -9, 5, -100], [2, 2, 2, 2]]]], np.int16)
    sizes = [None, None, ints(1, 1, 2, 2)]
    weights = np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7

    def rounded(values: Any) -> Any:
        return np.trunc(values + np.copysign(0.5, values))

    unsigned = x.clip(0).astype(np.uint8)
    for given in (x, unsigned):
        smoothed = one("Resize", [given, *sizes], 18, mode="linear", antialias=1, exclude_outside=1)
        same(smoothed, [[rounded(weights @ rounded(given[0, 0] @ weights.T))]])
    same(one("Resize", [unsigned, *sizes], 18, mode="linear"), [[[[2, 66], [2, 2]]]])


def test_a_region_that_ends_beyond_an_axis_reads_its_last_element() -> None:
    """Point 8 of 10 is at 5, or a little past it by how float32 has 0.2 and 1.1; 9 is outside."""
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    inputs = [line(0, 1, 2, 3, 4, 5), f(0, 0, 0.2, 1, 1, 1.1), None, ints(1, 1, 10)]
    y = one("Resize", inputs, 13, **attrs)
    same(y, [[[1, 1, 2, 2, 3, 3, 4, 4, 5, 7]]])
    y = one("Resize", inputs, 13, mode="linear", **attrs)
    same(y, [[[1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7]]])


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
def test_early_versions_look_at_index_over_scale(op: str, opset: int) -> None:
    """Nearest takes the element before; linear looks no further than the last one."""
    x, scales = line(0, 4), f(1, 1, 2)
    given = {"scales": [1.0, 1.0, 2.0]} if opset < 9 else {}
    inputs = [x] if opset < 9 else [x, scales]
    same(one(op, inputs, opset, **given), [[[0, 0, 4, 4]]])
    same(one(op, inputs, opset, mode="linear", **given), [[[0, 2, 4, 4]]])


def test_resize_10_takes_the_element_after_where_it_shrinks() -> None:
    """Index 1 / 0.6 lies between 1 and 2; the other axis grows at the same time."""
    x = f([[1, 2, 3, 4], [5, 6, 7, 8]])[None]
    same(one("Resize", [x, f(1, 1, 1.5, 0.6)], 10), [[[[1, 3], [1, 3], [5, 7]]]])


def test_a_length_is_multiplied_in_float32() -> None:
    """float32(0.7) is less than 0.7, and ten of it are 7 all the same."""
    x = np.zeros((1, 1, 10), np.float32)
    assert one("Resize", [x, None, f(1, 1, 0.7)], 13).shape == (1, 1, 7)


@pytest.mark.parametrize(
    ("policy", "want"), [("stretch", (4, 9)), ("not_larger", (3, 9)), ("not_smaller", (4, 12))]
)
def test_aspect_ratio_may_be_kept(policy: str, want: tuple[int, int]) -> None:
    """Sizes then are bounds; only the named axes are resized."""
    x = np.zeros((1, 2, 1, 3), np.float32)
    y = one(
        "Resize", [x, None, None, ints(4, 9)], 18, axes=[-2, -1], keep_aspect_ratio_policy=policy
    )
    assert y.shape == (1, 2, *want)


# --- refusals --------------------------------------------------------------------------------

IMAGE, WEIGHT = np.zeros((1, 2, 4, 4), np.float32), np.zeros((3, 2, 3, 3), np.float32)
FIVE_AXES = np.zeros((1, 1, 2, 2, 2, 2), np.float32)
NORM = [f(1, 1)] * 4


@pytest.mark.parametrize(
    ("op", "inputs", "opset", "attrs", "kind", "message"),
    [
        ("Conv", [IMAGE, WEIGHT], 11, {"kernel_shape": [3, 2]}, InvalidModelError,
         r"kernel_shape \(3, 2\) contradicts the weight float32\[3, 2, 3, 3\]"),
        ("Conv", [IMAGE, WEIGHT], 11, {"auto_pad": "SAME"}, InvalidModelError, "'SAME' is none of"),
        ("Conv", [IMAGE, WEIGHT], 11, {"pads": [1, 1]}, InvalidModelError, r"must be 4 numbers"),
        ("Conv", [IMAGE, WEIGHT], 11, {"strides": [0, 1]}, InvalidModelError, "none below 1"),
        ("Conv", [IMAGE, WEIGHT[0]], 11, {}, InvalidModelError, "must have the rank of input 0"),
        ("Conv", [IMAGE, WEIGHT], 11, {"dilations": [2, 2]}, HeadraceError, "the window spans 5"),
        ("Conv", [FIVE_AXES, FIVE_AXES], 11, {}, UnsupportedModelError, "up to three spatial"),
        ("MaxPool", [IMAGE], 12, {}, InvalidModelError, "needs an attribute 'kernel_shape'"),
        ("GlobalMaxPool", [f([1])], 7, {}, InvalidModelError, "must have a batch, channels"),
        ("MaxPool", [IMAGE], 12, {"kernel_shape": [2, 2], "storage_order": 2}, InvalidModelError,
         "storage_order is 2"),
        ("BatchNormalization", [f([1, 1]), *NORM], 9, {"outputs": "y m"}, UnsupportedModelError,
         "means training"),
        ("BatchNormalization", [f([1, 1]), *NORM], 15, {"outputs": "y m"}, InvalidModelError,
         "although training_mode is 0"),
        ("GroupNormalization", [IMAGE, f(1), f(1)], 18, {"num_groups": 3}, InvalidModelError,
         "num_groups=3 does not divide"),
        ("LpNormalization", [f(1)], 7, {"p": 3}, InvalidModelError, "p is 3; it may be 1 or 2"),
        ("Resize", [IMAGE, None, None], 13, {}, InvalidModelError, "needs scales or sizes"),
        ("Resize", [IMAGE, None, f(1, 1)], 13, {}, InvalidModelError, "must be 4 numbers"),
        ("Resize", [IMAGE, None, f(1, 1, 2, 2)], 13, {"mode": "area"}, InvalidModelError, "'area'"),
        ("Resize", [IMAGE, None, f(1, 1, 2, 2)], 13,
         {"coordinate_transformation_mode": "tf_crop_and_resize"}, InvalidModelError, "roi None"),
        ("Upsample", [IMAGE, f(1, 1, 2, 0)], 9, {}, InvalidModelError, "all above 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    op: str,
    inputs: list[Array | None],
    opset: int,
    attrs: dict[str, Any],
    kind: type[HeadraceError],
    message: str,
) -> None:
    """With the node, its version and the values."""
    with pytest.raises(kind, match=message):
        folded(op, inputs, opset, **attrs)
