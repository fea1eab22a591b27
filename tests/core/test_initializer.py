"""What variables begin with: exact values, moments and ranges, against numpy and the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as flow
from headrace.errors import VariableError
from headrace.initializer import Initializer, initial_value, initializer
from headrace.tensor_spec import Array, TensorSpec

SHAPE = (200, 50, 3, 5)
"""Large enough for moments to three digits: 150,000 elements; fan_in 750, fan_out 3,000."""

FAN_IN, FAN_OUT = 50 * 3 * 5, 200 * 3 * 5


def drawn(rule: Initializer, shape: tuple[int, ...] = SHAPE, dtype: str = "float64") -> Array:
    return initial_value(rule, TensorSpec(shape, dtype), seed=7)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint64", "bool"])
def test_constants_fill_every_dtype(dtype: str) -> None:
    """Zeros, ones, and the dtype that the variable has."""
    for rule, value in ((flow.zeros_initializer(), 0), (flow.ones_initializer(), 1)):
        made = drawn(rule, (2, 3), dtype)
        assert made.shape == (2, 3) and str(made.dtype) == dtype
        assert (made == np.array(value, made.dtype)).all()


def test_a_constant_is_rounded_as_numpy_rounds() -> None:
    """One third in half precision; a large integer exactly."""
    assert drawn(flow.constant_initializer(1 / 3), (1,), "float16")[0] == np.float16(1 / 3)
    assert drawn(flow.constant_initializer(2**63 + 1), (1,), "uint64")[0] == 2**63 + 1


def test_a_range_counts_along_an_axis() -> None:
    """As ``numpy.arange``, the same for all other axes."""
    rows = drawn(flow.range_initializer(1, 2, axis=0), (3, 2), "int32")
    assert rows.tolist() == [[1, 1], [3, 3], [5, 5]]
    np.testing.assert_array_equal(
        drawn(flow.range_initializer(0.5, 0.25), (2, 4)), [np.arange(0.5, 1.5, 0.25)] * 2
    )


def test_uniform_numbers() -> None:
    """Mean and variance of the uniform distribution, and nothing outside."""
    made = drawn(flow.random_uniform_initializer(-1, 3))
    assert made.min() >= -1 and made.max() < 3
    assert made.mean() == pytest.approx(1, abs=0.01)
    assert made.var() == pytest.approx(16 / 12, rel=0.01)


def test_uniform_integers_reach_both_ends() -> None:
    """All of [low, high), equally often; also at the ends of the widest dtypes."""
    made = drawn(flow.random_uniform_initializer(-2, 3), dtype="int8")
    values, counts = np.unique(made, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    np.testing.assert_allclose(counts / made.size, 0.2, atol=0.01)
    top = drawn(flow.random_uniform_initializer(2**64 - 2, 2**64), (100,), "uint64")
    assert {*top.tolist()} == {2**64 - 2, 2**64 - 1}


def test_normal_numbers() -> None:
    """Mean, deviation, and the share within one and two deviations."""
    made = drawn(flow.random_normal_initializer(2, 0.5))
    assert made.mean() == pytest.approx(2, abs=0.01)
    assert made.std() == pytest.approx(0.5, rel=0.01)
    for deviations, share in ((1, 0.6827), (2, 0.9545)):
        assert (np.abs(made - 2) < deviations * 0.5).mean() == pytest.approx(share, abs=0.005)


def test_truncated_normal_numbers() -> None:
    """Nothing beyond two deviations; inside, the share of a normal distribution that was cut."""
    made = drawn(flow.truncated_normal_initializer(1, 2))
    assert np.abs(made - 1).max() <= 4
    assert made.std() == pytest.approx(2 * 0.87962566103423978, rel=0.01)
    assert (np.abs(made - 1) < 2).mean() == pytest.approx(0.6827 / 0.9545, abs=0.005)


@pytest.mark.parametrize(
    ("rule", "variance"),
    [
        (flow.glorot_normal_initializer(), 2 / (FAN_IN + FAN_OUT)),
        (flow.glorot_uniform_initializer(), 2 / (FAN_IN + FAN_OUT)),
        (flow.xavier_uniform_initializer(), 2 / (FAN_IN + FAN_OUT)),
        (flow.variance_scaling_initializer(3, "fan_out", "random_normal"), 3 / FAN_OUT),
        (flow.variance_scaling_initializer(3, "average"), 3 / ((FAN_IN + FAN_OUT) / 2)),
        (flow.variance_scaling_initializer(), 1 / FAN_IN),
        (flow.kaiming_initializer(nonlinearity="relu"), 2 / FAN_IN),
        (flow.kaiming_initializer(negative_slope=2), 2 / 5 / FAN_IN),
        (flow.kaiming_initializer("random_uniform", "fan_out", "tanh"), 25 / 9 / FAN_OUT),
        (flow.glorot_normal_initializer("NHWC"), 2 / (50 * 3 * 5 + 200 * 50 * 3)),
    ],
)
def test_scaled_variances(rule: Initializer, variance: float) -> None:
    """The variance is that of the paper, for every mode and distribution."""
    made = drawn(rule)
    assert made.var() == pytest.approx(variance, rel=0.02)
    assert made.mean() == pytest.approx(0, abs=4 * math.sqrt(variance / made.size))


def test_glorot_uniform_reaches_the_bound_of_the_paper() -> None:
    """Equation 16 of Glorot and Bengio: sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(6 / (FAN_IN + FAN_OUT))
    assert bound * 0.999 < np.abs(drawn(flow.glorot_uniform_initializer())).max() <= bound


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple),
    rule=st.sampled_from([flow.kaiming_initializer(), flow.random_uniform_initializer(-1, 1)]),
)
def test_one_seed_gives_one_value(seed: int, shape: tuple[int, ...], rule: Initializer) -> None:
    """Drawn twice it is equal to the bit, and of the variable's spec."""
    spec = TensorSpec(shape, "float32")
    first, second = (initial_value(rule, spec, seed) for _ in range(2))
    assert TensorSpec.of(first) == spec
    assert first.tobytes() == second.tobytes()


