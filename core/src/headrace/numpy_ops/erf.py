"""The error function, which numpy lacks: a Taylor polynomial around the nearest of many points."""

from __future__ import annotations

import functools
import math

import numpy as np

from headrace.tensor_spec import Array

_STEPS = 64  # points between one integer and the next
_END = 6  # from here on erf is 1 to the last bit of a float64
_DEGREE = 7  # its next term is below 1e-17 within half a step of a point


@functools.cache
def _coefficients() -> Array:
    """float64[degree + 1, points]: derivatives of erf at each point, divided by the factorial.

    The derivative of order n + 1 is exp(-x * x) times a polynomial, whose own derivative minus
    2 x times itself is the next one.
    """
    points = np.arange(_END * _STEPS + 1) / _STEPS
    slope = 2 / math.sqrt(math.pi) * np.exp(-points * points)
    rows = [np.array([math.erf(point) for point in points])]
    polynomial = np.polynomial.Polynomial([1.0])
    for order in range(1, _DEGREE + 1):
        rows.append(slope * polynomial(points) / math.factorial(order))
        polynomial = polynomial.deriv() - np.polynomial.Polynomial([0.0, 2.0]) * polynomial
    return np.stack(rows)


def erf(x: Array) -> Array:
    """The error function of each element, as float64, right to a few last bits; NaN stays NaN."""
    size = np.minimum(np.abs(x, dtype=np.float64), _END)
    # NaN gives any index, which "clip" keeps inside; the distance from its point is NaN again.
    index = np.rint(size * _STEPS).astype(np.int64)
    distance = size - index / _STEPS
    coefficients = _coefficients()
    y = coefficients[-1].take(index, mode="clip")
    for row in coefficients[-2::-1]:
        y *= distance
        y += row.take(index, mode="clip")
    result: Array = np.copysign(y, x)
    return result
