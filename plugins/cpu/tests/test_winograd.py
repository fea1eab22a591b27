"""Convolutions of 3x3 taps with fewer multiplications: right, within the stated bound, optional."""

import numpy as np
import pytest
from exact import followed
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace.graph import CORE_OPS
from headrace.ops import make_call
from headrace.tensor_spec import TensorSpec
from headrace_cpu import _native
from headrace_cpu.kernels.winograd import PAYS, tile_for
from headrace_cpu.ops.winograd_numpy import TRANSFORMS

GROWTH = {2: 3.5, 4: 81.0}
"""How much more than plain sums the tiles round, in the mean; as the README states it."""

WORST = {2: 16.0, 4: 861.0}
"""And at most."""


def sums_of_taps(x, weight, pads):
    """x [n, h, w, c], weight [m, 3, 3, c]; sums in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), pads[::2], pads[1::2], (0, 0)))
    height, width = x.shape[1] - 2, x.shape[2] - 2
    return sum(
        x[:, i : i + height, j : j + width] @ weight[:, i, j].astype(np.float64).T
        for i in range(3)
        for j in range(3)
    )


def packed(weight, tile):
    """The weights as ``cpu.winograd_pack`` makes them."""
    shape = ((tile + 2) ** 2, -(-weight.shape[0] // 16), weight.shape[3], 16)
    panels = np.full(shape, np.nan, np.float32)
    _native.winograd_pack(weight, panels, tile)()
    return panels


def convolved(x, weight, tile, pads):
    """What the kernel makes, with nothing after it."""
    height, width = (x.shape[1 + i] + pads[i] + pads[2 + i] - 2 for i in range(2))
    y = np.full((x.shape[0], height, width, weight.shape[0]), np.nan, np.float32)
    panels = packed(weight, tile)
    _native.winograd_conv(x, panels, y, tile, pads[:2])()
    return y


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("outputs", [16, 19])
def test_kernels_are_transformed_wherever_they_lie(tile, outputs):
    """Panels hold G k G', rounded once and filled up with zeros; also of a view of [m, c, 3, 3]."""
    weight = np.random.default_rng(0).standard_normal((outputs, 5, 3, 3)).astype(np.float32)
    panels, matrix = packed(weight.transpose(0, 2, 3, 1), tile), TRANSFORMS[tile].weight
    spread = np.einsum("ia,mcab,jb->ijcm", matrix, weight.astype(np.float64), matrix)
    want = spread.astype(np.float32).reshape(-1, 5, outputs)
    found = panels.transpose(0, 2, 1, 3).reshape(*want.shape[:2], -1)
    np.testing.assert_allclose(found[..., :outputs], want, rtol=1e-6, atol=1e-7)
    assert not found[..., outputs:].any()
    np.testing.assert_array_equal(
        packed(np.ascontiguousarray(weight.transpose(0, 2, 3, 1)), tile), panels
    )


