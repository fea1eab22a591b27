"""Convolutions, products, pooling, normalisation and resizing, each against plain numpy."""

import itertools

import numpy as np
import pytest
from net import FLOATS, close, values
from stand_in import BAD_PARAM, NDHWC, NHWC, last_era


def convolve(x, w, pads, strides, dilations, groups=1):
    """Channels last; pads are before and after each dimension."""
    spatial = x.ndim - 2
    pad = [(0, 0), *zip(pads[::2], pads[1::2], strict=True), (0, 0)]
    x = np.pad(x.astype(np.float64), pad)
    out = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[1:-1], w.shape[1:-1], dilations, strides, strict=True)
    ]
    y = np.zeros((x.shape[0], *out, w.shape[0]))
    inputs, outputs = w.shape[-1], w.shape[0] // groups
    for at in np.ndindex(*out):
        window = tuple(
            slice(p * s, p * s + (k - 1) * d + 1, d)
            for p, s, k, d in zip(at, strides, w.shape[1:-1], dilations, strict=True)
        )
        for g in range(groups):
            block = x[(slice(None), *window, slice(g * inputs, (g + 1) * inputs))]
            part = w[g * outputs : (g + 1) * outputs].astype(np.float64)
            axes = list(range(1, spatial + 2))
            sums = np.tensordot(block, part, (axes, axes))
            y[(slice(None), *at, slice(g * outputs, (g + 1) * outputs))] = sums
    return y


# x, w, pads (top, bottom, left, right), strides, dilations, groups
CONVOLUTIONS = [
    ((2, 5, 6, 3), (4, 3, 3, 3), (0, 0, 0, 0), (1, 1), (1, 1), 1),
    ((1, 6, 5, 2), (3, 2, 3, 2), (0, 1, 2, 0), (2, 1), (1, 1), 1),
    ((1, 7, 7, 4), (6, 3, 3, 2), (1, 1, 1, 1), (1, 2), (2, 1), 2),
    ((1, 4, 4, 3), (3, 3, 3, 1), (1, 1, 1, 1), (1, 1), (1, 1), 3),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("with_bias", [False, True])
def test_convolutions(net, case, dtype, with_bias):
    """Uneven padding, strides, dilations and groups, with and without a bias."""
    shape, kernel, pads, strides, dilations, groups = case
    x, w = values(shape, dtype), values(kernel, dtype, -0.3, 0.3, 1)
    bias = values((kernel[0],), dtype, seed=2) if with_bias else None
    expected = convolve(x, w, pads, strides, dilations, groups) + (bias if with_bias else 0)
    y = net.empty(expected.shape, dtype, NHWC)
    found = net.convolution(
        net.place(x, NHWC), net.place(w, NHWC), y, pads=pads, strides=strides,
        dilations=dilations, groups=groups, bias=bias,
    )  # fmt: skip
    close(found, expected, 4)
    net.close()


def test_a_convolution_of_volumes(net):
    """Front and back come first."""
    x, w = values((1, 4, 5, 3, 2)), values((3, 2, 2, 3, 2), seed=1)
    pads = (1, 0, 0, 1, 1, 1)
    expected = convolve(x, w, pads, (2, 1, 1), (1, 1, 1))
    found = net.convolution(
        net.place(x, NDHWC), net.place(w, NDHWC), net.empty(expected.shape, layout=NDHWC),
        pads=pads, strides=(2, 1, 1), dilations=(1, 1, 1),
    )  # fmt: skip
    close(found, expected, 4)
    net.close()


def quantize(x, bits):
    """As the formulas of the library say: stored values, and what one unit is worth."""
    absmax = np.abs(x).max()
    position = int(np.floor(np.log2(absmax))) - (bits - 2)
    scale = 2.0**position * (2 ** (bits - 1) - 1) / absmax
    return np.rint(x * scale / 2.0**position), 2.0**position / scale


@pytest.mark.parametrize(("dtype", "tolerance"), [("int8", 0.1), ("int16", 5e-4)])
def test_a_quantized_convolution(net, dtype, tolerance):
    """Exact sums of the stored values; near the one in floating point."""
    x, w = values((1, 6, 6, 3)), values((4, 3, 3, 3), low=-0.5, high=0.5, seed=1)
    pads, ones = (1, 1, 1, 1), (1, 1)
    placed = [net.quantized(a, dtype, NHWC) for a in (x, w)]
    found = net.convolution(*placed, net.empty((1, 6, 6, 4), layout=NHWC), pads=pads)

    (qx, ux), (qw, uw) = (quantize(a, np.dtype(dtype).itemsize * 8) for a in (x, w))
    close(found, convolve(qx, qw, pads, ones, ones) * ux * uw)
    assert np.abs(found - convolve(x, w, pads, ones, ones)).max() < tolerance
    net.close()


def test_quantized_values_and_their_parameters(net):
    """What the card finds is what the formulas say; zeros have position 0 and scale 1."""
    x = values((5, 7))
    stored, _ = quantize(x, 8)
    assert np.array_equal(net.result(net.quantized(x, "int8")), stored)
    assert not net.result(net.quantized(np.zeros((2, 2), np.float32), "int8")).any()
    net.close()


def test_fixed_point_without_parameters(net):
    """Neither position nor scale was set: the product would mean nothing."""
    a, b, c = net.place(np.ones((2, 2), np.int8)), net.empty((2, 2), "int8"), net.empty((2, 2))
    factor = (None, *a.pair, *b.pair, None, *c.pair)
    name, first, rest = ("cnnlMatMul", (0, 0), ())
    if net.era == 6:
        name, first = "cnnlMatMul_v2", (net.descriptor("MatMulDescriptor"), None)
        rest = (None, 0, *c.pair)
    call = (name, net.handle, *first, *factor, *rest)
    net.sim.refuse(*call, kind="quantization", status=BAD_PARAM)
    net.close()


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("dtype", FLOATS)
def test_products_of_matrices(net, flags, dtype):
    """Either factor may be transposed."""
    a, b = values((4, 7) if not flags[0] else (7, 4), dtype), values((7, 5), dtype, seed=1)
    right = b.T.copy() if flags[1] else b
    left = (a.T if flags[0] else a).astype(np.float64)
    found = net.matmul(net.place(a), net.place(right), net.empty((4, 5), dtype), *flags)
    close(found, left @ b, 8)
    net.close()


@pytest.mark.parametrize(("dtype", "tolerance"), [("int8", 0.3), ("int16", 2e-3)])
def test_a_quantized_product(net, dtype, tolerance):
    """Near the one in floating point, and exactly the sums of the stored values."""
    a, b = values((3, 20)), values((20, 4), seed=1)
    found = net.matmul(net.quantized(a, dtype), net.quantized(b, dtype), net.empty((3, 4)))
    (qa, ua), (qb, ub) = (quantize(m, np.dtype(dtype).itemsize * 8) for m in (a, b))
    close(found, qa @ qb * ua * ub)
    assert np.abs(found - a @ b).max() < tolerance
    net.close()


@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)),
                                    ((1, 3, 4), (7, 4, 1))])  # fmt: skip