def test_the_numbers_are_those_of_the_twister() -> None:
    """A fixed seed gives the numbers that ``numpy.random.RandomState`` gives for ever."""
    made = initial_value(flow.random_normal_initializer(), TensorSpec((3,), "float64"), 42)
    np.testing.assert_allclose(made, [0.49671415, -0.1382643, 0.64768854], rtol=1e-6)


@pytest.mark.parametrize(
    ("rule", "shape", "dtype", "message"),
    [
        (flow.glorot_uniform_initializer(), (4,), "float32", "rank 1 does not have; .*rank 2"),
        (flow.kaiming_initializer(), (4, 0), "float32", "divides by fan_in, which is 0"),
        (flow.random_normal_initializer(), (4,), "int32", "draws real numbers.* int32"),
        (flow.random_normal_initializer(0, -1), (4,), "float32", "a deviation that is no number"),
        (flow.random_normal_initializer(0, math.nan), (4,), "float32", "deviation"),
        (flow.random_uniform_initializer(2, 2), (4,), "float32", "minval must be less"),
        (flow.random_uniform_initializer(0, 500), (4,), "int8", "499, which is no value of int8"),
        (flow.random_uniform_initializer(), (4,), "bool", "draws numbers"),
        (flow.constant_initializer(0.5), (4,), "int8", r"0\.5, which is no value of int8"),
        (flow.constant_initializer(300), (4,), "uint8", "300, which is no value of uint8"),
        (flow.range_initializer(0, 100), (4,), "int8", "300, which is no value of int8"),
        (flow.range_initializer(axis=2), (4, 4), "int8", "axis 2, which .* does not have"),
        (flow.variance_scaling_initializer(-1), (4, 4), "float32", "scale -1"),
        (flow.variance_scaling_initializer(1, "fan"), (4, 4), "float32", "fan_in, fan_out"),
        (
            flow.variance_scaling_initializer(1, "fan_in", "cauchy"), (4, 4), "float32",
            "'cauchy'; it can from random_uniform",
        ),
        (initializer("orthogonal"), (4, 4), "float32", "no initializer 'orthogonal'; there are"),
    ],
)  # fmt: skip
def test_what_cannot_begin_so_is_refused(
    rule: Initializer, shape: tuple[int, ...], dtype: str, message: str
) -> None:
    """The error says what is asked for, and what would do."""
    with pytest.raises(VariableError, match=message):
        initial_value(rule, TensorSpec(shape, dtype), 0)


def test_an_unknown_nonlinearity_is_refused_where_it_is_written() -> None:
    """With those that have a gain."""
    with pytest.raises(VariableError, match=r"'swish'; there is one for linear"):
        flow.kaiming_initializer(nonlinearity="swish")
