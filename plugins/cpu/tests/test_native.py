"""The native kernels alone: numbers against plain loops, and answers to wrong arguments."""

import itertools
import math

import numpy as np
import pytest

from headrace_cpu import _native

# kernel, strides, dilations, pads_begin, pads_end, spatial input shape. Every rank, every fast path
# (strides 1 and 2, rows of equal length, up to and over nine taps), windows larger than the image.
WINDOWS = [
    pytest.param((3,), (1,), (1,), (1,), (1,), (9,), id="1d-same"),
    pytest.param((4,), (3,), (2,), (2,), (0,), (17,), id="1d-stride3-dilated"),
    pytest.param((3, 3), (1, 1), (1, 1), (1, 1), (1, 1), (6, 11), id="2d-same"),
    pytest.param((3, 3), (2, 2), (1, 1), (1, 1), (1, 1), (9, 23), id="2d-stride2"),
    pytest.param((5, 5), (1, 1), (1, 1), (2, 2), (2, 2), (7, 20), id="2d-5x5"),
    pytest.param((5, 5), (2, 2), (1, 1), (2, 1), (2, 2), (8, 21), id="2d-5x5-stride2"),
    pytest.param((3, 3), (1, 1), (2, 2), (2, 2), (2, 2), (8, 19), id="2d-dilated"),
    pytest.param((2, 4), (1, 2), (1, 3), (0, 3), (1, 4), (5, 18), id="2d-mixed"),
    pytest.param((7, 1), (1, 1), (1, 1), (3, 0), (3, 0), (4, 5), id="2d-taller-than-image"),
    pytest.param((1, 7), (1, 1), (1, 1), (0, 3), (0, 3), (3, 2), id="2d-wider-than-image"),
    pytest.param((2, 3, 3), (1, 2, 1), (1, 1, 1), (1, 1, 1), (0, 1, 1), (3, 5, 12), id="3d"),
]
over_windows = pytest.mark.parametrize(
    ("kernel", "strides", "dilations", "pads_begin", "pads_end", "spatial"), WINDOWS
)
FLOATS = [np.float32, np.float64]


