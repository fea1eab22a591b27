"""Ops of the library against numpy, in each era's form, with floats of 32 and 16 bits."""

import itertools

import numpy as np
import pytest
from net import FLOATS, close, values
from stand_in import BAD_PARAM, NHWC, NOT_SUPPORTED, later_eras


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "RELU": lambda x: np.maximum(x, 0),
    "SIGMOID": sigmoid,
    "TANH": np.tanh,
    "RELU6": lambda x: np.clip(x, 0, 6),
    "CLIPPED_RELU": lambda x: np.clip(x, 0, 0.5),
    "ELU": lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)),
    "LEAKYRELU": lambda x: np.where(x > 0, x, 0.5 * x),
    "SELU": lambda x: 1.050701 * np.where(x > 0, x, 1.6732632 * np.expm1(x)),
    "SILU": lambda x: x * sigmoid(x),
    "HARDSWISH": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "IDENTITY": lambda x: x,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ACTIVATIONS)
def test_activations(net, mode, dtype):
    """With the coefficient 0.5 where there is one."""
    x = values((2, 3, 5, 7), dtype)
    close(net.activation(mode, x, 0.5, NHWC), ACTIVATIONS[mode](x.astype(np.float64)))
    net.close()


@pytest.mark.parametrize("name", ["cnnlSquare", "cnnlSqrt"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_that_every_era_has(net, name, dtype):
    """Squares and square roots."""
    x = values((4, 9), dtype, 0.1, 4)
    expected = np.square(x.astype(float)) if name == "cnnlSquare" else np.sqrt(x.astype(float))
    close(net.unary(name, x), expected)
    net.close()


UNARY = {
    "cnnlExp_v2": (np.exp, (1,)),
    "cnnlSqrt_v2": (np.sqrt, (1,)),
    "cnnlRsqrt_v2": (lambda x: 1 / np.sqrt(x), (1,)),
    "cnnlSin_v2": (np.sin, (1,)),
    "cnnlCos_v2": (np.cos, (1,)),
    "cnnlLog_v2": (np.log2, (1, 1)),
    "cnnlAbs": (np.abs, ()),
    "cnnlNegTensor": (np.negative, ()),
    "cnnlSign": (np.sign, ()),
    "cnnlFloor": (np.floor, ()),
    "cnnlCeil": (np.ceil, ()),
    "cnnlReciprocal": (lambda x: 1 / x, ()),
}


@later_eras
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_functions_that_later_eras_have(net, name, dtype):
    """Those that are known from callers."""
    function, first = UNARY[name]
    x = values((3, 8), dtype, 0.2, 3)
    close(net.unary(name, x, *first), function(x.astype(np.float64)), 2)
    net.close()


@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((1, 4), (5, 1))])
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_sums_differences_and_products(net, op, dtype, shapes):
    """Broadcast, with factors for both operands."""
    a, b = (values(s, dtype, -9, 9, i) for i, s in enumerate(shapes))
    left, right = 2 * a.astype(np.float64), 3 * b.astype(np.float64)
    expected = {"ADD": left + right, "SUB": left - right, "MUL": left * right}[op]
    close(net.op_tensor(op, a, b, (2.0, 3.0, 0.0)), expected, 4)
    net.close()


BINARY = {
    "Div_v2": ("Div", np.divide, (1,), False, 3),
    "Pow": ("Pow", np.power, (1,), False, 3),
    "Maximum": ("Maximum", np.maximum, (), True, 1),
    "Minimum": ("Minimum", np.minimum, (), True, 1),
    "FloorDiv_v2": ("FloorDiv", np.floor_divide, (1,), True, 3),
    "FloorMod": ("FloorMod", np.mod, (), True, 3),
}


@later_eras
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors_that_later_eras_have(net, name):
    """Some have the workspace before the output, some behind it."""
    query, function, first, behind, asks = BINARY[name]
    a, b = values((2, 1, 5), low=0.5, high=8), values((3, 1), low=0.5, high=3, seed=1)
    found = net.binary(
        f"cnnl{name}", f"cnnlGet{query}WorkspaceSize", a, b, *first, behind=behind, asks=asks
    )
    close(found, function(a, b), 4)
    net.close()


