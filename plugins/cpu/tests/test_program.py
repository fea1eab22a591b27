"""Programs of elementwise steps, each against numpy over the range of floats."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as flow
import headrace.typing as tp
from headrace.errors import OpError
from headrace.ops import make_call
from headrace_cpu import _native, set_threads, threads
from headrace_cpu.ops.program import Program, elementwise
from headrace_cpu.ops.steps import STEPS, TRUTHS

RNG = np.random.default_rng(0)

SPECIAL = np.array(
    [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.17e-38, 3.4e38, -3.4e38, 0.5],
    np.float32,
)
EVERYWHERE = np.concatenate(
    [
        SPECIAL,
        # Every 65,537th float, of both signs.
        np.arange(0, 1 << 32, 65537, dtype=np.uint64).astype(np.uint32).view(np.float32),
        np.linspace(-105, 90, 200_001, dtype=np.float32),
        np.linspace(-260, -105, 5_001, dtype=np.float32),  # whose powers become 0
        np.linspace(-1.5, 1.5, 200_001, dtype=np.float32),
    ]
)

EXACT = {
    "exp": (np.exp, 2),
    "log": (np.log, 2),
    "tanh": (np.tanh, 2),
    "asin": (np.arcsin, 2),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "sigmoid": (lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))), 3),
    "erf": (np.vectorize(math.erf, [np.float64]), 3),
    "sqrt": (np.sqrt, 0.5),
    "reciprocal": (lambda x: 1 / x, 0.5),
}
"""Step -> the function of doubles, and the error that is stated, in units in the last place."""


def run(steps, inputs, y):
    """Run a program as the kernel of the op does."""
    firm = len(inputs)
    _native.program([(name, list(places)) for name, *places in steps], [], inputs, y)()
    assert firm
    return y


def units_apart(got, right):
    """Distance in units in the last place of what is right; of denormal numbers, of the least."""
    with np.errstate(all="ignore"):
        nearest = right.astype(np.float32)
        unit = np.maximum(np.spacing(np.abs(nearest)).astype(np.float64), 2.0**-149)
        off = np.abs(got.astype(np.float64) - right) / unit
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    return np.where(same, 0, off)


@pytest.mark.parametrize("name", EXACT)
def test_functions_hold_over_all_floats(name):
    """No further from the exact result than is stated; denormal results are there, not zeros."""
    exact, bound = EXACT[name]
    with np.errstate(all="ignore"):
        right = exact(EVERYWHERE.astype(np.float64))
    apart = units_apart(run([(name, 0)], [EVERYWHERE], np.empty_like(EVERYWHERE)), right)
    worst = int(np.argmax(apart))
    assert apart[worst] <= bound, (EVERYWHERE[worst], right[worst])


@pytest.mark.parametrize(("power", "bound"), [(0.5, 0.5), (1, 0), (2, 0.5), (3, 2)])
def test_powers_hold_over_all_floats(power, bound):
    """Those that are one number for all, and need no function of the library."""
    with np.errstate(all="ignore"):
        numbers = EVERYWHERE.astype(np.float64)
        right = np.power(numbers, np.full_like(numbers, power))  # one number would be a root here
    given = [EVERYWHERE, np.float32([power])]
    apart = units_apart(run([("power", 0, 1)], given, np.empty_like(EVERYWHERE)), right)
    worst = int(np.argmax(apart))
    assert apart[worst] <= bound, (EVERYWHERE[worst], right[worst])


@pytest.mark.parametrize("name", sorted(STEPS.keys() - EXACT.keys()))
def test_steps_are_those_of_the_op(name):
    """On every pair and triple of numbers that are hard."""
    count, function = STEPS[name]
    operands = list(np.array(list(itertools.product(SPECIAL, repeat=count))).T.copy())
    if name.startswith("quantize"):  # zero points are small
        operands[2] = np.resize(np.float32([0, 7, 127]), operands[2].shape)
    with np.errstate(all="ignore"):
        right = function(*operands)
    y = np.empty(right.shape, bool if name in TRUTHS else np.float32)
    got = run([(name, *range(count))], operands, y)
    if name == "clip":  # limits that are no numbers are none
        keep = ~np.isnan(operands[1]) & ~np.isnan(operands[2])
        got, right = got[keep], right[keep]
    if name == "hard_sigmoid":  # the product is not rounded by itself, so it overflows later
        with np.errstate(all="ignore"):
            keep = np.isfinite(operands[0] * operands[1])
        got, right = got[keep], right[keep]
    np.testing.assert_allclose(got, right, rtol=1e-6, atol=2.0**-148)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_integers_of_16_bits_are_read_and_written(dtype):
    """Every one of them, and what is beyond them; in pieces that are no whole registers."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = np.arange(low, high + 1).astype(dtype)
    scale, zero = np.float32([0.5]), np.array([-3 if low else 9], dtype)
    floats = run([("dequantize", 0, 1, 2)], [numbers, scale, zero], np.empty(1 << 16, np.float32))
    np.testing.assert_array_equal(floats, (numbers.astype(float) - float(zero[0])) * 0.5)
    for x in (floats, np.float32([np.nan, np.inf, -np.inf, 1e9, -1e9, 0.25, 0.75])):
        step = (f"quantize_{np.dtype(dtype).name}", 0, 1, 2)
        y = run([step], [x, scale, zero], np.empty(x.shape, dtype))
        whole = np.clip(np.rint(x.astype(float) / 0.5) + float(zero[0]), low, high)
        np.testing.assert_array_equal(y, np.nan_to_num(whole, nan=0))


