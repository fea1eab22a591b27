"""What users call inside a job: one thin function for an op, under OneFlow's names.

Ops without a function here are applied by name: ``flow.apply_op("erf", [x])``. All take symbols,
arrays (which become constants) or numbers, and give a symbol of the dtype that they were given.
Operands of one op have one dtype, and shapes broadcast as numpy's do where that is said. Below,
*floats* are float16, bfloat16, float32 and float64, and *numbers* are those and integers of 8 to 64
bits. Images are channels first unless ``data_format`` says ``NHWC``.

All raise ``OpError`` when the op does not take what it is given (``ShapeError``, ``DTypeError``),
with the file and line of the call, and ``JobError`` outside of a job. ``name`` is what the op is
called in messages, plans and timelines; without it, it is named after what it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.data_format import CHANNELS_FIRST, CHANNELS_LAST
from headrace.dtypes import dtype_of
from headrace.errors import JobError, OpError, OutOfMemoryError
from headrace.frontend.tracing import Symbol, SymbolLike, apply_op, as_dtype
from headrace.tensor_spec import TensorSpec

IntOrPair = int | Sequence[int]


def constant(value: float, shape: Sequence[int] = (), dtype: object = "float32") -> Symbol:
    """A tensor of ``shape`` filled with ``value``.

    Raises:
        JobError: ``value`` is no number. Arrays need no op: give them to whoever reads them.
        OutOfMemoryError: it does not fit into the host's memory.
    """
    if not isinstance(value, int | float | np.generic):
        raise JobError(
            f"constant fills a tensor with a number, and was given a {type(value).__name__}; an "
            "array needs no op: give it to the op that reads it"
        )
    spec = TensorSpec(shape, dtype)
    number = as_dtype(value, spec.dtype)
    try:
        filled = np.full(spec.shape, number)
    except (MemoryError, ValueError):  # the latter for more than any machine addresses
        raise OutOfMemoryError(
            f"constant {spec} takes {spec.nbytes:,} bytes of the host's memory, which it cannot "
            "give; a number or a smaller constant broadcasts where it meets larger tensors"
        ) from None
    return apply_op("identity", [filled])


def relu(x: SymbolLike, name: str | None = None) -> Symbol:
    """``max(x, 0)`` of signed numbers of any shape; NaN stays NaN."""
    return apply_op("relu", [x], name=name)


def sigmoid(x: SymbolLike, name: str | None = None) -> Symbol:
    """``1 / (1 + exp(-x))`` of floats of any shape."""
    return apply_op("sigmoid", [x], name=name)


def tanh(x: SymbolLike, name: str | None = None) -> Symbol:
    """Hyperbolic tangent of floats of any shape."""
    return apply_op("tanh", [x], name=name)


def softmax(x: SymbolLike, axis: int = -1, name: str | None = None) -> Symbol:
    """``exp(x)`` over its sum along ``axis``, of floats of any shape; -1 is the last axis."""
    return apply_op("softmax", [x], axis=axis, name=name)


def prelu(x: SymbolLike, alpha: SymbolLike, name: str | None = None) -> Symbol:
    """``x``, and ``alpha * x`` where x < 0, of numbers; ``alpha`` broadcasts to x's shape."""
    return apply_op("prelu", [x, alpha], name=name)


def add(a: SymbolLike, b: SymbolLike, name: str | None = None) -> Symbol:
    """``a + b`` of numbers, with broadcasting; integers wrap around."""
    return apply_op("add", [a, b], name=name)


def subtract(a: SymbolLike, b: SymbolLike, name: str | None = None) -> Symbol:
    """``a - b`` of numbers, with broadcasting; integers wrap around."""
    return apply_op("subtract", [a, b], name=name)


def multiply(a: SymbolLike, b: SymbolLike, name: str | None = None) -> Symbol:
    """``a * b`` of numbers, with broadcasting; integers wrap around."""
    return apply_op("multiply", [a, b], name=name)


def divide(a: SymbolLike, b: SymbolLike, name: str | None = None) -> Symbol:
    """``a / b`` of numbers, with broadcasting; integers towards zero, by zero 0."""
    return apply_op("divide", [a, b], name=name)


