"""Bytes with a scale for each index of an axis or each block: as numpy rounds them."""

import numpy as np
import pytest
from exact import quantized
from onnx import TensorProto, helper

import headrace_cpu
from headrace.onnx import load

RNG = np.random.default_rng(0)
CASES = [
    ((6, 10), 0, 0),
    ((3, 5, 7), 1, 0),
    ((64, 1024), 0, 0),
    ((4, 96), 1, 32),
    ((4, 9), 1, 1),
    ((2, 12, 5), 1, 4),
    ((12, 33), 0, 12),
    ((512, 256), 1, 32),
    ((0, 8), 1, 4),
]


def scales(shape, axis, block, dtype):
    """Scales and zero points, as the model has them, and spread over the shape."""
    if block:
        own = [n // block if i == axis else n for i, n in enumerate(shape)]
    else:
        own = [shape[axis]]
    scale = RNG.uniform(0.01, 0.2, own).astype(np.float32)
    zero = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, own, endpoint=True).astype(dtype)
    if block:
        return scale, zero, np.repeat(scale, block, axis), np.repeat(zero, block, axis)
    spread = [n if i == axis else 1 for i, n in enumerate(shape)]
    return scale, zero, scale.reshape(spread), zero.reshape(spread)


def run(op, x, scale, zero, made, axis, block):
    """What the model of one node gives, the same for each number of threads."""
    arrays = {"x": x, "scale": scale, "zero": zero}
    attributes = {"axis": axis} | ({"block_size": block} if block else {})
    graph = helper.make_graph(
        [helper.make_node(op, list(arrays), ["y"], **attributes)],
        "granular",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in arrays.items()
        ],
        [helper.make_tensor_value_info("y", made, x.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    results = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        with load(model.SerializeToString(), "cpu") as loaded:
            results.append(loaded.run(arrays)["y"])
    np.testing.assert_array_equal(*results)
    return results[0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(("shape", "axis", "block"), CASES)
def test_floats_become_bytes(shape, axis, block, dtype):
    """The nearest by the scale and zero point of their index or block."""
    scale, zero, all_scales, zeros = scales(shape, axis, block, dtype)
    x = RNG.uniform(-30, 30, shape).astype(np.float32)
    made = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    y = run("QuantizeLinear", x, scale, zero, made, axis, block)
    np.testing.assert_array_equal(y, quantized(x, all_scales, zeros, dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(("shape", "axis", "block"), CASES)
def test_bytes_become_floats(shape, axis, block, dtype):
    """What they stand for by the scale and zero point of their index or block."""
    scale, zero, all_scales, zeros = scales(shape, axis, block, dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = RNG.integers(low, high, shape, endpoint=True).astype(dtype)
    y = run("DequantizeLinear", x, scale, zero, TensorProto.FLOAT, axis, block)
    np.testing.assert_array_equal(y, (x.astype(np.float32) - zeros.astype(np.float32)) * all_scales)
