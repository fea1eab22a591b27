"""What variables begin with, under OneFlow's names; for ``get_variable``.

Each function returns an ``Initializer``, which draws nothing yet. Shapes are those of weights: axis
0 counts outputs, axis 1 inputs, the rest is the window of a convolution (channels first), so that
``fan_in = product(shape[1:])`` and ``fan_out = shape[0] * product(shape[2:])``. With
``data_format="NHWC"`` the inputs are counted by the last axis and the window lies between.
"""

from __future__ import annotations

import math

from headrace.errors import VariableError
from headrace.initializer import Initializer, initializer

Number = float | int


def constant_initializer(value: Number = 0) -> Initializer:
    """Every element is ``value``, which must be one of the variable's dtype."""
    return initializer("constant", value=value)


def zeros_initializer() -> Initializer:
    """Every element is 0."""
    return constant_initializer(0)


def ones_initializer() -> Initializer:
    """Every element is 1."""
    return constant_initializer(1)


def range_initializer(start: Number = 0, stride: Number = 1, axis: int = -1) -> Initializer:
    """``start + i * stride`` along ``axis``, the same for all other axes."""
    return initializer("range", start=start, stride=stride, axis=axis)


def random_uniform_initializer(minval: Number = 0, maxval: Number = 1) -> Initializer:
    """Uniform in ``[minval, maxval)``; whole numbers for a variable of an integer dtype."""
    return initializer("random_uniform", minval=minval, maxval=maxval)


def random_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal with this mean and standard deviation."""
    return initializer("random_normal", mean=float(mean), stddev=float(stddev))


def truncated_normal_initializer(mean: float = 0.0, stddev: float = 1.0) -> Initializer:
    """Normal, drawn again where it is further than 2 ``stddev`` from the mean.

    What comes out has a standard deviation of 0.8796 ``stddev``.
    """
    return initializer("truncated_normal", mean=float(mean), stddev=float(stddev))


def variance_scaling_initializer(
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    data_format: str = "",
) -> Initializer:
    """Random numbers around 0 of variance ``scale / n``.

    The family that the others below belong to; ``tf.keras.initializers.VarianceScaling`` is it.

    Args:
        scale: a number from 0 on.
        mode: what n is: ``fan_in``, ``fan_out`` or ``fan_avg``, their mean.
        distribution: ``truncated_normal`` (of ``stddev = sqrt(scale / n) / 0.87962566103423978``,
            so that the variance holds after the cut), ``random_normal``, or ``random_uniform`` (in
            ``[-l, l)`` with ``l = sqrt(3 scale / n)``).
        data_format: ``NHWC`` or another that ends in C for channels last; else channels first.
    """
    last = len(data_format) > 1 and data_format.upper().endswith("C")
    return initializer(
        "variance_scaling",
        scale=float(scale),
        mode={"average": "fan_avg", "avg": "fan_avg"}.get(mode, mode),
        distribution=distribution,
        channels_last=last,
    )


def glorot_uniform_initializer(data_format: str = "") -> Initializer:
    """Uniform in ``[-l, l)`` with ``l = sqrt(6 / (fan_in + fan_out))``.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
    2010, equation 16.
    """
    return variance_scaling_initializer(1.0, "fan_avg", "random_uniform", data_format)


def glorot_normal_initializer(data_format: str = "") -> Initializer:
    """Truncated normal of variance ``2 / (fan_in + fan_out)``.

    Glorot and Bengio, 2010, equation 12; cut at two deviations as in OneFlow.
    """
    return variance_scaling_initializer(1.0, "fan_avg", "truncated_normal", data_format)


xavier_uniform_initializer = glorot_uniform_initializer
xavier_normal_initializer = glorot_normal_initializer


def kaiming_initializer(
    distribution: str = "random_normal",
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    negative_slope: float = 0.0,
    data_format: str = "",
) -> Initializer:
    """Random numbers of variance ``gain**2 / n``, for layers that a nonlinearity follows.

    He et al., "Delving deep into rectifiers", 2015, equations 10 and 15. The gain is ``sqrt(2)``
    for ``relu``, ``sqrt(2 / (1 + negative_slope**2))`` for ``leaky_relu``, 5/3 for ``tanh``, 1 for
    ``linear`` and ``sigmoid``.

    Args:
        distribution, mode, data_format: as for ``variance_scaling_initializer``.
        nonlinearity: what follows.
        negative_slope: of a leaky rectifier.

    Raises:
        VariableError: the nonlinearity has no known gain.
    """
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5 / 3,
        "relu": math.sqrt(2),
        "leaky_relu": math.sqrt(2 / (1 + negative_slope**2)),
    }
    if nonlinearity not in gains:
        raise VariableError(
            f"no gain is known for {nonlinearity!r}; there is one for {', '.join(gains)}"
        )
    return variance_scaling_initializer(gains[nonlinearity] ** 2, mode, distribution, data_format)
