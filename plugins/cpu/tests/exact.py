"""What several tests of kernels share: bytes to compute with, and results, slowly and exactly."""

import itertools

import numpy as np

BYTES = [np.int8, np.uint8]


def some_bytes(rng, dtype, shape):
    """Numbers of which many are the least or the greatest."""
    limits = np.iinfo(dtype)
    draw = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = rng.integers(0, 4, shape)
    draw[ends == 0], draw[ends == 1] = limits.min, limits.max
    return draw


def quantized(x, scale, zero, dtype):
    """Each number as the nearest of ``dtype``, as ``quantize`` makes it."""
    limits = np.iinfo(dtype)
    rounded = np.rint(x / np.float32(scale)) + np.float32(zero)
    return np.clip(rounded, limits.min, limits.max).astype(np.int64).astype(dtype)


ACTIVATIONS = {
    "none": lambda x: x,
    "clamp": lambda x: np.minimum(np.maximum(x, -0.5), 2.0),
    "leaky": lambda x: np.where(x < 0, -0.5 * x, x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x: np.clip(-0.5 * x + 2.0, 0, 1),
    "hard_swish": lambda x: x * np.clip(-0.5 * x + 2.0, 0, 1),
}
"""With alpha = -0.5 and beta = 2."""


def followed(sums, bias, activation, more, addend):
    """What a product makes of its sums: ``more`` is added ``first``, ``last`` or, if None, not."""
    sums = sums if bias is None else sums + bias
    sums = ACTIVATIONS[activation](sums + more if addend == "first" else sums)
    return sums + more if addend == "last" else sums


def slow_conv(x, weight, strides, dilations, pads, groups):
    """x [n, *spatial, c], weight [m, *kernel, c / groups]; sums in float64."""
    rank = x.ndim - 2
    padding = zip(pads[:rank], pads[rank:], strict=True)
    x = np.pad(x.astype(np.float64), ((0, 0), *padding, (0, 0)))
    kernel, per_group = weight.shape[1:-1], weight.shape[-1]
    out = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[1:-1], kernel, strides, dilations, strict=True)
    ]
    x = x.reshape(*x.shape[:-1], groups, per_group)
    weight = weight.astype(np.float64).reshape(groups, -1, *kernel, per_group)
    y = np.zeros((x.shape[0], *out, groups, weight.shape[1]))
    for tap in itertools.product(*map(range, kernel)):
        axes = zip(tap, dilations, out, strides, strict=True)
        places = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in axes)
        weights = weight[(slice(None), slice(None), *tap)]
        y += np.einsum("...gc,gmc->...gm", x[(slice(None), *places)], weights)
    return y.reshape(*y.shape[:-2], -1)
