"""The native normalisations alone: numbers against float64, and wrong arguments."""

import numpy as np
import pytest

from headrace_cpu import _native

FLOATS = [np.float32, np.float64]


def tolerance(dtype):
    return 1e-5 if dtype == np.float32 else 1e-12


def arrays(shape, channels, dtype, vectors):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    return x, [rng.uniform(0.5, 2, channels).astype(dtype) for _ in range(vectors)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "axis"), [((2, 3, 5, 7), 1), ((4, 37), 1), ((3, 5, 40), 0)])
def test_normalization(shape, axis, dtype):
    """Along any axis; the result may overwrite the input."""
    x, (mean, variance, gamma, beta) = arrays(shape, shape[axis], dtype, 4)
    y = np.full_like(x, np.nan)

    _native.normalization(x, mean, variance, gamma, beta, y, axis, 0.25)()
    _native.normalization(in_place := x.copy(), mean, variance, gamma, beta, in_place, axis, 0.25)()

    along = [1] * x.ndim
    along[axis] = -1
    wide = [v.astype(np.float64).reshape(along) for v in (mean, variance, gamma, beta)]
    expected = (x - wide[0]) / np.sqrt(wide[1] + 0.25) * wide[2] + wide[3]
    np.testing.assert_allclose(y, expected, rtol=tolerance(dtype), atol=tolerance(dtype))
    np.testing.assert_array_equal(in_place, y)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("spatial", [(1,), (31,), (32,), (2047,), (2049,), (3, 7, 11), ()], ids=str)
def test_instance_norm(spatial, dtype):
    """Any number of elements: below, at and beyond the lanes and blocks of the sums."""
    x, (gamma, beta) = arrays((2, 3, *spatial), 3, dtype, 2)
    y = np.full_like(x, np.nan)

    _native.instance_norm(x, gamma, beta, y, 1e-3)()

    rows = x.astype(np.float64).reshape(2, 3, -1)
    centred = rows - rows.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    expected = (normal * gamma[:, None] + beta[:, None]).reshape(x.shape)
    np.testing.assert_allclose(y, expected, rtol=tolerance(dtype), atol=tolerance(dtype))


def test_a_large_mean_takes_nothing_from_the_variance():
    """float32 holds the elements exactly and their mean not: the deviations still come out."""
    x = (np.arange(4096) % 7 + 30000.5).astype(np.float32).reshape(1, 1, -1)
    y, one = np.empty_like(x), np.ones(1, np.float32)

    _native.instance_norm(x, one, np.zeros(1, np.float32), y, 0.0)()

    wide = x.astype(np.float64)
    np.testing.assert_allclose(y, (wide - wide.mean()) / wide.std(), rtol=1e-5, atol=1e-5)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: _native.normalization(*[ones(3)] * 5, ones(3), 1, 0.0)(),
            ValueError,
            r"axis is 1 but x is \[3\]",
        ),
        (
            lambda: _native.normalization(ones(2, 3), *[ones(2)] * 4, ones(2, 3), 1, 0.0)(),
            ValueError,
            r"mean is \[2\] but must be \[3\]",
        ),
        (
            lambda: _native.instance_norm(ones(2, 3, 4), ones(3), ones(2), ones(2, 3, 4), 0.0)(),
            ValueError,
            r"beta is \[2\] but must be \[3\]",
        ),
        (
            lambda: _native.instance_norm(ones(2, 3), ones(3), ones(3), ones(3, 2), 0.0)(),
            ValueError,
            r"y is \[3, 2\] but must be \[2, 3\]",
        ),
        (
            lambda: _native.instance_norm(ones(3), ones(3), ones(3), ones(3), 0.0)(),
            ValueError,
            r"axis is 1 but x is \[3\]",
        ),
        (
            lambda: _native.instance_norm(
                ones(2, 3, dtype=np.float16), ones(3), ones(3), ones(2, 3), 0.0
            )(),
            TypeError,
            "incompatible function arguments",
        ),
    ],
)
def test_wrong_arguments_are_told(call, error, message):
    """What does not fit raises before anything is written."""
    with pytest.raises(error, match=message):
        call()