def test_products_of_stacks(net, shapes):
    """Stacks broadcast; the matrices may be transposed, and have dimensions of 1."""
    a, b = values(shapes[0]), values(shapes[1], seed=1)
    close(net.batch_matmul(a, b), a.astype(np.float64) @ b, 8)
    turned = np.swapaxes(a, -1, -2).copy(), np.swapaxes(b, -1, -2).copy()
    close(net.batch_matmul(*turned, True, True), a.astype(np.float64) @ b, 8)
    net.close()


def pool(x, mode, window, pads, strides, ceil=False):
    """0 is max, 1 averages over the padding too, 2 without it."""
    n, h, w, c = x.shape
    (top, bottom, left, right), round_up = pads, np.ceil if ceil else np.floor
    oh = int(round_up((h + top + bottom - window[0]) / strides[0])) + 1
    ow = int(round_up((w + left + right - window[1]) / strides[1])) + 1
    y = np.zeros((n, oh, ow, c))
    for i, j in np.ndindex(oh, ow):
        rows = range(i * strides[0] - top, i * strides[0] - top + window[0])
        columns = range(j * strides[1] - left, j * strides[1] - left + window[1])
        inside = x[:, [r for r in rows if 0 <= r < h]][:, :, [k for k in columns if 0 <= k < w]]
        inside = inside.astype(np.float64)
        padded = sum(r < h + bottom for r in rows) * sum(k < w + right for k in columns)
        count = padded if mode == 1 else inside.shape[1] * inside.shape[2]
        y[:, i, j] = inside.max((1, 2)) if mode == 0 else inside.sum((1, 2)) / count
    return y