def add_n(inputs: Sequence[SymbolLike], name: str | None = None) -> Symbol:
    """The sum of one or more tensors of numbers, with broadcasting, from the first to the last."""
    return apply_op("add_n", list(inputs), name=name)


def bias_add(x: SymbolLike, bias: SymbolLike, axis: int = 1, name: str | None = None) -> Symbol:
    """Add ``bias[i]`` to what lies at i along ``axis`` of x, which are numbers."""
    return apply_op("bias_add", [x, bias], axis=axis, name=name)


def matmul(
    a: SymbolLike,
    b: SymbolLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Symbol:
    """Matrix product: a [..., m, k] and b [..., k, n] give [..., m, n]; leading axes broadcast.

    Args:
        a, b: numbers of one dtype.
        transpose_a, transpose_b: the last two axes of the operand are the other way round.
        name: name of the op.
    """
    return apply_op("matmul", [a, b], transpose_a=transpose_a, transpose_b=transpose_b, name=name)


def conv2d(
    x: SymbolLike,
    weight: SymbolLike,
    bias: SymbolLike | None = None,
    strides: IntOrPair = 1,
    padding: IntOrPair = 0,
    dilation_rate: IntOrPair = 1,
    groups: int = 1,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Symbol:
    """2-d convolution: x [n, c, h, w], weight [o, c / groups, kh, kw], bias [o].

    With ``NHWC``: x [n, h, w, c], weight [o, kh, kw, c / groups].

    Args:
        x, weight, bias: floats of one dtype.
        strides, dilation_rate: one number, or (vertical, horizontal).
        padding: zeros on both sides of each axis: one number, or (vertical, horizontal).
        groups: channels are in so many groups, each of which is convolved by itself.
        name: name of the op.
        data_format: ``NCHW`` or ``NHWC``.
    """
    return apply_op(
        "conv",
        [x, weight, bias],
        strides=_pair(strides),
        pads=_pair(padding) * 2,
        dilations=_pair(dilation_rate),
        groups=groups,
        data_format=_data_format(data_format),
        name=name,
    )


def max_pool2d(
    x: SymbolLike,
    ksize: IntOrPair,
    strides: IntOrPair = 1,
    padding: IntOrPair = 0,
    ceil_mode: bool = False,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Symbol:
    """Largest element of each window of x [n, c, h, w]; padding never wins.

    Args:
        x: images, of numbers.
        ksize, strides, padding: one number, or (vertical, horizontal).
        ceil_mode: one more window where the last one would reach beyond the padding.
        name: name of the op.
        data_format: ``NCHW``, or ``NHWC`` for x [n, h, w, c].
    """
    return _pool("max_pool", x, ksize, strides, padding, ceil_mode, name, data_format)


def avg_pool2d(
    x: SymbolLike,
    ksize: IntOrPair,
    strides: IntOrPair = 1,
    padding: IntOrPair = 0,
    ceil_mode: bool = False,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Symbol:
    """Mean of each window of x [n, c, h, w], of floats; padding is not counted.

    Arguments are those of ``max_pool2d``.
    """
    return _pool("avg_pool", x, ksize, strides, padding, ceil_mode, name, data_format)


def normalization(
    x: SymbolLike,
    moving_mean: SymbolLike,
    moving_variance: SymbolLike,
    gamma: SymbolLike,
    beta: SymbolLike,
    axis: int = 1,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Symbol:
    """Batch normalisation: ``(x - mean) / sqrt(variance + epsilon) * gamma + beta``.

    Args:
        x: floats of any shape.
        moving_mean, moving_variance, gamma, beta: vectors along ``axis`` of x.
        axis: that of the channels.
        epsilon: keeps the divisor from 0.
        name: name of the op.
    """
    inputs = [x, moving_mean, moving_variance, gamma, beta]
    return apply_op("normalization", inputs, axis=axis, epsilon=epsilon, name=name)


def instance_norm_2d(
    x: SymbolLike,
    gamma: SymbolLike,
    beta: SymbolLike,
    eps: float = 1e-5,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Symbol:
    """Normalise each channel of each image of x [n, c, h, w] over its pixels.

    Args:
        x: images, of floats.
        gamma, beta: factor and term of each channel, [c].
        eps: keeps the divisor from 0.
        name: name of the op.
        data_format: ``NCHW``, or ``NHWC`` for x [n, h, w, c].
    """
    return apply_op(
        "instance_norm",
        [x, gamma, beta],
        epsilon=eps,
        data_format=_data_format(data_format),
        name=name,
    )


def reflection_pad2d(x: Symbol, padding: IntOrPair, name: str | None = None) -> Symbol:
    """Pad x [n, c, h, w] by mirroring at its border, which is not repeated.

    Args:
        x: what to pad, of any dtype.
        padding: one number, or (left, right, top, bottom).
        name: name of the op.
    """
    sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    if len(sides) != 4 or len(x.shape) != 4:
        raise OpError(
            f"reflection_pad2d takes x [n, c, h, w] and one padding or (left, right, top, bottom); "
            f"got x {list(x.shape)} and padding {padding}"
        )
    left, right, top, bottom = sides
    pads = (0, 0, top, left, 0, 0, bottom, right)
    return apply_op("pad", [x], pads=pads, mode="reflect", name=name)


def upsample(
    x: Symbol,
    size: IntOrPair,
    interpolation: str = "nearest",
    name: str | None = None,
    data_format: str = "NCHW",
) -> Symbol:
    """Enlarge x [n, c, h, w] by whole factors (height, width).

    Args:
        x: what to enlarge; of any dtype with ``nearest``, numbers with ``bilinear``.
        size: one factor, or (height factor, width factor).
        interpolation: ``nearest`` or ``bilinear`` (pixel centres aligned).
        name: name of the op.
        data_format: ``NCHW``, or ``NHWC`` for x [n, h, w, c].
    """
    if interpolation not in ("nearest", "bilinear"):
        raise OpError(f"upsample interpolates nearest or bilinear; got {interpolation!r}")
    if len(x.shape) != 4:
        raise OpError(f"upsample takes images of rank 4; got x {list(x.shape)}")
    height, width = _pair(size)
    first = 1 if _data_format(data_format) == CHANNELS_LAST else 2
    sizes = list(x.shape)
    sizes[first : first + 2] = sizes[first] * height, sizes[first + 1] * width
    return apply_op(
        "resize",
        [x],
        sizes=tuple(sizes),
        mode="nearest" if interpolation == "nearest" else "linear",
        name=name,
    )


def reshape(x: SymbolLike, shape: Sequence[int], name: str | None = None) -> Symbol:
    """The same elements in another ``shape``, row by row; one dimension may be -1. Any dtype."""
    return apply_op("reshape", [x], shape=tuple(shape), name=name)


def transpose(x: SymbolLike, perm: Sequence[int] = (), name: str | None = None) -> Symbol:
    """Output axis i is input axis ``perm[i]``; no ``perm`` reverses the axes. Any dtype."""
    return apply_op("transpose", [x], perm=tuple(perm), name=name)


def concat(inputs: Sequence[SymbolLike], axis: int, name: str | None = None) -> Symbol:
    """Tensors one after another along ``axis``; other axes are of one size. Any dtype."""
    return apply_op("concat", list(inputs), axis=axis, name=name)


def cast(x: SymbolLike, dtype: object, name: str | None = None) -> Symbol:
    """The same values in another ``dtype``.

    To integers, floats are cut towards zero and kept within range; integers keep their low bits.
    """
    return apply_op("cast", [x], dtype=dtype_of(dtype), name=name)


def _pool(
    op: str,
    x: SymbolLike,
    ksize: IntOrPair,
    strides: IntOrPair,
    padding: IntOrPair,
    ceil_mode: bool,
    name: str | None,
    data_format: str,
) -> Symbol:
    return apply_op(
        op,
        [x],
        kernel=_pair(ksize),
        strides=_pair(strides),
        pads=_pair(padding) * 2,
        ceil_mode=ceil_mode,
        data_format=_data_format(data_format),
        name=name,
    )


def _pair(value: IntOrPair) -> tuple[int, ...]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2:
        raise OpError(f"expected one number or (height, width); got {value}")
    return pair


def _data_format(name: str) -> str:
    formats = {"NCHW": CHANNELS_FIRST, "NHWC": CHANNELS_LAST}
    if name not in formats:
        raise OpError(f"data_format is NCHW or NHWC; got {name!r}")
    return formats[name]
