"""Regions of images, of any number and size: what onnxruntime computes, headrace computes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from headrace.errors import RunError
from headrace.onnx import load

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)


def pooled(mode: str, ratio: int, centring: str) -> ModelProto:
    """A model that doubles an image and pools regions of it, which it computes as well."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["double"]),
        helper.make_node("Add", ["boxes", "boxes"], ["regions"]),
        helper.make_node(
            "RoiAlign",
            ["double", "regions", "batches"],
            ["y"],
            mode=mode,
            sampling_ratio=ratio,
            output_height=3,
            output_width=2,
            spatial_scale=0.5,
            coordinate_transformation_mode=centring,
        ),
        helper.make_node("Exp", ["y"], ["z"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"]),
        helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["r", 4]),
        helper.make_tensor_value_info("batches", TensorProto.INT64, ["r"]),
    ]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


@pytest.mark.parametrize("centring", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_are_pooled(device: str, mode: str, ratio: int, centring: str) -> None:
    """Small and large, over the edge, of no size; as many as there are, also none; of one image."""
    random = np.random.default_rng(3)
    source = pooled(mode, ratio, centring)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for count, images in ((6, 2), (2, 2), (6, 1), (0, 2), (0, 1)):
            x = random.standard_normal((images, 3, 13, 17)).astype(np.float32) / 2
            first = random.uniform(-2, 12, (count, 2))
            size = random.uniform(0, 9, (count, 2)) * (random.random((count, 1)) < 0.8)
            feeds = {
                "x": x,
                "boxes": np.concatenate([first, first + size], 1).astype(np.float32),
                "batches": random.integers(0, images, count),
            }
            (got,), (want,) = loaded.run(feeds).values(), session.run(None, feeds)
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_region_of_an_image_that_is_not_there_is_an_error(device: str) -> None:
    """Of one image too, whose regions are sampled without looking up which image it is."""
    boxes = np.array([[0, 0, 4, 4]], np.float32)
    with load(pooled("avg", 2, "half_pixel"), device) as loaded:
        for images in (1, 2):
            feeds = {
                "x": np.ones((images, 3, 13, 17), np.float32),
                "boxes": boxes,
                "batches": np.array([images]),
            }
            with pytest.raises(RunError, match="index"):
                loaded.run(feeds)


def largest(size: tuple[int, int], scale: float) -> ModelProto:
    """A model that takes the largest of parts of regions, which it computes as well."""
    nodes = [
        helper.make_node("Add", ["regions", "nothing"], ["boxes"]),
        helper.make_node(
            "MaxRoiPool", ["x", "boxes"], ["y"], pooled_shape=size, spatial_scale=scale
        ),
        helper.make_node("Exp", ["y"], ["z"]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"]),
        helper.make_tensor_value_info("regions", TensorProto.FLOAT, ["r", 5]),
    ]
    weights = [helper.make_tensor("nothing", TensorProto.FLOAT, [1], [0])]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 7)])
@pytest.mark.parametrize("scale", [1.0, 0.5, 0.0625])
def test_the_largest_of_regions_is_taken(device: str, scale: float, size: tuple[int, int]) -> None:
    """Ends between elements and halfway, over every edge, the wrong way round; also no region."""
    random = np.random.default_rng(7)
    source = largest(size, scale)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for count, images, step in ((9, 2, 0.5), (9, 1, 0.01), (0, 1, 1), (4, 3, 1)):
            first = random.uniform(-6, 17, (count, 2))
            ends = np.concatenate([first, first + random.uniform(-3, 12, (count, 2))], 1)
            regions = np.concatenate(
                [random.integers(0, images, (count, 1)), np.round(ends / step) * step / scale], 1
            ).astype(np.float32)
            feeds = {
                "x": random.standard_normal((images, 3, 11, 14)).astype(np.float32),
                "regions": regions,
            }
            (got,), (want,) = loaded.run(feeds).values(), session.run(None, feeds)
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-5)
