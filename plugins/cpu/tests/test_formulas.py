"""Activations that are several steps, each against its formula in doubles."""

import math

import numpy as np
import pytest

import headrace as flow
from headrace.ops import get_op, make_call
from headrace_cpu import _native
from headrace_cpu.kernels.formulas import FORMULAS
from headrace_cpu.kernels.program import steps_of
from headrace_cpu.ops.program import Program, elementwise

_erf = np.vectorize(math.erf, [np.float64])


def run_program(steps, inputs, y):
    """Run steps as the kernel does: registers are inputs, numbers, then results of steps."""
    words = [word for _, *operands in steps for word in operands]
    numbers = [word for word in dict.fromkeys(words) if word[0] not in "it" or word == "inf"]
    firm = len(inputs) + len(numbers)

    def register(word):
        if word in numbers:
            return len(inputs) + numbers.index(word)
        return int(word[1:]) + (firm if word[0] == "t" else 0)

    placed = [(name, [register(word) for word in operands]) for name, *operands in steps]
    _native.program(placed, [float(number) for number in numbers], inputs, y)()
    return y


def _elu(x, alpha=1.5):
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _celu(x, alpha=1.5):
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(np.minimum(x, 0) / alpha), 0)


EXACT = {
    "gelu": ({}, lambda x: x / 2 * (1 + _erf(x / math.sqrt(2)))),
    "gelu tanh": (
        {"approximate": "tanh"},
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "softplus": ({}, lambda x: np.logaddexp(x, 0)),
    "mish": ({}, lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "softsign": ({}, lambda x: x / (1 + np.abs(x))),
    "thresholded_relu": ({"alpha": 0.25}, lambda x: np.where(x > 0.25, x, 0)),
    "elu": ({"alpha": 1.5}, _elu),
    "celu": ({"alpha": 1.5}, _celu),
    "selu": ({"alpha": 1.5, "gamma": 1.25}, lambda x: 1.25 * _elu(x)),
    "tan": ({}, np.tan),
    "sign": ({}, np.sign),
    "is_inf": ({}, np.isinf),
    "is_inf above": ({"detect_negative": False}, lambda x: x == np.inf),
    "is_inf below": ({"detect_positive": False}, lambda x: x == -np.inf),
    "is_inf never": ({"detect_positive": False, "detect_negative": False}, lambda x: x > np.inf),
}


@pytest.mark.parametrize("name", EXACT)
def test_formulas_are_those_of_the_op(name):
    """Near 0, and far out; after another step as well."""
    attrs, exact = EXACT[name]
    x = np.concatenate([np.linspace(-30, 30, 4001), [0, 1e-6, -1e-6, 80, 2e38]])
    x = x.astype(np.float32)
    op = name.split()[0]
    call = make_call(get_op(op), op, [flow.TensorSpec(x.shape, "float32")], attrs)
    y = np.empty_like(x)
    np.testing.assert_allclose(
        run_program(steps_of(call, ["i0"], 0), [x], y), exact(x.astype(np.float64)), 2e-6, 1e-6
    )
    after = [("negative", "i0"), *steps_of(call, ["t0"], 1)]
    wanted = exact(-x[:-1].astype(np.float64))
    got = run_program(after, [x[:-1].copy()], np.empty_like(x[:-1]))
    np.testing.assert_allclose(got, wanted, 2e-6, 1e-6)
    specs = [flow.TensorSpec(y[:-1].shape, "float32")]
    program = make_call(Program, "p", specs, {"steps": [" ".join(step) for step in after]})
    said = np.empty_like(y[:-1])
    elementwise(program, [x[:-1]], [said])
    np.testing.assert_allclose(said, wanted, 2e-6, 1e-6)


@pytest.mark.parametrize("name", [name for name in EXACT if name.startswith(("sign", "is_inf"))])
def test_what_is_no_number_has_no_sign(name):
    """Infinities have one."""
    attrs, exact = EXACT[name]
    x, op = np.float32([np.inf, -np.inf, np.nan, 1, -1]), name.split()[0]
    call = make_call(get_op(op), op, [flow.TensorSpec(x.shape, "float32")], attrs)
    got = run_program(steps_of(call, ["i0"], 0), [x], np.empty_like(x))
    np.testing.assert_array_equal(got, exact(x.astype(np.float64)))


def test_every_formula_is_asked_for():
    """One that is added needs its exact result here."""
    assert {name.split()[0] for name in EXACT} == FORMULAS.keys()


def test_far_below_0_softplus_is_exp():
    """It keeps its digits, where 1 + exp(x) is 1 or nearly so."""
    x = np.array([-8, -12.3392, -17, -30, -80], np.float32)
    call = make_call(get_op("softplus"), "softplus", [flow.TensorSpec(x.shape, "float32")], {})
    y = run_program(steps_of(call, ["i0"], 0), [x], np.empty_like(x))
    np.testing.assert_allclose(y, np.log1p(np.exp(x.astype(np.float64))), rtol=1e-6)