LOGIC = {
    "EQ": np.equal, "NE": np.not_equal, "GT": np.greater, "GE": np.greater_equal,
    "LT": np.less, "LE": np.less_equal, "AND": np.logical_and, "OR": np.logical_or,
    "XOR": np.logical_xor,
}  # fmt: skip


@later_eras
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("op", LOGIC)
def test_comparisons(net, op, dtype):
    """To bool."""
    random = np.random.default_rng(1)
    a, b = random.integers(0, 2, (4, 5)).astype(dtype), random.integers(0, 2, 5).astype(dtype)
    found = net.binary(
        "cnnlLogicOp", "cnnlGetLogicOpWorkspaceSize", a, b, net.sim.enum(f"CNNL_LOGIC_OP_{op}"),
        dtype="bool",
    )  # fmt: skip
    assert np.array_equal(found, LOGIC[op](a, b))
    net.close()


@later_eras
def test_a_choice_between_two_tensors(net):
    """Broadcast over the condition and the values."""
    condition = np.array([[True], [False], [True]])
    yes, no = values((3, 4)), values((4,), seed=1)
    placed = [net.place(a) for a in (condition, yes, no)]
    out = net.empty((3, 4))
    query = (net.handle, *(p.descriptor for p in placed))
    scratch = net.workspace("cnnlGetSelectV2WorkspaceSize", *query)
    net.run("cnnlSelectV2", *itertools.chain(*(p.pair for p in placed)), *scratch, *out.pair)
    assert np.array_equal(net.result(out), np.where(condition, yes, no))
    net.close()


