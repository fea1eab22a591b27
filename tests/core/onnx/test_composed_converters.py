"""Nodes composed of many ops: spectra, samples at computed places, boxes, running products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto
from onnx_models import info, model, node

from headrace.errors import InvalidModelError, ResourceLimitError
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array


def folded(op: str, *inputs: Array | None, opset: int = 20, **attrs: Any) -> Array:
    """What a node makes of weights: folded while the model is imported."""
    names = ["-" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    weights = {name: x for name, x in zip(names, inputs, strict=True) if x is not None}
    made = node(op, " ".join(names), "y", **attrs)
    source = model([made], [], [info("y", None, TensorProto.UNDEFINED)], weights, opset)
    graph = Importer(read_model(source), Placement.of_device("near")).run({}, {})
    ((_, tensor),) = graph.outputs
    return graph.constants[tensor.name]


def parts(numbers: Array) -> Array:
    """A complex array as real and imaginary parts on a last axis."""
    return np.stack([numbers.real, numbers.imag], axis=-1)


def noise(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape)


# --- spectra -----------------------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(1, 14), st.booleans(), st.sampled_from([0, 1, 2]))
def test_a_transform_equals_that_of_numpy(size: int, length: int, inverse: bool, axis: int) -> None:
    """Any length, shorter or longer than the signal, along any axis, there and back."""
    shape = [2, 3, 2]
    shape[axis] = size
    x = noise(*shape) + 1j * noise(*shape[::-1]).T
    wanted = (np.fft.ifft if inverse else np.fft.fft)(x, length, axis)
    made = folded("DFT", parts(x), np.array(length), np.array(axis), inverse=int(inverse))
    np.testing.assert_allclose(made, parts(wanted), atol=1e-12)


@given(st.integers(2, 12))
def test_a_transform_from_one_side_equals_that_of_numpy(length: int) -> None:
    """Of real signals: half of the bins, and the signal again from these."""
    x = noise(2, length)
    half = folded("DFT", x[..., np.newaxis], None, np.array(1), onesided=1)
    np.testing.assert_allclose(half, parts(np.fft.rfft(x)), atol=1e-12)
    back = folded("DFT", half, np.array(length), np.array(1), onesided=1, inverse=1)
    np.testing.assert_allclose(back[..., 0], x, atol=1e-12)


def test_frames_are_windowed_and_transformed() -> None:
    """Each frame begins a step after the one before; the last that fits is the last."""
    x, window = noise(2, 23), np.hanning(6)
    made = folded("STFT", x, np.array(4), window)
    frames = np.stack([x[:, start : start + 6] * window for start in range(0, 18, 4)], axis=1)
    np.testing.assert_allclose(made, parts(np.fft.rfft(frames)), atol=1e-12)


def test_a_long_transform_needs_no_matrix() -> None:
    """Of a prime number of points, whose matrix would take 160 GB."""
    x = noise(1, 100_003, 1)
    made = folded("DFT", x, None, np.array(1))
    np.testing.assert_allclose(made, parts(np.fft.fft(x[..., 0])), atol=1e-9)


def test_frames_that_do_not_fit_are_refused() -> None:
    """A step of nothing, and a frame longer than the signal: the message names both."""
    for step, length in ((0, 4), (1, 24)):
        with pytest.raises(InvalidModelError, match=f"{length} samples, {step} apart"):
            folded("STFT", noise(2, 23), np.array(step), None, np.array(length))


# --- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_sampling_every_element_where_it_lies_changes_nothing(
    align_corners: int, mode: str
) -> None:
    """The grid names the last axis first; its ends are centres or edges of the outer elements."""
    x = noise(2, 3, 4, 5)
    rows, columns = (
        np.linspace(-1, 1, size) if align_corners else (2 * np.arange(size) + 1) / size - 1
        for size in (4, 5)
    )
    grid = np.stack(np.meshgrid(columns, rows), axis=-1)[np.newaxis].repeat(2, axis=0)
    made = folded("GridSample", x, grid, mode=mode, align_corners=align_corners)
    np.testing.assert_allclose(made, x, atol=1e-12)


@pytest.mark.parametrize(
    ("padding", "wanted"), [("zeros", [0, 0, 0]), ("border", [1, 3, 3]), ("reflection", [2, 3, 1])]
)
def test_places_outside_are_padded(padding: str, wanted: list[float]) -> None:
    """Of 1, 2, 3 at -2, 3 and 5 elements."""
    x = np.array([[[1.0, 2, 3]]])
    places = np.array([-2.0, 3, 5]) if padding == "reflection" else np.array([-2.0, 4, 5])
    grid = ((2 * places + 1) / 3 - 1).reshape(1, 3, 1)
    made = folded("GridSample", x, grid, mode="nearest", padding_mode=padding)
    np.testing.assert_allclose(made[0, 0], wanted)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "uint64", "bool"])
def test_images_of_integers_are_sampled(dtype: str) -> None:
    """Also of those that no float32 holds: each place is that of one element."""
    x = np.array([[[1, 7, 200, 16_777_217]]]).astype(dtype)
    grid = ((2 * np.array([3, 0, 1]) + 1) / 4 - 1).astype(np.float32).reshape(1, 3, 1)
    made = folded("GridSample", x, grid, mode="nearest")
    assert (made.dtype, made.tolist()) == (x.dtype, x[..., [3, 0, 1]].tolist())


@pytest.mark.parametrize(("dtype", "places"), [("float16", "float32"), ("float32", "float64")])
def test_a_grid_may_be_finer_than_the_image(dtype: str, places: str) -> None:
    """The dtype of the result is that of the image."""
    x = np.array([[[2, 4, 8]]], dtype)
    grid = ((2 * np.array([0.5, 1.75]) + 1) / 3 - 1).astype(places).reshape(1, 2, 1)
    made = folded("GridSample", x, grid)
    assert made.dtype == x.dtype
    np.testing.assert_allclose(made[0, 0], [3, 7], rtol=1e-3)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_columns_of_integers_are_added_up(dtype: str) -> None:
    """Where two overlap; what is too much for int8 wraps around."""
    x = np.array([[[100, 100], [100, 3]]]).astype(dtype)
    made = folded("Col2Im", x, np.array([3]), np.array([2]))
    assert made.dtype == dtype
    assert made.tolist() == [[np.array([100, 200, 3]).astype(dtype).tolist()]]


def test_a_grid_of_another_rank_is_refused() -> None:
    """Both shapes are in the message."""
    with pytest.raises(InvalidModelError, match=r"the grid is \[n, \*out, 2\]"):
        folded("GridSample", noise(1, 1, 4, 4), noise(1, 2, 2, 3))


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("space", [(3, 4), (2, 3, 4)])
def test_places_moved_by_a_matrix(batch: int, space: tuple[int, ...]) -> None:
    """Each is that of its element times a matrix; one image is no other case than two."""
    rank = len(space)
    theta = noise(batch, rank, rank + 1)
    size = np.array([batch, 5, *space])
    for align_corners in (0, 1):
        made = folded("AffineGrid", theta, size, align_corners=align_corners)
        assert made.shape == (batch, *space, rank)
        for place in np.ndindex(batch, *space):
            there = [
                2 * i / (length - 1) - 1 if align_corners else (2 * i + 1) / length - 1
                for i, length in zip(place[1:], space, strict=True)
            ]
            np.testing.assert_allclose(made[place], theta[place[0]] @ [*there[::-1], 1])


@pytest.mark.parametrize("size", [[2, 3, 4, 4], [1, 3, 0, -4], [1, 3, 4]])
def test_a_grid_that_does_not_fit_its_matrices_is_refused(size: list[int]) -> None:
    """More images than matrices, a negative size, too few axes."""
    with pytest.raises(InvalidModelError, match="does not fit the matrices"):
        folded("AffineGrid", noise(1, 2, 3), np.array(size))


def test_a_grid_that_no_machine_holds_is_refused() -> None:
    """A few numbers in a file cannot ask for it."""
    with pytest.raises(ResourceLimitError, match="the places of"):
        folded("AffineGrid", noise(1, 2, 3), np.array([1, 1, 1 << 20, 1 << 20]))


# --- boxes -------------------------------------------------------------------------------------

BOXES = np.array([[[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 4, 4], [0, 1, 2, 3]]], np.float32)
SCORES = np.array([[[0.5, 0.9, 0.1, 0.6], [0.3, 0.0, 0.2, 0.0]]], np.float32)


def test_a_box_that_a_better_one_overlaps_is_left_out() -> None:
    """Class by class, from the best, until there are as many as were asked for."""
    made = folded("NonMaxSuppression", BOXES, SCORES, np.array([3]), np.array([0.5], np.float32))
    assert made.tolist() == [[0, 0, 1], [0, 0, 3], [0, 0, 2], [0, 1, 0], [0, 1, 2], [0, 1, 3]]
    half, above = np.array(0.5, np.float32), np.array(0.25, np.float32)
    made = folded("NonMaxSuppression", BOXES, SCORES, np.array(2), half, above)
    assert made.tolist() == [[0, 0, 1], [0, 0, 3], [0, 1, 0]]


def test_without_a_count_no_box_is_chosen() -> None:
    """ONNX says that the most boxes of a class are 0 by default."""
    assert folded("NonMaxSuppression", BOXES, SCORES).shape == (0, 3)


def test_boxes_are_computed_of_what_is_fed(load_near: Any) -> None:
    """How many there are depends on the values; each feed has its own job."""
    source = model(
        [node("NonMaxSuppression", "b s most overlap", "y")],
        [info("b", [1, 4, 4]), info("s", [1, 2, 4])],
        [info("y", [None, 3], TensorProto.INT64)],
        {"most": np.array(1), "overlap": np.float32(0.5)},
    )
    loaded = load_near(source)
    assert loaded.run({"b": BOXES, "s": SCORES})["y"].tolist() == [[0, 0, 1], [0, 1, 0]]
    assert loaded.run({"b": BOXES, "s": SCORES[:, ::-1]})["y"].tolist() == [[0, 0, 0], [0, 1, 1]]


# --- running products --------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_a_running_product_multiplies_what_went_before(reverse: int, exclusive: int) -> None:
    """Forwards or backwards, the element itself in or out."""
    x = np.array([2, 3, 5, 7, 11], np.int64)
    wanted = x[::-1] if reverse else x
    wanted = np.cumprod(np.append(1, wanted[:-1]) if exclusive else wanted)
    made = folded("CumProd", x, np.array(0), opset=26, reverse=reverse, exclusive=exclusive)
    assert made.tolist() == (wanted[::-1] if reverse else wanted).tolist()


# --- regions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "fold"), [("avg", np.mean), ("max", np.max)])
def test_a_region_that_is_sampled_at_elements_folds_these(mode: str, fold: Any) -> None:
    """With a sample in the middle of each element, a bin is the mean, or largest, of its own."""
    x = np.abs(noise(2, 3, 6, 8))
    regions = np.array([[2.0, 1, 6, 5], [0, 2, 8, 6]])
    made = folded(
        "RoiAlign", x, regions, np.array([1, 0]), opset=16, mode=mode,
        output_height=2, output_width=2, sampling_ratio=2,
    )  # fmt: skip
    first = x[1, :, 1:5, 2:6].reshape(3, 2, 2, 2, 2)
    np.testing.assert_allclose(made[0], fold(first, axis=(2, 4)), atol=1e-12)
    assert made.shape == (2, 3, 2, 2)


def test_regions_outside_of_the_image_are_nothing() -> None:
    """What is more than an element away from it counts as 0; what is less, as its edge."""
    x = np.full((1, 1, 4, 4), 7.0)
    regions = np.array([[-9.0, -9, -7, -7], [-0.9, -0.9, 0.1, 0.1]])
    made = folded("RoiAlign", x, regions, np.array([0, 0]), opset=16, sampling_ratio=1)
    assert made.reshape(-1).tolist() == [0, 7]


@pytest.mark.parametrize(("mode", "fold"), [("avg", np.mean), ("max", np.max)])
def test_each_region_may_have_as_many_samples_as_elements(mode: str, fold: Any) -> None:
    """A ratio of 0: 3 x 2 of them in a region, 1 x 1 in another, none in one without a size."""
    x = 1 + np.abs(noise(1, 2, 6, 8))
    regions = np.array([[2.0, 1, 4, 4], [5, 2, 6, 3], [3, 3, 3, 3]])
    made = folded("RoiAlign", x, regions, np.array([0, 0, 0]), opset=16, mode=mode)
    np.testing.assert_allclose(made[0, :, 0, 0], fold(x[0, :, 1:4, 2:4], axis=(1, 2)), atol=1e-12)
    np.testing.assert_allclose(made[1, :, 0, 0], x[0, :, 2, 5], atol=1e-12)
    assert made[2].tolist() == [[[0]], [[0]]]


def test_the_largest_of_a_part_of_a_region_is_of_all_elements_it_touches() -> None:
    """Of three rows both parts have the middle one; a part outside of the image is 0."""
    x = np.arange(48.0).reshape(1, 1, 6, 8)
    regions = np.array([[0, 2.0, 1, 5, 3], [0, 7, -4, 8, 1]])
    made = folded("MaxRoiPool", x, regions, opset=16, pooled_shape=[2, 2])
    assert made[0, 0].tolist() == [[2 * 8 + 3, 2 * 8 + 5], [3 * 8 + 3, 3 * 8 + 5]]
    assert made[1, 0].tolist() == [[0, 0], [1 * 8 + 7, 0]]


@pytest.mark.filterwarnings("error")
def test_a_region_with_an_end_that_is_nowhere_has_no_elements() -> None:
    """NaN and infinity; ends that are far outside are as those at an edge."""
    x = np.arange(48.0).reshape(1, 1, 6, 8)
    ends = [[0, np.nan, 0, 3, 3], [0, 0, 0, np.inf, 3], [0, -3e38, -3e38, 3e38, 3e38]]
    made = folded("MaxRoiPool", x, np.array(ends), opset=16, pooled_shape=[1, 1])
    assert made[:, 0, 0, 0].tolist() == [0, 0, 47]
    far = np.array([[0, 0, 3e38, 3e38], [0, 0, np.inf, 3]])
    made = folded("RoiAlign", x, far, np.zeros(2, np.int64), opset=16)
    assert made[:, 0, 0, 0].tolist() == [0, 0]


def test_regions_to_take_the_largest_of_have_five_numbers() -> None:
    """An image and two corners; and at least one part along each axis."""
    x, regions = np.ones((1, 1, 6, 8)), np.zeros((1, 4))
    with pytest.raises(InvalidModelError, match="count, 5"):
        folded("MaxRoiPool", x, regions, opset=16, pooled_shape=[2, 2])
    with pytest.raises(InvalidModelError, match="none below 1"):
        folded("MaxRoiPool", x, np.zeros((1, 5)), opset=16, pooled_shape=[2, 0])


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_determinants(size: int) -> None:
    """Of any number of matrices, also where the first pivot is 0, and where no pivot is left."""
    x = noise(2, 3, size, size)
    x[0, 0, 0, 0] = 0
    x[1, 2, -1] = x[1, 2, 0] * (size > 1)
    np.testing.assert_allclose(folded("Det", x, opset=20), np.linalg.det(x), atol=1e-12)
    assert folded("Det", x[0, 0], opset=20).shape == ()


def test_the_determinant_of_no_element_is_one() -> None:
    """The product of nothing, as numpy says."""
    for shape in ((0, 0), (2, 0, 0)):
        got = folded("Det", np.zeros(shape, np.float32), opset=20)
        np.testing.assert_array_equal(got, np.linalg.det(np.zeros(shape)), strict=False)
