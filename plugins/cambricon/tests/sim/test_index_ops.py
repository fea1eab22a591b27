"""Angles, bits, orders and places: ops that are known from their callers, against numpy."""

import numpy as np
import pytest
from net import FLOATS, close, values
from stand_in import BAD_PARAM, NOT_SUPPORTED, last_era, later_eras

ANGLES = {
    "SIN": np.sin, "COS": np.cos, "TAN": np.tan, "ASIN": np.arcsin, "ACOS": np.arccos,
    "ATAN": np.arctan, "SINH": np.sinh, "COSH": np.cosh, "ASINH": np.arcsinh,
    "ACOSH": np.arccosh, "ATANH": np.arctanh,
}  # fmt: skip


def trigon(net, mode, x):
    chosen, number = net.descriptor("TrigonDescriptor"), net.sim.enum(f"CNNL_TRIGON_{mode}")
    if net.era == 5:
        net.sim.check("cnnlSetTrigonDescriptor", chosen, number)
    else:
        net.sim.check("cnnlSetTrigonDescriptor_v2", chosen, number, 1)
    x, y = net.place(x), net.empty(x.shape, x.dtype)
    net.run("cnnlTrigonForward", chosen, *x.pair, *y.pair)
    return net.result(y)


@later_eras
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ANGLES)
def test_functions_of_angles(net, mode, dtype):
    """In the part of the line where the function is defined."""
    low, high = (1.1, 3) if mode == "ACOSH" else (-0.9, 0.9)
    x = values((3, 7), dtype, low, high)
    close(trigon(net, mode, x), ANGLES[mode](x.astype(np.float64)), 2)
    net.close()


BITS = {
    "CYCLE_BAND": np.bitwise_and, "CYCLE_BOR": np.bitwise_or, "CYCLE_BXOR": np.bitwise_xor,
}  # fmt: skip


@later_eras
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_bits(net, dtype):
    """Of two tensors, and of one."""
    random = np.random.default_rng(3)
    a, b = (random.integers(0, 2**31, (4, 5)).astype(dtype) for _ in range(2))
    query = "cnnlGetBitComputeWorkspaceSize"
    for name, function in BITS.items():
        number = net.sim.enum(f"CNNL_{name}_OP")
        found = net.binary("cnnlBitCompute_v2", query, a, b, number, behind=True)
        assert np.array_equal(found, function(a, b))
    x, y = net.place(a), net.empty(a.shape, dtype)
    scratch = net.workspace(query, net.handle, x.descriptor, None, y.descriptor)
    number = net.sim.enum("CNNL_BNOT_OP")
    net.run("cnnlBitCompute_v2", number, *x.pair, None, None, *y.pair, *scratch)
    assert np.array_equal(net.result(y), ~a)
    net.close()


def top_k(net, x, k, axis, largest):
    shape = list(x.shape)
    shape[axis] = k
    x, best, where = net.place(x), net.empty(shape, x.dtype), net.empty(shape, "int32")
    settings = (k, axis, largest)
    described = (best.descriptor, where.descriptor)
    query = (net.handle, x.descriptor, *settings, *described)
    scratch = net.workspace("cnnlGetTopKTensorWorkspaceSize", *query)
    net.run("cnnlTopKTensor_v3", *x.pair, *settings, 1, 1, *scratch, *best.pair, *where.pair)
    return net.result(best), net.result(where)


@last_era
@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_best_along_an_axis(net, axis, dtype):
    """Of equal ones the first, as it was asked for."""
    x = np.random.default_rng(5).integers(0, 4, (3, 5, 4)).astype(dtype)
    for largest in (False, True):
        keys = -x.astype(int) if largest else x.astype(int)
        order = np.argsort(keys, axis=axis, kind="stable").take(range(3), axis=axis)
        best, where = top_k(net, x, 3, axis, largest)
        assert np.array_equal(where, order)
        assert np.array_equal(best, np.take_along_axis(x, order, axis))
    net.close()


def scatter(net, x, index, updates, axis, mode):
    y, index, updates = net.place(x), net.place(index), net.place(updates)
    operands, number = (*y.pair, *index.pair, *updates.pair), net.sim.enum(mode)
    if net.era == 5:
        net.run("cnnlScatter", axis, *operands, *y.pair, number)
    else:
        scratch = net.workspace("cnnlGetScatterWorkspaceSize", net.handle, index.descriptor)
        net.run("cnnlScatter_v2", axis, *operands, *scratch, *y.pair, number)
    return net.result(y)


MODES = {
    "CNNL_SCATTER_ADD": np.add, "CNNL_SCATTER_MAX": np.maximum, "CNNL_SCATTER_MIN": np.minimum,
}  # fmt: skip


@later_eras
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_scattered(net, axis, dtype):
    """Put in their places, and joined with what is there."""
    x, updates = values((4, 5), dtype, -9, 9), values((4, 5), dtype, -9, 9, 1)
    index = np.random.default_rng(2).permuted(
        np.argsort(values((4, 5)), axis).astype(np.int32), axis=axis
    )
    expected = x.copy()
    np.put_along_axis(expected, index, updates, axis)
    assert np.array_equal(scatter(net, x, index, updates, axis, "CNNL_SCATTER"), expected)
    for mode, function in MODES.items():
        joined = function(x, np.take_along_axis(updates, np.argsort(index, axis), axis))
        close(scatter(net, x, index, updates, axis, mode), joined)
    net.close()


@later_eras
def test_an_update_of_what_is_not_there(net):
    """Told when it is carried out, with the index."""
    x, index = np.zeros((3, 2), np.float32), np.array([[0, 3]], np.int32)
    with pytest.raises(AssertionError):
        scatter(net, x, index, np.ones((1, 2), np.float32), 0, "CNNL_SCATTER")
    told = net.sim.take("cnnlScatter" if net.era == 5 else "cnnlScatter_v2", "index")
    assert told == "index 3 of a dimension of 3"
    net.close()


@later_eras
def test_misuse_of_these_ops(net):
    """Shapes that only would fit if they broadcast, types, and modes that nobody told."""
    wide, narrow = net.place(np.ones((2, 3), np.int32)), net.place(np.ones((1, 3), np.int32))
    real = net.place(np.ones((2, 3), np.float32))
    scratch = (net.sim.allocate(4096), 4096)
    number = net.sim.enum("CNNL_CYCLE_BAND_OP")
    bits = (net.handle, number, *wide.pair)
    out = (*wide.pair, *scratch)
    net.sim.refuse(
        "cnnlBitCompute_v2", *bits, *narrow.pair, *out, kind="bad-argument", status=BAD_PARAM
    )
    net.sim.refuse(
        "cnnlBitCompute_v2", net.handle, number, *real.pair, *real.pair, *real.pair, *scratch,
        kind="data-type", status=NOT_SUPPORTED,
    )  # fmt: skip
    net.sim.refuse(
        "cnnlBitCompute_v2", net.handle, 0, *wide.pair, *wide.pair, *out, kind="unknown-enum",
        status=BAD_PARAM,
    )  # fmt: skip
    net.sim.free(scratch[0])
    net.close()