@pytest.mark.parametrize("scale", [0.02, 1 / 3, -7.0, 1e-38, 3e38, 0.0, np.inf, np.nan])
def test_a_quotient_by_one_number_is_that_by_many(scale):
    """Bit by bit, where it is halfway between integers as well."""
    halves = (np.arange(-300, 300) + 0.5).astype(np.float32)
    with np.errstate(all="ignore"):
        x = np.concatenate([halves * np.float32(scale), EVERYWHERE])
        scales = np.full_like(x, scale)
        zero = np.array(3, np.uint8)
    steps = [("quantize_uint8", 0, 1, 2)]
    by_one = run(steps, [x, scales[:1], zero], np.empty(x.shape, np.uint8))
    scales[::7] = 1  # which are divided by one by one
    by_many = run(steps, [x, scales, zero], np.empty(x.shape, np.uint8))
    same = np.arange(x.size) % 7 != 0
    np.testing.assert_array_equal(by_one[same], by_many[same])


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
def test_quantizing_and_back_is_one_pass(dtype):
    """Of 16 bits too: activations that a model keeps in them are never written as such."""
    scale, zero, name = np.float32(0.01), dtype(7), np.dtype(dtype).name
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder((3, 50))) -> tp.Numpy:
            with flow.scope.placement("cpu", "0:0"):
                whole = flow.apply_op("quantize", [flow.relu(x), scale, zero], dtype=name)
                return flow.apply_op("dequantize", [whole, scale, zero])

        x = RNG.standard_normal((3, 50)).astype(np.float32)
        made = job(x)
        ops = [op.op.split("(")[0] for op in session.explain("job").ops]
    assert ops == ["cpu.elementwise"]
    wanted = np.rint(np.maximum(x, 0) / scale) * scale
    np.testing.assert_allclose(made, wanted, rtol=1e-6)


@st.composite
def broadcasts(draw):
    """A shape, and three that broadcast to it, together to all of it."""
    shape = draw(st.lists(st.sampled_from([1, 2, 3, 16, 17, 49, 64, 96, 130]), max_size=4))
    while math.prod(shape) > 20_000:
        shape.remove(max(shape))
    others = []
    for _ in range(2):
        skipped = draw(st.integers(0, len(shape)))
        kept = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
        dims = [dim if keep else 1 for dim, keep in zip(shape, kept, strict=True)]
        others.append(tuple(dims[skipped:]))
    return tuple(shape), *others


@settings(max_examples=60)
@given(broadcasts(), st.sampled_from(["float32", "int32", "int64", "bool"]))
def test_inputs_are_broadcast(shapes, dtype):
    """Whatever their shapes are; integers and truths are floats inside."""
    whole, first, second = shapes
    x = RNG.standard_normal(whole).astype(np.float32)
    a = RNG.integers(0, 2, first).astype(dtype)
    b = RNG.standard_normal(second).astype(np.float32)
    y = np.empty(whole, np.float32)
    got = run([("multiply", 0, 1), ("add", 3, 2), ("relu", 4)], [x, a, b], y)
    np.testing.assert_allclose(
        got, np.broadcast_to(np.maximum(x * a.astype(np.float32) + b, 0), whole), rtol=1e-6,
        atol=1e-6,
    )  # fmt: skip


def test_results_may_lie_on_an_input_and_depend_on_no_number_of_threads():
    """A long program over more than one part, in place."""
    x = RNG.standard_normal((64, 1030)).astype(np.float32)
    row = RNG.standard_normal(1030).astype(np.float32)
    steps = [("add", 0, 1), ("tanh", 2), ("multiply", 3, 0), ("exp", 4)]
    before, made = threads(), []
    try:
        for count in (1, 2, 4):
            set_threads(count)
            y = x.copy()
            made.append(run(steps, [y, row], y))
    finally:
        set_threads(before)
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])
    np.testing.assert_allclose(made[0], np.exp(np.tanh(x + row) * x), rtol=1e-5)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], "0 steps"),
        ([("add", [0, 1])], "before it is made"),
        ([("nothing", [0])], "no step 'nothing'"),
        ([("add", [0, 0])] * 70, "at most 64"),
    ],
)
def test_programs_that_are_none_are_refused(steps, said):
    """Before anything runs."""
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match=said):
        _native.program(steps, [], [x], x.copy())


def test_the_op_computes_as_the_kernel_does():
    """Its numpy form is independent of the extension."""
    specs = [flow.TensorSpec((2, 3), "float32"), flow.TensorSpec((3,), "bool")]
    steps = ["multiply i0 0.5", "where i1 t0 -1.0", "less t1 0.0"]
    call = make_call(Program, "p", specs, {"steps": steps})
    assert str(call.outputs[0]) == "bool[2, 3]"
    x, chosen = RNG.standard_normal((2, 3)).astype(np.float32), np.array([True, False, True])
    y = np.empty((2, 3), bool)
    elementwise(call, [x, chosen], [y])
    np.testing.assert_array_equal(y, np.where(chosen, x * 0.5, -1) < 0)


@pytest.mark.parametrize("step", ["add i0", "add i0 i1", "add i0 t0", "add i0 x", "fly i0 i0"])
def test_steps_that_are_none_are_refused(step):
    """With the step, when the op is made."""
    with pytest.raises(OpError, match=step):
        make_call(Program, "p", [flow.TensorSpec((3,), "float32")], {"steps": [step]})
