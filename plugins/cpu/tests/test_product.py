"""Products with packed weights: numbers against plain sums, and never another for other threads."""

import gc
import math

import numpy as np
import pytest
from exact import ACTIVATIONS, followed, slow_conv
from geometry import convolutions
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native

CHANNELS = [1, 2, 3, 7, 11, 12, 13, 20]
COLUMNS = [1, 5, 8, 9, 15, 16, 17, 40, 70, 97]
"""Of a group."""


def packed(matrix, groups=1, *, transposed=False):
    """A matrix in panels."""
    depth, columns = matrix.shape[::-1] if transposed else matrix.shape
    panels = np.full((groups * -(-(columns // groups) // 16), depth, 16), np.nan, np.float32)
    _native.pack(matrix, panels, groups, transposed)()
    return panels


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("depth", "columns", "groups"), [(3, 16, 1), (300, 40, 1), (7, 34, 2)])
def test_panels_hold_sixteen_columns(depth, columns, groups, transposed):
    """Group by group, the last panel of each filled up with zeros."""
    matrix = np.arange(1, depth * columns + 1, dtype=np.float32).reshape(depth, columns)
    given = np.ascontiguousarray(matrix.T) if transposed else matrix
    panels = packed(given, groups, transposed=transposed)
    each = panels.reshape(groups, -1, depth, 16).transpose(0, 2, 1, 3).reshape(groups, depth, -1)
    per_group = columns // groups
    np.testing.assert_array_equal(np.hstack(each[:, :, :per_group]), matrix)
    assert not each[:, :, per_group:].any()


def test_a_matrix_is_packed_wherever_it_lies():
    """Weights [m, c, h, w] seen as [m, h, w, c], and every second column: as copies of them."""
    weight = np.arange(40 * 6 * 6, dtype=np.float32).reshape(40, 6, 2, 3)
    seen = weight.transpose(0, 2, 3, 1)
    panels = np.full((4, 18, 16), np.nan, np.float32)
    with pytest.raises(ValueError, match="panels is"):
        _native.pack(seen, panels, 2, True)
    panels = np.full((4, 36, 16), np.nan, np.float32)
    _native.pack(seen, panels, 2, True)()
    copied = np.ascontiguousarray(seen).reshape(40, 36)
    np.testing.assert_array_equal(panels, packed(copied, 2, transposed=True))
    matrix = np.arange(7 * 40, dtype=np.float32).reshape(7, 40)
    np.testing.assert_array_equal(packed(matrix[:, ::2]), packed(matrix[:, ::2].copy()))


@settings(max_examples=150)
@given(
    geometry=convolutions(CHANNELS, COLUMNS),
    activation=st.sampled_from(sorted(ACTIVATIONS)),
    with_bias=st.booleans(),
    addend=st.sampled_from([None, "first", "last"]),
)
def test_a_convolution_of_any_geometry(geometry, activation, with_bias, addend):
    """Every path through the kernel agrees with sums in float64, in place too, on any threads."""
    shape, weight_shape, strides, dilations, pads, groups = geometry
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, np.float32)
    weight = rng.standard_normal(weight_shape, np.float32)
    weight /= np.float32(math.sqrt(math.prod(weight_shape[1:])))
    want = slow_conv(x, weight, strides, dilations, pads, groups)
    bias = rng.standard_normal(weight_shape[0], np.float32) if with_bias else None
    more = rng.standard_normal(want.shape, np.float32) if addend else None
    want = followed(want, bias, activation, more, addend)

    panels = packed(weight.reshape(weight_shape[0], -1), groups, transposed=True)
    window = _native.Window(weight_shape[1:-1], strides, dilations, pads[: len(strides)])
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full(want.shape, np.nan, np.float32) if more is None else more.copy()
        place = None if more is None else y
        epilogue = _native.Epilogue(bias, place, activation, -0.5, 2.0, addend == "last")
        _native.conv(x, panels, y, window, groups, epilogue)()
        made.append(y)
    np.testing.assert_allclose(made[0], want, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("dilation", [12, 18, 30])
@pytest.mark.parametrize("groups", [1, 2])
def test_taps_far_beside_the_image_add_nothing(dilation, groups):
    """Some lie outside for a whole tile of positions, or for all: what they weigh is not read."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 20, 23, 26), np.float32)
    weight = rng.standard_normal((34, 3, 3, 26 // groups), np.float32)
    pads, dilations = (dilation,) * 4, (dilation,) * 2
    want = slow_conv(x, weight, (1, 1), dilations, pads, groups)
    panels, made = packed(weight.reshape(34, -1), groups, transposed=True), []
    window = _native.Window((3, 3), (1, 1), dilations, pads[:2])
    epilogue = _native.Epilogue(None, None, "none", 0.0, 0.0, False)
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full(want.shape, np.nan, np.float32)
        _native.conv(x, panels, y, window, groups, epilogue)()
        made.append(y)
    np.testing.assert_allclose(made[0], want, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("each", [4, 8, 12, 24])
@pytest.mark.parametrize("kernel", [1, 3])
def test_groups_read_their_own_channels(kernel, each):
    """Many groups side by side: what is not a number in one of them is in no result of another."""
    groups, bad = 13, 5
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 17, 19, groups * each), np.float32)
    weight = rng.standard_normal((groups * each, kernel, kernel, each), np.float32)
    weight /= np.float32(kernel * math.sqrt(each))
    pads, ones = (kernel // 2,) * 4, (1, 1)
    want = slow_conv(x, weight, ones, ones, pads, groups)
    theirs = slice(bad * each, (bad + 1) * each)
    x[..., theirs] = np.nan
    panels = packed(weight.reshape(groups * each, -1), groups, transposed=True)
    window = _native.Window((kernel, kernel), ones, ones, pads[:2])
    epilogue = _native.Epilogue(None, None, "none", 0.0, 0.0, False)
    y = np.zeros(want.shape, np.float32)
    _native.conv(x, panels, y, window, groups, epilogue)()
    assert np.isnan(y[..., theirs]).all()
    y[..., theirs] = want[..., theirs]
    np.testing.assert_allclose(y, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 13, 49, 75, 200])
@pytest.mark.parametrize("columns", [1, 16, 17, 33, 64, 80, 97, 160])
@pytest.mark.parametrize("depth", [0, 1, 3, 64, 147])
def test_a_product_of_any_size(rows, columns, depth):
    """Small integers, so that sums are exact in any order; nothing beside y is written."""
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 9, (rows, depth)).astype(np.float32)
    matrix = rng.integers(-8, 9, (depth, columns)).astype(np.float32)
    around = np.full(rows * columns + 64, 7, np.float32)
    y = around[32:-32].reshape(rows, columns)
    _native.matmul(x, packed(matrix), y)()
    np.testing.assert_array_equal(y, x @ matrix)
    assert (around[:32] == 7).all()
    assert (around[-32:] == 7).all()


def test_a_large_product_is_the_same_on_any_number_of_threads():
    """Bit by bit: no sum is split, whatever the parts, and the addend has its place."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((101, 2900), np.float32)
    panels = packed(rng.standard_normal((2900, 370), np.float32))
    addend, made = rng.standard_normal((101, 370), np.float32), []
    for threads in (1, 2, 3, 7):
        headrace_cpu.set_threads(threads)
        y = np.empty((101, 370), np.float32)
        _native.matmul(x, panels, y, _native.Epilogue(addend=addend))()
        made.append(y)
    for other in made[1:]:
        np.testing.assert_array_equal(made[0], other)


@pytest.mark.parametrize("depth", [2048, 4096, 8192])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_deep_sum_keeps_its_digits_beside_a_large_addend(depth, in_place):
    """However many pieces it is done in, it is rounded with the addend a few times alone."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, depth), np.float32)
    matrix = rng.standard_normal((depth, 32), np.float32) / np.float32(math.sqrt(depth))
    bias, addend = rng.standard_normal(32, np.float32), np.full((64, 32), 150, np.float32)
    want = x.astype(np.float64) @ matrix + bias + addend
    y = addend if in_place else np.empty_like(addend)
    _native.matmul(x, packed(matrix), y, _native.Epilogue(bias, addend))()
    np.testing.assert_allclose(y, want, rtol=0, atol=4 * np.spacing(np.float32(150)))


@pytest.mark.parametrize(("activation", "alpha"), [("clamp", 0.0), ("leaky", 0.1), ("silu", 0.0)])
def test_what_is_not_a_number_stays_none(activation, alpha):
    """As in numpy's maximum and minimum; infinities come out as they should."""
    x = np.array([[np.nan], [np.inf], [-np.inf], [1.0]], np.float32)
    one, y = packed(np.ones((1, 3), np.float32)), np.empty((4, 3), np.float32)
    epilogue = _native.Epilogue(activation=activation, alpha=alpha, beta=math.inf)
    _native.matmul(x, one, y, epilogue)()
    assert np.isnan(y[0]).all()
    assert (y[1] == np.inf).all()
    assert (y[2] <= 0).all() or activation == "silu"


def test_a_launch_says_what_does_not_fit():
    """With the shapes that were given and those that were wanted."""
    x, y = np.zeros((2, 5, 5, 3), np.float32), np.zeros((2, 5, 5, 8), np.float32)
    panels = packed(np.zeros((27, 8), np.float32))

    def conv(x=x, kernel=(3, 3), groups=1, **follows):
        window, epilogue = _native.Window(kernel, *[(1, 1)] * 3), _native.Epilogue(**follows)
        return _native.conv(
            x=x, panels=panels, y=y, window=window, groups=groups, epilogue=epilogue
        )

    conv()()
    with pytest.raises(ValueError, match=r"panels is \[1, 27, 16\] but must be \[1, 12, 16\]"):
        conv(kernel=(2, 2))
    with pytest.raises(ValueError, match=r"conv: bias is \[3\] but must be \[8\]"):
        conv(bias=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="addend is"):
        conv(addend=x)
    with pytest.raises(ValueError, match="groups is 2"):
        conv(groups=2)
    with pytest.raises(ValueError, match="conv: there is no activation 'swish'"):
        conv(activation="swish")
    with pytest.raises(TypeError):
        conv(x=x.astype(np.float64))
    with pytest.raises(TypeError):
        conv(bias=np.zeros(8))


def test_a_launch_keeps_what_a_record_holds():
    """Arrays and records may be forgotten before it runs; a record may be passed to many."""
    one = packed(np.ones((1, 3), np.float32))
    x = np.ones((1, 1), np.float32)
    y, z = np.zeros((2, 1, 3), np.float32)
    epilogue = _native.Epilogue(np.arange(3, dtype=np.float32), np.full((1, 3), 10, np.float32))
    launches = [_native.matmul(x, one, made, epilogue) for made in (y, z)]
    del epilogue, one, x
    gc.collect()
    for launch in launches:
        launch()
    assert y.tolist() == z.tolist() == [[11, 12, 13]]