@pytest.mark.parametrize("alpha", [(1,), (1, 1, 1, 1), (1, 1, 1, 5), (3, 1, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_prelu(net, alpha, dtype):
    """One slope, one for each channel, one along an inner dimension."""
    x, slope = values((2, 3, 4, 5), dtype), values(alpha, dtype, seed=1)
    wide = x.astype(np.float64)
    close(net.prelu(x, slope), np.where(wide < 0, wide * slope, wide), 4)
    net.close()


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_sums_of_many(net, dtype):
    """Also of one."""
    terms = [values((3, 4), dtype, seed=i) for i in range(5)]
    close(net.add_n(terms), np.sum([t.astype(np.float64) for t in terms], 0), 4)
    assert np.array_equal(net.add_n(terms[:1]), terms[0])
    net.close()


@pytest.mark.parametrize("dtype", FLOATS)
def test_bias(net, dtype):
    """Along the last dimension, in place."""
    x, bias = values((2, 3, 4, 5), dtype), values((5,), dtype, seed=1)
    close(net.bias_add(x, bias, NHWC), x.astype(np.float64) + bias, 2)
    net.close()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "uint8", "bool"])
def test_joined_and_split_again(net, axis, dtype):
    """Pieces of three sizes along each axis, of any type; one may be empty."""
    shapes = [[2, 3, 4] for _ in range(3)]
    for size, shape in zip((1, 0, 5), shapes, strict=True):
        shape[axis] = size
    parts = [values(s, "float32", 0, 99, i).astype(dtype) for i, s in enumerate(shapes)]
    whole = net.concat(parts, axis)
    assert np.array_equal(whole, np.concatenate(parts, axis))
    for part, found in zip(parts, net.split(whole, (1, 0, 5), axis), strict=True):
        assert np.array_equal(found, part)
    net.close()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64"])
def test_transposes_of_every_order(net, dtype):
    """Of three dimensions, and of two, which need no workspace."""
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for order in itertools.permutations(range(3)):
        assert np.array_equal(net.transpose(x, order), x.transpose(order))
    assert np.array_equal(net.transpose(x[0], (1, 0)), x[0].T)
    net.close()


SLICES = [
    (slice(1, 5, 2), slice(0, 7, 1)),
    (slice(-3, 6, 1), slice(6, None, -1)),
    (slice(0, 6, 4), slice(5, 1, -2)),
    (slice(2, 2, 1), slice(0, 7, 3)),
]


@pytest.mark.parametrize("slices", SLICES)
def test_strided_slices(net, slices):
    """Forwards, backwards, from the end, and of nothing."""
    x = np.arange(42, dtype=np.float32).reshape(6, 7)
    assert np.array_equal(net.strided_slice(x, slices), x[tuple(slices)])
    net.close()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(net, axis, dtype):
    """An index of the output's shape."""
    x = values((4, 5))
    index = np.random.default_rng(2).integers(0, 4, (3, 5) if axis == 0 else (4, 3)).astype(dtype)
    assert np.array_equal(net.gather(x, index, axis), np.take_along_axis(x, index, axis))
    net.close()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_fill_and_expand(net, dtype):
    """One value; a tensor repeated along dimensions of 1, and new ones in front."""
    assert np.array_equal(net.fill(7, (2, 3), dtype), np.full((2, 3), 7, dtype))
    x = np.arange(3).reshape(3, 1).astype(dtype)
    placed, out = net.place(x), net.empty((2, 3, 4), dtype)
    net.run("cnnlExpand", *placed.pair, *out.pair)
    assert np.array_equal(net.result(out), np.broadcast_to(x, (2, 3, 4)))
    net.close()


@later_eras
def test_pads_and_tiles(net):
    """Values of the caller around; the whole repeated."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    pads, value = np.array([[1, 0], [2, 1]], np.int32), np.array([9], np.float32)
    placed, out = net.place(x), net.empty((3, 6))
    net.run("cnnlPad", *placed.pair, pads.ctypes.data, value.ctypes.data, *out.pair)
    assert np.array_equal(net.result(out), np.pad(x, pads, constant_values=9))
    tiled = net.empty((4, 9))
    net.run("cnnlTile", *placed.pair, *tiled.pair)
    assert np.array_equal(net.result(tiled), np.tile(x, (2, 3)))
    net.close()


def test_strides_are_honoured_by_a_copy(net):
    """A transposed view becomes dense."""
    copy, query = ("cnnlCopy_v2", "cnnlGetCopyWorkspaceSize") if net.era == 6 else ("cnnlCopy", "")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    placed, out = net.place(x), net.empty((3, 2))
    view = net.sim.tensor((3, 2), strides=(1, 3))
    scratch = net.workspace(query, net.handle, view, out.descriptor) if query else ()
    net.run(copy, view, placed.pointer, *out.pair, *scratch)
    assert np.array_equal(net.result(out), x.T)
    net.sim.destroy(view)
    net.close()


CASTS = [("float32", "float16"), ("float16", "float32"), ("float32", "int32"), ("int64", "int32"),
         ("int32", "float32"), ("float32", "bool"), ("bool", "float32"), ("uint8", "int64"),
         ("float32", "int8")]  # fmt: skip


@pytest.mark.parametrize("types", CASTS)
def test_casts(net, types):
    """Between the types, towards zero, and to the ends of a type that is too small."""
    x = np.array([0, 1, 2.5, 100, 1.5]).astype(types[0])
    assert np.array_equal(net.cast(x, types[1]), x.astype(types[1]))
    if types == ("float32", "int8"):
        far = np.array([300, -300, np.nan], np.float32)
        assert net.cast(far, "int8").tolist() == [127, -128, 0]
    net.close()


def test_every_half_and_the_floats_between(net):
    """To float and back; rounded to the nearest, ties to even, past the largest to infinity."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = halves.astype(np.float32)
    assert np.array_equal(net.cast(halves, "float32"), wide, equal_nan=True)
    with np.errstate(over="ignore", invalid="ignore"):
        middles = (wide[:-1] + wide[1:]) / 2
        around = [np.nextafter(middles, np.float32(end)) for end in (-np.inf, np.inf)]
        for floats in (wide, middles, *around):
            expected = floats.astype(np.float16)
            assert np.array_equal(net.cast(floats, "float16"), expected, equal_nan=True)
    net.close()


REDUCTIONS = {
    0: np.sum, 1: np.mean, 2: np.prod, 3: np.max, 4: np.min,
    7: lambda x, axis, keepdims: np.abs(x).sum(axis, keepdims=keepdims),
    8: lambda x, axis, keepdims: np.sqrt(np.square(x).sum(axis, keepdims=keepdims)),
    13: lambda x, axis, keepdims: np.square(x).sum(axis, keepdims=keepdims),
}  # fmt: skip


@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_reductions(net, op, axes, dtype):
    """Over one dimension, several, and all; these stay as 1."""
    x = values((3, 4, 5), dtype, 0.5, 1.5)
    expected = REDUCTIONS[op](x.astype(np.float64), axis=axes, keepdims=True)
    close(net.reduce(op, x, axes), expected, 4)
    net.close()


@pytest.mark.parametrize(("op", "function"), [(3, np.argmax), (4, np.argmin)])
def test_the_place_of_an_extreme(net, op, function):
    """The first of equals; the last with the other two ops."""
    x = np.array([[3, 1, 3, 1], [0, 5, 5, 0]], np.float32)
    assert net.reduce(op, x, (1,), indices=2).ravel().tolist() == function(x, 1).tolist()
    last = 3 - function(x[:, ::-1], 1)
    assert net.reduce(op + 6, x, (1,), indices=2).ravel().tolist() == last.tolist()
    net.close()


@pytest.mark.parametrize(("mode", "axis"), [("HIGH", 0), ("MEDIUM", 1), ("LOW", 2)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(net, mode, axis, dtype):
    """Over each of three dimensions, and its logarithm."""
    x = values((3, 4, 5), dtype, -20, 20)
    wide = x.astype(np.float64)
    expected = np.exp(wide - wide.max(axis, keepdims=True))
    expected /= expected.sum(axis, keepdims=True)
    close(net.softmax(x, mode), expected)
    close(net.softmax(x, mode, "LOG"), np.log(expected), 20)
    net.close()


def test_nothing_is_done_for_tensors_of_nothing(net):
    """Not even the pointers are looked at."""
    empty = net.sim.tensor((0, 3))
    net.run("cnnlSquare", empty, None, empty, None)
    net.sim.destroy(empty)
    net.close()


def test_types_and_shapes_that_an_op_does_not_take(net):
    """Said at the call, with the status for it."""
    number, whole = net.empty((2, 3)), net.empty((2, 3), "int8")
    other = net.empty((3, 2))
    sim = net.sim
    for x, y, kind, status in (
        (whole, whole, "data-type", NOT_SUPPORTED),
        (number, whole, "data-type", BAD_PARAM),
        (number, other, "bad-argument", BAD_PARAM),
    ):
        call = ("cnnlSquare", net.handle, *x.pair, *y.pair)
        sim.refuse(*call, kind=kind, status=status)
    net.close()


def test_an_index_out_of_range_is_told_by_the_next_sync(net):
    """It is seen only when the task runs."""
    index, x, out = net.place(np.array([5], np.int32)), net.empty((3,)), net.empty((1,))
    if net.era < 6:
        net.run("cnnlGather", 0, *x.pair, *index.pair, *out.pair)
    else:
        query = (net.handle, x.descriptor, index.descriptor, out.descriptor, 0)
        scratch = net.workspace("cnnlGetGatherWorkspaceSize", *query)
        net.run("cnnlGather_v2", 0, *x.pair, *index.pair, *scratch, *out.pair)
    assert net.sim.call("cnrtQueueSync", net.queue) == net.sim.code("queue")
    told = net.sim.take("cnnlGather" if net.era < 6 else "cnnlGather_v2", "index")
    assert told == "index 5 of a dimension of 3"
    net.close()