def out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial):
    sizes = zip(kernel, strides, dilations, pads_begin, pads_end, spatial, strict=True)
    return tuple((n + pb + pe - (k - 1) * d - 1) // s + 1 for k, s, d, pb, pe, n in sizes)


def taps(kernel, strides, dilations, pads_begin, position):
    """Yield each tap and the input position that it reads, padding included."""
    for tap in itertools.product(*map(range, kernel)):
        axes = zip(position, strides, tap, dilations, pads_begin, strict=True)
        yield tap, tuple(o * s + k * d - p for o, s, k, d, p in axes)


def inside(position, spatial):
    return all(0 <= i < n for i, n in zip(position, spatial, strict=True))


def numbers(shape, dtype, seed=0):
    """Small integers: sums of their products are exact, so results can be compared for equality."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(dtype)


def slow_im2col(x, kernel, strides, dilations, pads_begin, out):
    cols = np.zeros((x.shape[0], *kernel, *out), x.dtype)
    for position in np.ndindex(*out):
        for tap, where in taps(kernel, strides, dilations, pads_begin, position):
            if inside(where, x.shape[1:]):
                cols[(slice(None), *tap, *position)] = x[(slice(None), *where)]
    return cols.reshape(x.shape[0] * math.prod(kernel), math.prod(out))


@pytest.mark.parametrize("dtype", FLOATS)
@over_windows
def test_im2col_gathers_windows(kernel, strides, dilations, pads_begin, pads_end, spatial, dtype):
    """Every column element is the image element under its tap, or zero on padding."""
    out = out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial)
    x = numbers((3, *spatial), dtype)
    cols = np.full((3 * math.prod(kernel), math.prod(out)), np.nan, dtype)

    window = _native.Window(kernel, strides, dilations, pads_begin)
    _native.im2col(x=x, cols=cols, window=window, out=out)()

    np.testing.assert_array_equal(cols, slow_im2col(x, kernel, strides, dilations, pads_begin, out))


@pytest.mark.parametrize("dtype", FLOATS)
@over_windows
def test_col2im_is_the_adjoint(kernel, strides, dilations, pads_begin, pads_end, spatial, dtype):
    """Each column element lands, added up, on the image element that its tap would read."""
    out = out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial)
    cols = numbers((2 * math.prod(kernel), math.prod(out)), dtype)
    y = np.full((2, *spatial), np.nan, dtype)

    window = _native.Window(kernel, strides, dilations, pads_begin)
    _native.col2im(cols=cols, y=y, window=window, out=out)()

    grid = cols.reshape(2, *kernel, *out)
    expected = np.zeros_like(y)
    for position in np.ndindex(*out):
        for tap, where in taps(kernel, strides, dilations, pads_begin, position):
            if inside(where, spatial):
                expected[(slice(None), *where)] += grid[(slice(None), *tap, *position)]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("with_bias", [True, False])
@over_windows
def test_depthwise_conv(
    kernel, strides, dilations, pads_begin, pads_end, spatial, with_bias, dtype
):
    """Each of two output channels for an input channel is its own weighted sum plus its bias."""
    out = out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial)
    x = numbers((2, 3, *spatial), dtype)
    w = numbers((6, 1, *kernel), dtype, seed=1)
    bias = numbers((6,), dtype, seed=2) if with_bias else None
    y = np.full((2, 6, *out), np.nan, dtype)

    window = _native.Window(kernel, strides, dilations, pads_begin)
    _native.depthwise_conv(x=x, w=w, bias=bias, y=y, window=window)()

    expected = np.zeros_like(y)
    for n, j in np.ndindex(2, 6):
        cols = slow_im2col(x[n, j // 2 : j // 2 + 1], kernel, strides, dilations, pads_begin, out)
        expected[n, j] = (w[j].reshape(-1) @ cols).reshape(out) + (bias[j] if with_bias else 0)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("column_major", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64])
@over_windows
def test_max_pool(kernel, strides, dilations, pads_begin, pads_end, spatial, dtype, column_major):
    """Values with and without indices agree with a scan; the last window may overhang the input."""
    out = tuple(n + 1 for n in out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial))
    info = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else None
    lowest = info.min if info else -np.inf
    x = np.random.default_rng(3).integers(
        *((info.min, -100) if info and info.min else (0, 9)), (2, 2, *spatial)
    )
    x = x.astype(dtype)
    y, y_alone = np.zeros((2, 2, *out), dtype), np.zeros((2, 2, *out), dtype)
    indices = np.zeros(y.shape, np.int64)
    window = _native.Window(kernel, strides, dilations, pads_begin)

    _native.max_pool(x=x, y=y, indices=indices, window=window, column_major=column_major)()
    _native.max_pool(x=x, y=y_alone, indices=None, window=window, column_major=column_major)()

    order = "F" if column_major else "C"
    for n, c, *position in np.ndindex(*y.shape):
        best, index = lowest, -1
        for _, where in taps(kernel, strides, dilations, pads_begin, position):
            if inside(where, spatial) and (index < 0 or x[(n, c, *where)] > best):
                best = x[(n, c, *where)]
                index = (n * 2 + c) * math.prod(spatial) + np.ravel_multi_index(
                    where, spatial, order=order
                )
        assert (y[(n, c, *position)], indices[(n, c, *position)]) == (best, index)
    np.testing.assert_array_equal(y_alone, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count_include_pad", [False, True])
@over_windows
def test_avg_pool(
    kernel, strides, dilations, pads_begin, pads_end, spatial, count_include_pad, dtype
):
    """The divisor counts real elements and, if asked, explicit padding, but never the overhang."""
    out = tuple(n + 1 for n in out_shape(kernel, strides, dilations, pads_begin, pads_end, spatial))
    x = numbers((2, 2, *spatial), dtype)
    y = np.full((2, 2, *out), np.nan, dtype)

    window = _native.Window(kernel, strides, dilations, pads_begin)
    _native.avg_pool(
        x=x, y=y, window=window, pads_end=pads_end, count_include_pad=count_include_pad
    )()

    padded = tuple(n + p for n, p in zip(spatial, pads_end, strict=True))
    expected = np.zeros_like(y)
    for position in np.ndindex(*out):
        reads = [where for _, where in taps(kernel, strides, dilations, pads_begin, position)]
        real = [where for where in reads if inside(where, spatial)]
        counted = [w for w in reads if all(i < n for i, n in zip(w, padded, strict=True))]
        count = len(counted) if count_include_pad else len(real)
        for where in real:
            expected[(slice(None), slice(None), *position)] += x[
                (slice(None), slice(None), *where)
            ] / dtype(count)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_avg_pool_overhang_example():
    """A window of two over three elements, ceil_mode, no padding: the last divides by one."""
    x, y = np.array([[[1, 3, 5]]], np.float32), np.zeros((1, 1, 2), np.float32)
    window = _native.Window(kernel=[2], strides=[2], dilations=[1], pads_begin=[0])

    _native.avg_pool(x=x, y=y, window=window, pads_end=[0], count_include_pad=True)()

    assert y.tolist() == [[[2, 5]]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_max_pool_lets_nan_win(stride, dtype):
    """Every window with a NaN in it gives NaN, and its index is that of the first NaN."""
    x = np.arange(40, dtype=dtype).reshape(1, 1, 40)
    x[0, 0, [7, 8, 30]] = np.nan
    y, y_alone = np.zeros((1, 1, 38 // stride), dtype), np.zeros((1, 1, 38 // stride), dtype)
    indices = np.zeros(y.shape, np.int64)
    where = _native.Window(kernel=[3], strides=[stride], dilations=[1], pads_begin=[0])

    _native.max_pool(x=x, y=y, indices=indices, window=where, column_major=False)()
    _native.max_pool(x=x, y=y_alone, indices=None, window=where, column_major=False)()

    for o in range(y.shape[2]):
        window = x[0, 0, o * stride : o * stride + 3]
        first = int(np.argmax(window))  # numpy too lets the first NaN win
        np.testing.assert_equal((y[0, 0, o], y_alone[0, 0, o]), (window[first], window[first]))
        assert indices[0, 0, o] == o * stride + first


def call(name, **changes):
    """Make a launch with arguments that are right except for the given ones, and run it."""
    image, grid = np.zeros((2, 4, 4), np.float32), np.zeros((18, 16), np.float32)
    batch = {"x": np.zeros((1, 2, 4, 4), np.float32), "y": np.zeros((1, 2, 4, 4), np.float32)}
    numbers = {
        "kernel": [3, 3], "strides": [1, 1], "dilations": [1, 1], "pads_begin": [1, 1],
    }  # fmt: skip
    window = {"window": _native.Window(**{k: changes.pop(k, numbers[k]) for k in numbers})}
    arguments = {
        "im2col": {"x": image, "cols": grid, "out": [4, 4], **window},
        "col2im": {"cols": grid, "y": image, "out": [4, 4], **window},
        "depthwise_conv": {
            **batch,
            "w": np.zeros((2, 1, 3, 3), np.float32),
            "bias": None,
            **window,
        },
        "max_pool": {**batch, "indices": None, "column_major": False, **window},
        "avg_pool": {**batch, "pads_end": [1, 1], "count_include_pad": False, **window},
    }[name]
    getattr(_native, name)(**{**arguments, **changes})()


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def read_only(*shape):
    array = zeros(*shape)
    array.flags.writeable = False
    return array


def misaligned(*shape):
    return np.zeros(4 * math.prod(shape) + 1, np.uint8)[1:].view(np.float32).reshape(shape)


@pytest.mark.parametrize("name", ["im2col", "col2im", "depthwise_conv", "max_pool", "avg_pool"])
def test_right_arguments_pass(name):
    """The arguments that the error tests start from are right."""
    call(name)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("im2col", {"cols": zeros(18, 15)}, r"cols is \[18, 15\] but must be \[18, 16\]"),
        ("im2col", {"out": [4]}, r"out is \[4\] but must be 2 number"),
        ("im2col", {"x": zeros(4)}, r"x is \[4\] but must have 1 to 3 spatial axes after 1"),
        ("im2col", {"strides": [1, 0]}, r"strides is \[1, 0\] but must be 2 number\(s\) from 1"),
        ("max_pool", {"pads_begin": [1, -1]}, r"pads_begin is \[1, -1\] but must be .* from 0"),
        ("im2col", {"out": [2**62, 4]}, r"out is \[\d+, 4\] but must be"),
        ("im2col", {"cols": read_only(18, 16)}, "cols is read-only"),
        ("im2col", {"x": misaligned(2, 4, 4)}, "x is not aligned"),
        ("col2im", {"cols": zeros(17, 16)}, r"cols is \[17, 16\] but must be \[18, 16\]"),
        ("col2im", {"kernel": [3, 3, 3]}, r"kernel is \[3, 3, 3\] but must be 2 number"),
        ("depthwise_conv", {"w": zeros(3, 1, 3, 3)}, r"w is \[3, 1, 3, 3\] but x has 2 channels"),
        ("depthwise_conv", {"w": zeros(2, 2, 3, 3)}, r"w is \[2, 2, 3, 3\] but x has 2 channels"),
        ("depthwise_conv", {"w": zeros(2, 1, 3)}, "all need the same rank"),
        (
            "depthwise_conv",
            {"y": zeros(1, 4, 4, 4)},
            r"y is \[1, 4, 4, 4\] but must start with \[1, 2\]",
        ),
        ("depthwise_conv", {"bias": zeros(3)}, r"bias is \[3\] but must be \[2\]"),
        ("depthwise_conv", {"kernel": [3, 2]}, r"kernel is \[3, 2\] but w is \[2, 1, 3, 3\]"),
        ("max_pool", {"y": zeros(1, 3, 4, 4)}, r"y is \[1, 3, 4, 4\] but x is \[1, 2, 4, 4\]"),
        ("max_pool", {"indices": zeros(1, 2, 4, 3, dtype=np.int64)}, r"indices is \[1, 2, 4, 3\]"),
        ("avg_pool", {"pads_end": [1]}, r"pads_end is \[1\] but must be 2 number"),
        ("avg_pool", {"dilations": [1, 1, 1]}, r"dilations is \[1, 1, 1\] but must be 2 number"),
    ],
)
def test_sizes_that_do_not_fit_are_named(name, changes, message):
    """A ValueError starts with the function and names the argument and its sizes."""
    with pytest.raises(ValueError, match=f"^{name}: .*{message}"):
        call(name, **changes)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("im2col", {"x": zeros(2, 4, 4, dtype=np.float64)}),
        ("depthwise_conv", {"x": zeros(1, 2, 4, 8)[..., ::2]}),
        ("depthwise_conv", {"x": zeros(1, 2, 4, 4).astype(np.float16)}),
        ("max_pool", {"indices": zeros(1, 2, 4, 4, dtype=np.int32)}),
        ("avg_pool", {"x": zeros(1, 2, 4, 4, dtype=np.int32)}),
        ("max_pool", {"x": [0.0]}),
    ],
)
def test_nothing_is_converted(name, changes):
    """Another dtype, another layout or a list is a TypeError and not a hidden copy."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        call(name, **changes)


@pytest.mark.parametrize(
    ("record", "name"),
    [(_native.Window([1], [1], [1], [0]), "strides"), (_native.Epilogue(), "alpha")],
)
def test_a_record_cannot_be_changed(record, name):
    """What one function was given is what the next one is given."""
    with pytest.raises(AttributeError):
        setattr(record, name, 2)


def test_empty_columns_still_zero_the_image():
    """col2im promises a zeroed image even when there is nothing to add."""
    y = np.ones((2, 4, 4), np.float32)

    call("col2im", cols=zeros(18, 0), y=y, out=[0, 4])

    assert not y.any()