POOLS = [
    ((3, 3), (0, 0, 0, 0), (2, 2)),
    ((2, 3), (0, 1, 1, 1), (1, 2)),
    ((3, 2), (1, 1, 1, 0), (2, 1)),
]


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("case", POOLS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_pooling(net, mode, case, dtype):
    """The largest, and averages with and without the padding, which is uneven."""
    x = values((2, 7, 8, 3), dtype)
    expected = pool(x, mode, *case)
    close(net.pool(x, expected.shape, mode, *case), expected, 2)
    net.close()


@last_era
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_pooling_rounded_up(net, mode):
    """The last window reaches past the end."""
    x, case = values((1, 6, 7, 2)), ((3, 3), (0, 0, 1, 1), (2, 2))
    expected = pool(x, mode, *case, ceil=True)
    close(net.pool(x, expected.shape, mode, *case, ceil=True), expected, 2)
    net.close()


@pytest.mark.parametrize("dtype", FLOATS)
def test_normalisation_by_given_statistics(net, dtype):
    """Channels last; the parameters stay float where the image is half."""
    x, c = values((2, 3, 4, 5), dtype), 5
    weight, bias, mean = (values((c,), seed=i) for i in range(3))
    variance = values((c,), low=0.5, high=2, seed=4)
    expected = (x.astype(np.float64) - mean) / np.sqrt(variance + 1e-3) * weight + bias
    close(net.batch_norm(x, (weight, bias, mean, variance), 1e-3), expected, 4)
    net.close()


@last_era
def test_normalisation_of_pictures_and_of_rows(net):
    """With the statistics of each; these are results as well."""
    x, scale, bias = values((2, 6, 5, 3)), values((3,), seed=1), values((3,), seed=2)
    placed = [net.place(x, NHWC), net.place(scale), net.place(bias)]
    y, mean, invstd = net.empty(x.shape, layout=NHWC), net.empty((2, 3)), net.empty((2, 3))
    query = (net.handle, placed[0].descriptor)
    scratch = net.workspace("cnnlGetInstanceNormForwardWorkspaceSize", *query)
    net.run(
        "cnnlInstanceNormForward", 1e-3, 0.0, *placed[1].pair, *placed[0].pair,
        placed[2].pointer, mean.descriptor, None, None, *scratch, *y.pair, mean.pointer,
        invstd.pointer,
    )  # fmt: skip
    m, v = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    close(net.result(y), (x - m) / np.sqrt(v + 1e-3) * scale + bias, 4)
    close(net.result(mean), m[:, 0, 0])
    close(net.result(invstd), 1 / np.sqrt(v[:, 0, 0] + 1e-3))

    rows, weight, shift = values((4, 10)), values((10,), seed=1), values((10,), seed=2)
    placed = [net.place(rows), net.place(weight), net.place(shift)]
    y, stats = net.empty((4, 10)), net.empty((4,))
    query = (net.handle, 1, placed[0].descriptor)
    scratch = net.workspace("cnnlGetLayerNormOpWorkspaceSize", *query)
    norm = net.descriptor("NormDesc")
    net.run(
        "cnnlLayerNormForward_v2", norm, *placed[0].pair, 1, *placed[1].pair, placed[2].pointer,
        1e-3, *scratch, *y.pair, stats.descriptor, stats.pointer, None,
    )  # fmt: skip
    m, v = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
    close(net.result(y), (rows - m) / np.sqrt(v + 1e-3) * weight + shift, 4)
    close(net.result(stats), m[:, 0])
    net.close()


def sources(length, out, corners, centers):
    at = np.arange(out)
    if corners:
        return at * (length - 1) / max(out - 1, 1)
    return (at + 0.5) * length / out - 0.5 if centers else at * length / out


GRIDS = [(True, False), (False, True), (False, False)]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("size", [(6, 8), (5, 3), (3, 4), (1, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_linear_resizing(net, grid, size, dtype):
    """Larger, smaller, equal and to a point, on each of three grids."""
    x = values((2, 3, 4, 2), dtype)
    y = x.astype(np.float64)
    for axis, out in ((1, size[0]), (2, size[1])):
        length = x.shape[axis]
        source = np.clip(sources(length, out, *grid), 0, length - 1)
        low = source.astype(int)
        part = (source - low).reshape([-1 if d == axis else 1 for d in range(4)])
        high = np.minimum(low + 1, length - 1)
        y = y.take(low, axis) * (1 - part) + y.take(high, axis) * part
    close(net.interp(x, y.shape, "BILINEAR", *grid), y, 2)
    net.close()


@pytest.mark.parametrize("grid", GRIDS)
def test_nearest_resizing_by_whole_numbers(net, grid):
    """Each pixel becomes a square, whichever grid."""
    x = values((1, 3, 4, 2))
    expected = x.repeat(2, 1).repeat(2, 2)
    assert np.array_equal(net.interp(x, expected.shape, "NEAREST", *grid), expected)
    net.close()