@settings(max_examples=120)
@given(
    tile=st.sampled_from([2, 4]),
    size=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    channels=st.sampled_from([1, 3, 16, 17, 40]),
    columns=st.sampled_from([1, 15, 16, 33, 64]),
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    n=st.integers(1, 2),
    with_bias=st.booleans(),
    addend=st.sampled_from([None, "first", "last"]),
    activation=st.sampled_from(["none", "clamp", "silu"]),
)
def test_tiles_of_any_image(tile, size, channels, columns, pads, n, with_bias, addend, activation):
    """Edges, pads and all that follows agree with sums in float64, in place, on any threads."""
    height, width = (max(size[i], 3 - pads[i] - pads[2 + i]) for i in range(2))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, height, width, channels), np.float32)
    weight = rng.standard_normal((columns, 3, 3, channels), np.float32)
    weight /= np.float32(3 * np.sqrt(channels))
    want = sums_of_taps(x, weight, pads)
    bias = rng.standard_normal(columns, np.float32) if with_bias else None
    more = rng.standard_normal(want.shape, np.float32) if addend else None
    want = followed(want, bias, activation, more, addend)
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full(want.shape, np.nan, np.float32) if more is None else more.copy()
        place = None if more is None else y
        epilogue = _native.Epilogue(bias, place, activation, -0.5, 2.0, addend == "last")
        _native.winograd_conv(x, packed(weight, tile), y, tile, pads[:2], epilogue)()
        made.append(y)
    np.testing.assert_allclose(made[0], want, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("tile", [2, 4])
def test_blocks_of_tiles_are_the_same_on_any_threads(tile):
    """An image of more tiles than are worked on at a time."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 90, 70, 48), np.float32)
    weight = rng.standard_normal((32, 3, 3, 48), np.float32)
    want = sums_of_taps(x, weight, (1, 1, 1, 1))
    made = []
    for threads in (1, 2, 5):
        headrace_cpu.set_threads(threads)
        made.append(convolved(x, weight, tile, (1, 1, 1, 1)))
        np.testing.assert_array_equal(made[-1], made[0])
    np.testing.assert_allclose(made[0], want, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("channels", [16, 64, 256])
def test_the_mean_error_is_as_stated(tile, channels):
    """For numbers at random it is ``GROWTH`` times what rounding a sum over channels costs."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 32, 32, channels), np.float32)
    weight = rng.standard_normal((32, 3, 3, channels), np.float32)
    want = sums_of_taps(x, weight, (1, 1, 1, 1))
    error = np.sqrt(np.square(convolved(x, weight, tile, (1, 1, 1, 1)) - want).mean())
    size = np.sqrt(np.square(want).mean())
    assert error <= GROWTH[tile] * 2.0**-24 * np.sqrt(channels) * size


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("kind", ["large mean", "one large", "kernel of one tap", "huge scale"])
def test_no_error_is_beyond_the_bound(tile, kind):
    """Each is below ``WORST`` times what it may be for a plain sum of so many terms."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 20, 20, 32), np.float32)
    weight = rng.standard_normal((16, 3, 3, 32), np.float32)
    if kind == "large mean":
        x += 1000
    elif kind == "one large":
        x[0, 7, 9] = 1e6
    elif kind == "kernel of one tap":
        weight[:, :, :2] = 0
        weight[:, :2] = 0
    else:
        x *= np.float32(1e20)
    want = sums_of_taps(x, weight, (0, 0, 0, 0))
    error = np.abs(convolved(x, weight, tile, (0, 0, 0, 0)) - want).max(axis=(0, 1, 2))
    each = np.abs(weight).sum(axis=(1, 2, 3)) * np.abs(x).max() * 2.0**-24
    assert (error <= WORST[tile] * each).all()


@pytest.mark.parametrize("tile", [2, 4])
def test_the_bounds_follow_from_the_matrices(tile):
    """The worst case adds up what each transform can do; the mean adds squares."""
    parts = TRANSFORMS[tile]
    gain = np.abs(parts.weight).max(axis=1) * np.abs(parts.read).sum(axis=1)
    assert (np.abs(parts.write) @ gain).max() ** 2 <= WORST[tile]
    spread = np.kron(parts.weight, parts.weight)
    power = np.square(parts.read).sum(axis=1)
    for output in np.kron(np.square(parts.write), np.square(parts.write)):
        form = spread.T @ (spread * (output * np.kron(power, power))[:, None])
        assert np.sqrt(np.linalg.eigvalsh(form)[-1]) <= GROWTH[tile]


def ops_of(weight_is_variable=False, size=28, channels=32):
    """The ops of a job with one convolution, and the largest difference of its numbers."""
    import headrace as flow
    import headrace.typing as tp

    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, size, size, channels), np.float32)
    weight = rng.standard_normal((channels, 3, 3, channels), np.float32)
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(
            x: tp.Numpy.Placeholder(x.shape), w: tp.Numpy.Placeholder(weight.shape)
        ) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                kernel = w if weight_is_variable else weight
                attrs = {"pads": (1, 1, 1, 1), "data_format": "channels_last"}
                return flow.apply_op("conv", [x, kernel], **attrs)

        made = job(x, weight)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    want = sums_of_taps(x, weight, (1, 1, 1, 1))
    return ops, np.abs(made - want).max() / np.abs(want).max()


@pytest.mark.parametrize(
    ("setting", "op"), [(None, "cpu.winograd_conv"), ("2", "cpu.winograd_conv"), ("0", "cpu.conv")]
)
def test_it_is_chosen_and_switched_off(monkeypatch, setting, op):
    """``HEADRACE_CPU_WINOGRAD`` says which tiles may be taken."""
    if setting is None:
        monkeypatch.delenv("HEADRACE_CPU_WINOGRAD", raising=False)
    else:
        monkeypatch.setenv("HEADRACE_CPU_WINOGRAD", setting)
    ops, error = ops_of()
    assert op in ops
    assert error < 2e-5


def test_weights_that_change_are_not_transformed():
    """They would be, in each call."""
    ops, _ = ops_of(weight_is_variable=True)
    assert "cpu.conv" in ops


def test_few_tiles_are_summed_as_they_are():
    """Where the table says that nothing is gained."""
    ops, _ = ops_of(size=3)
    assert "cpu.conv" in ops


def test_a_setting_that_is_none_is_an_error(monkeypatch):
    """The message says what it may be."""
    monkeypatch.setenv("HEADRACE_CPU_WINOGRAD", "3")
    with pytest.raises(Exception, match="HEADRACE_CPU_WINOGRAD is '3'; it must be 0, 2 or 4"):
        ops_of()


@pytest.mark.parametrize(
    ("outputs", "channels", "tile"),
    [
        ((12, 12), 128, 4),
        ((14, 14), 128, 2),  # 16 tiles of 4x4 cover 16x16: no faster than 49 of 2x2
        ((10, 10), 64, 2),
        ((8, 20), 128, 4),  # nothing is wasted
        ((8, 8), 256, 2),
        ((7, 7), 128, None),  # 16 tiles of 2x2 cover 8x8
        ((7, 7), 256, 2),  # the same, but most of the time goes into the products
        ((24, 24), 256, 4),
        ((24, 24), 512, 2),  # weights of 4x4 would come from memory at each call
        ((56, 56), 64, 4),
    ],
)
def test_the_least_memory_is_taken_of_ways_that_are_about_as_fast(outputs, channels, tile):
    """A larger tile, whose weights are larger, must gain a fifth of the time."""
    spec = TensorSpec((1, *outputs, channels), "float32")
    weight = TensorSpec((channels, 3, 3, channels), "float32")
    attrs = {"pads": (1, 1, 1, 1), "data_format": "channels_last"}
    conv = CORE_OPS.op("conv").op
    call = make_call(conv, "conv", [spec, weight], attrs)
    assert call.outputs[0] == spec
    assert tile_for(call, 4) == tile


def test_the_table_is_in_order():
    """Channels rise."""
    channels = [row.channels for row in PAYS]
    assert channels == sorted(set(channels))
