"""Pools and norms of planes: the same bits for each number of threads, and as the peer has them."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import headrace_cpu
from headrace.onnx import load
from headrace_cpu import _native

RNG = np.random.default_rng(0)
SHAPES = {1: (3, 17, 999), 2: (2, 19, 61, 67), 3: (1, 13, 9, 30, 31)}


def pool(op, rank, kernel, stride, pads, **more):
    """A pool whose windows are as wide on each axis."""
    lies = {"kernel_shape": [kernel] * rank, "strides": [stride] * rank}
    return op, SHAPES[rank], {**lies, "pads": [pads] * (2 * rank), **more}


NODES = [
    pool("MaxPool", 1, 4, 4, 0),
    pool("MaxPool", 2, 2, 2, 0),
    pool("MaxPool", 2, 3, 1, 1),
    pool("MaxPool", 3, 3, 2, 1),
    pool("MaxPool", 2, 3, 1, 0, dilations=[2, 2]),
    pool("MaxPool", 2, 3, 2, 1, dilations=[3, 3]),
    pool("MaxPool", 2, 3, 3, 1),
    pool("MaxPool", 1, 2, 5, 0),
    pool("AveragePool", 1, 4, 4, 0),
    pool("AveragePool", 2, 3, 2, 1),
    pool("AveragePool", 3, 2, 2, 0),
    ("MaxPool", SHAPES[2], {"kernel_shape": SHAPES[2][2:]}),
    ("AveragePool", SHAPES[2], {"kernel_shape": SHAPES[2][2:]}),
    ("AveragePool", SHAPES[1], {"kernel_shape": SHAPES[1][2:], "pads": [1, 0]}),
    ("InstanceNormalization", SHAPES[2], {}),
    ("InstanceNormalization", SHAPES[3], {}),
]


def model_of(op, shape, attributes, outputs):
    """The node alone."""
    floats = {"x": shape}
    if op == "InstanceNormalization":
        floats |= {"scale": (shape[1],), "bias": (shape[1],)}
    graph = helper.make_graph(
        [helper.make_node(op, list(floats), outputs, **attributes)],
        "planes",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in floats.items()
        ],
        [
            helper.make_tensor_value_info(
                name, TensorProto.INT64 if name == "places" else TensorProto.FLOAT, None
            )
            for name in outputs
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    model.ir_version = 9
    feeds = {name: RNG.standard_normal(dims).astype(np.float32) for name, dims in floats.items()}
    return model.SerializeToString(), feeds


def check(op, shape, attributes, outputs):
    """Run with 1, 2 and 3 threads, and by onnxruntime."""
    model, feeds = model_of(op, shape, attributes, outputs)
    results = []
    for threads in (1, 2, 3):
        headrace_cpu.set_threads(threads)
        with load(model, "cpu") as loaded:
            results.append(loaded.run(feeds))
    peer = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for name, right in zip(outputs, peer.run(None, feeds), strict=True):
        np.testing.assert_allclose(results[0][name], right, rtol=1e-5, atol=1e-5)
        for other in results[1:]:
            np.testing.assert_array_equal(other[name], results[0][name])


@pytest.mark.parametrize(("op", "shape", "attributes"), NODES)
def test_planes_alone_are_shared_out(op, shape, attributes):
    """Images that lie channels first on both sides are not turned for them."""
    check(op, shape, attributes, ["y"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_rows_of_any_length_are_folded(dtype, stride):
    """Shorter than a register, and longer by any part of one; NaN wins where there is one."""
    for width in (*range(3, 40), 63, 64, 65, 127, 130):
        if np.dtype(dtype).kind == "f":
            x = RNG.standard_normal((1, 2, 5, width)).astype(dtype)
            x[0, 0, 2, width // 2] = np.nan
        else:
            info = np.iinfo(dtype)
            x = RNG.integers(info.min, info.max, (1, 2, 5, width), dtype, endpoint=True)
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        windows = windows[:, :, ::stride, ::stride]
        y = np.zeros(windows.shape[:4], dtype)
        window = _native.Window((3, 3), (stride, stride), (1, 1), (0, 0))
        _native.max_pool(x, y, None, window, False)()
        np.testing.assert_array_equal(y, windows.max((4, 5)))
        if dtype == "float64":
            _native.avg_pool(x, y, window, (0, 0), False)()
            np.testing.assert_allclose(y, windows.mean((4, 5)), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", [2, 3])
def test_places_of_maxima_are_shared_out(kernel):
    """Each plane counts from its own beginning."""
    check(*pool("MaxPool", 2, kernel, 2, 0), ["y", "places"])
